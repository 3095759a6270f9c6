#include "agent/resources/makers.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kRecords[] = "files_in";

// Each entry is a file of its own; the set adds the removal of files. Its record holds the names of
// all files that it has ever written and not removed.
class FileSet final : public Resource {
 public:
  using Files = std::map<std::string, std::unique_ptr<Resource>>;  // by name

  FileSet(v1::FileSetResource spec, Files files, ResourceContext& context)
      : spec_(std::move(spec)), files_(std::move(files)), context_(context) {
    for (const auto& [name, file] : files_) names_.insert(name);
  }

  std::string Id() const override { return absl::StrCat("files_in[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    ASSIGN_OR_RETURN(const bool exists, DirectoryExists());
    if (!exists && !files_.empty()) changes.push_back({"directory", "absent", "present"});
    for (const auto& [name, file] : files_) {
      ASSIGN_OR_RETURN(std::vector<Change> found, file->Check());
      for (Change& change : found) {
        change.field = absl::StrCat(name, " ", change.field);
        changes.push_back(std::move(change));
      }
    }
    ASSIGN_OR_RETURN(const std::set<std::string> recorded, Record());
    ASSIGN_OR_RETURN(const std::set<std::string> surplus, Surplus(recorded, exists));
    for (const std::string& name : surplus) changes.push_back({name, "present", "absent"});
    for (const std::string& name : recorded) {
      // Otherwise a file that somebody puts there later would be taken for one of the set.
      if (names_.count(name) == 0 && surplus.count(name) == 0)
        changes.push_back({name, "absent", "forgotten"});
    }
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const bool exists, DirectoryExists());
    ASSIGN_OR_RETURN(const std::set<std::string> recorded, Record());
    std::set<std::string> all = recorded;
    all.insert(names_.begin(), names_.end());
    if (all != recorded) RETURN_IF_ERROR(Remember(all));
    if (!exists && !files_.empty())
      RETURN_IF_ERROR(context_.files.MakeDirectory(spec_.path(), 0755));
    for (const auto& [name, file] : files_) RETURN_IF_ERROR(file->Apply(observer));
    ASSIGN_OR_RETURN(const std::set<std::string> surplus, Surplus(recorded, exists));
    for (const std::string& name : surplus)
      RETURN_IF_ERROR(context_.files.Remove(PathOf(name), /*recursive=*/false));
    return all != names_ ? Remember(names_) : absl::OkStatus();
  }

 private:
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(spec_.path(), "/", name);
  }

  absl::StatusOr<bool> DirectoryExists() {
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(spec_.path()));
    if (!stat.has_value()) return false;
    if (stat->type == sys::FileType::kDirectory) return true;
    return absl::InvalidArgumentError(
        absl::StrCat(spec_.path(), " exists on the node and is not a directory",
                     stat->type == sys::FileType::kSymlink
                         ? " but a symbolic link; specify the directory that it leads to"
                         : "; remove it in an earlier task"));
  }

  absl::StatusOr<std::set<std::string>> Record() {
    ASSIGN_OR_RETURN(const auto record, context_.records.Get(kRecords, spec_.path()));
    return std::set<std::string>(absl::StrSplit(record.value_or(""), '\n', absl::SkipEmpty()));
  }

  absl::Status Remember(const std::set<std::string>& names) {
    if (names.empty()) return context_.records.Remove(kRecords, spec_.path());
    return context_.records.Put(kRecords, spec_.path(), absl::StrJoin(names, "\n"));
  }

  bool IsKept(const std::string& name) const {
    return std::any_of(spec_.keep().begin(), spec_.keep().end(), [&name](const std::string& glob) {
      return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
    });
  }

  // The files to remove: those of the set that are no longer wanted; with `purge` also those of
  // others.
  absl::StatusOr<std::set<std::string>> Surplus(const std::set<std::string>& recorded,
                                                bool directory_exists) {
    std::set<std::string> surplus;
    if (!directory_exists) return surplus;
    std::vector<std::string> candidates(recorded.begin(), recorded.end());
    if (spec_.purge()) {
      ASSIGN_OR_RETURN(const std::vector<std::string> others, context_.files.List(spec_.path()));
      std::copy_if(others.begin(), others.end(), std::back_inserter(candidates),
                   [this](const std::string& name) { return !IsKept(name); });
    }
    for (const std::string& name : candidates) {
      if (names_.count(name) > 0) continue;
      ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(PathOf(name)));
      if (!stat.has_value()) continue;
      if (stat->type == sys::FileType::kRegular || stat->type == sys::FileType::kSymlink)
        surplus.insert(name);
    }
    return surplus;
  }

  const v1::FileSetResource spec_;
  const Files files_;
  ResourceContext& context_;
  std::set<std::string> names_;
};

// The entry as a step with a file resource.
v1::Step FileStep(const v1::FileSetResource& set, const v1::FileSetEntry& entry) {
  v1::Step step;
  v1::FileResource& file = *step.mutable_file();
  file.set_path(absl::StrCat(set.path(), "/", entry.name()));
  file.set_content(entry.content());
  file.set_blob_sha256(entry.blob_sha256());
  file.set_blob_size(entry.blob_size());
  file.set_owner(set.owner());
  file.set_group(set.group());
  if (set.has_mode()) file.set_mode(set.mode());
  return step;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeFileSet(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff) {
  const v1::FileSetResource& spec = step.files_in();
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  FileSet::Files files;
  for (const v1::FileSetEntry& entry : spec.files()) {
    RETURN_IF_ERROR(CheckOneLine("files", entry.name()));
    if (entry.name().empty() || entry.name().find('/') != std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("files: '", entry.name(), "' is not a plain file name"));
    ASSIGN_OR_RETURN(std::unique_ptr<Resource> file,
                     MakeFile(FileStep(spec, entry), context, want_diff));
    if (!files.emplace(entry.name(), std::move(file)).second)
      return absl::InvalidArgumentError(absl::StrCat("files: ", entry.name(), " is listed twice"));
  }
  return std::make_unique<FileSet>(spec, std::move(files), context);
}

}  // namespace muster::agent
