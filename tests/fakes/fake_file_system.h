// Files in memory. Behaves like a disk, and fails where a test says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/file_system.h"

namespace muster::testing {

class FakeFileSystem final : public sys::FileSystem {
 public:
  struct Node {
    sys::FileStat stat;
    std::string content;  // of a file; the target of a link
  };

  FakeFileSystem() { AddDirectory("/"); }

  // Adds files without any checks.
  void AddFile(const std::string& path, std::string content, mode_t mode = 0644, uid_t uid = 0,
               gid_t gid = 0) {
    AddParents(path);
    Put(path, sys::FileType::kRegular, mode, uid, gid, std::move(content));
  }
  void AddDirectory(const std::string& path, mode_t mode = 0755) {
    AddParents(path);
    Put(path, sys::FileType::kDirectory, mode, 0, 0, "");
  }
  void AddLink(const std::string& path, std::string target) {
    AddParents(path);
    Put(path, sys::FileType::kSymlink, 0777, 0, 0, std::move(target));
  }
  void SetModified(const std::string& path, int64_t ns) { nodes_.at(path).stat.modified_ns = ns; }
  // Every later change of `path` returns `status`; "*" is every path.
  void FailWrites(const std::string& path, absl::Status status) { failures_[path] = status; }
  // After so many changes from now on each further one returns `status`, as in a power cut;
  // negative: none fails any longer.
  void FailAfter(int changes, absl::Status status) {
    changes_left_ = changes;
    cut_off_ = std::move(status);
  }

  // From now on writes fail as on a full disk where all contents would take more than that.
  void LimitTo(size_t bytes) { capacity_bytes_ = bytes; }
  size_t UsedBytes() const {
    size_t used = 0;
    for (const auto& [path, node] : nodes_) used += node.content.size();
    return used;
  }

  bool Has(const std::string& path) const { return nodes_.count(path) > 0; }
  const Node& At(const std::string& path) const { return nodes_.at(path); }
  // Changes made so far, in order: "write /etc/hostname".
  const std::vector<std::string>& log() const { return log_; }

  absl::StatusOr<std::string> Read(const std::string& path,
                                   size_t max_bytes = sys::kMaxReadBytes) override {
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return Absent("reading", path);
    if (it->second.stat.type == sys::FileType::kSymlink) return Read(it->second.content, max_bytes);
    if (it->second.stat.type != sys::FileType::kRegular)
      return absl::FailedPreconditionError(absl::StrCat("reading ", path, ": not a file"));
    if (it->second.content.size() > max_bytes)
      return absl::ResourceExhaustedError(absl::StrCat("reading ", path, ": too large"));
    return it->second.content;
  }

  absl::Status WriteAtomically(const std::string& path, const std::string& content,
                               const sys::WriteOptions& options) override {
    if (const absl::Status failure = FailureOf(path); !failure.ok()) return failure;
    if (!Has(ParentOf(path))) return Absent("creating", path);
    // The old content leaves only once the new one is there.
    if (UsedBytes() + content.size() > capacity_bytes_)
      return absl::ResourceExhaustedError(absl::StrCat("writing ", path, ": no space left"));
    const auto old = nodes_.find(path);
    const bool replaces = old != nodes_.end();
    if (replaces && old->second.stat.type == sys::FileType::kDirectory)
      return absl::FailedPreconditionError(absl::StrCat(path, " is a directory"));
    const bool keeps = replaces && old->second.stat.type == sys::FileType::kRegular;
    const mode_t mode = options.mode.value_or(keeps ? old->second.stat.mode : 0644);
    const uid_t uid = options.uid.value_or(keeps ? old->second.stat.uid : 0);
    const gid_t gid = options.gid.value_or(keeps ? old->second.stat.gid : 0);
    if (options.verify) {
      const std::string temporary = absl::StrCat(path, ".new");
      Put(temporary, sys::FileType::kRegular, mode, uid, gid, content);
      const absl::Status verdict = options.verify(temporary);
      nodes_.erase(temporary);
      if (!verdict.ok()) return verdict;
    }
    Put(path, sys::FileType::kRegular, mode, uid, gid, content);
    log_.push_back(absl::StrCat("write ", path));
    return absl::OkStatus();
  }

  absl::Status WriteToKernel(const std::string& path, const std::string& request) override {
    if (const absl::Status failure = FailureOf(path); !failure.ok()) return failure;
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return Absent("writing to", path);
    it->second.content = absl::StrCat(request, "\n");  // as the kernel shows it
    log_.push_back(absl::StrCat("kernel ", path));
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<sys::FileStat>> Stat(const std::string& path) override {
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return std::optional<sys::FileStat>();
    return std::optional<sys::FileStat>(it->second.stat);
  }

  absl::StatusOr<std::optional<sys::FileView>> View(
      const std::string& path, size_t max_bytes = sys::kMaxReadBytes) override {
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return std::optional<sys::FileView>();
    const bool left_out =
        it->second.stat.type == sys::FileType::kRegular && it->second.content.size() > max_bytes;
    return std::optional<sys::FileView>(
        {.stat = it->second.stat, .content = left_out ? "" : it->second.content});
  }

  absl::Status MakeDirectory(const std::string& path, mode_t mode) override {
    if (const absl::Status failure = FailureOf(path); !failure.ok()) return failure;
    if (const auto it = nodes_.find(path); it != nodes_.end())
      return it->second.stat.type == sys::FileType::kDirectory
                 ? absl::OkStatus()
                 : absl::FailedPreconditionError(absl::StrCat(path, " is not a directory"));
    AddDirectory(path, mode);
    log_.push_back(absl::StrCat("mkdir ", path));
    return absl::OkStatus();
  }

  absl::Status Remove(const std::string& path, bool recursive) override {
    if (const absl::Status failure = FailureOf(path); !failure.ok()) return failure;
    if (!Has(path)) return absl::OkStatus();
    const std::string below = absl::StrCat(path, "/");
    const auto inside = [&below](const auto& node) { return absl::StartsWith(node.first, below); };
    if (!recursive && std::any_of(nodes_.begin(), nodes_.end(), inside))
      return absl::FailedPreconditionError(
          absl::StrCat("removing ", path, ": the directory is not empty"));
    for (auto it = nodes_.begin(); it != nodes_.end();)
      it = inside(*it) || it->first == path ? nodes_.erase(it) : std::next(it);
    log_.push_back(absl::StrCat("remove ", path));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadLink(const std::string& path) override {
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return Absent("reading the link", path);
    if (it->second.stat.type != sys::FileType::kSymlink)
      return absl::InvalidArgumentError(absl::StrCat(path, " is not a link"));
    return it->second.content;
  }

  absl::Status MakeSymlink(const std::string& target, const std::string& path) override {
    if (const absl::Status failure = FailureOf(path); !failure.ok()) return failure;
    const auto it = nodes_.find(path);
    if (it != nodes_.end() && it->second.stat.type == sys::FileType::kDirectory)
      return absl::FailedPreconditionError(absl::StrCat(path, " is a directory"));
    if (!Has(ParentOf(path))) return Absent("linking", path);
    Put(path, sys::FileType::kSymlink, 0777, 0, 0, target);
    log_.push_back(absl::StrCat("link ", path));
    return absl::OkStatus();
  }

  absl::Status SetAttributes(const std::string& path,
                             const sys::FileAttributes& attributes) override {
    if (const absl::Status failure = FailureOf(path); !failure.ok()) return failure;
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return Absent("opening", path);
    sys::FileStat& stat = it->second.stat;
    if (stat.type == sys::FileType::kSymlink)
      return absl::InvalidArgumentError(absl::StrCat(path, " is a symbolic link"));
    stat.mode = attributes.mode.value_or(stat.mode);
    stat.uid = attributes.uid.value_or(stat.uid);
    stat.gid = attributes.gid.value_or(stat.gid);
    log_.push_back(absl::StrCat("attributes ", path));
    return absl::OkStatus();
  }

  // Users' folders are those whose owner is not root.
  absl::StatusOr<std::string> ForeignFolder(const std::string& path) override {
    std::string foreign;
    for (std::string folder = ParentOf(path);; folder = ParentOf(folder)) {
      if (Has(folder) && At(folder).stat.uid != 0) foreign = folder;
      if (folder == "/") return foreign;
    }
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    if (!Has(directory)) return Absent("listing", directory);
    std::vector<std::string> names;
    for (const auto& [path, node] : nodes_)
      if (path != "/" && ParentOf(path) == directory)
        names.push_back(path.substr(path.rfind('/') + 1));
    return names;
  }

 private:
  static std::string ParentOf(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
  }
  static absl::Status Absent(const std::string& what, const std::string& path) {
    return absl::NotFoundError(absl::StrCat(what, " ", path, ": No such file or directory"));
  }
  void AddParents(const std::string& path) {
    if (path == "/") return;
    const std::string parent = ParentOf(path);
    if (!Has(parent)) AddDirectory(parent);
  }
  void Put(const std::string& path, sys::FileType type, mode_t mode, uid_t uid, gid_t gid,
           std::string content) {
    const sys::FileStat stat = {.type = type,
                                .mode = mode,
                                .uid = uid,
                                .gid = gid,
                                .size = content.size(),
                                .modified_ns = ++changes_};
    nodes_[path] = {stat, std::move(content)};
  }
  absl::Status FailureOf(const std::string& path) {
    if (changes_left_ == 0) return cut_off_;
    changes_left_ -= changes_left_ > 0;
    for (const std::string& key : {path, std::string("*")})
      if (const auto it = failures_.find(key); it != failures_.end()) return it->second;
    return absl::OkStatus();
  }

  std::map<std::string, Node> nodes_;
  std::map<std::string, absl::Status> failures_;
  int changes_left_ = -1;
  size_t capacity_bytes_ = SIZE_MAX;
  absl::Status cut_off_;
  std::vector<std::string> log_;
  int64_t changes_ = 0;
};

}  // namespace muster::testing
