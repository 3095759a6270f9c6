#include "agent/resources/archive.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/resources/archive_record.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content.h"
#include "agent/resources/ownership.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/archive_extract.h"
#include "common/sys/tree_move.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kKind[] = "archive";
constexpr uint64_t kDefaultMaxBytes = uint64_t{8} << 30;
constexpr uint64_t kDefaultMaxEntries = 1'000'000;

bool OnOneFileSystem(const std::string& a, const std::string& b) {
  struct stat one = {}, other = {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev;
}

class Archive final : public Resource {
 public:
  Archive(v1::ArchiveResource spec, const std::string& step_id, ResourceContext& context)
      : spec_(std::move(spec)),
        context_(context),
        // Several archives may share a directory.
        key_(absl::StrCat(spec_.path(), "\n", step_id)),
        temporary_name_(absl::StrCat(".muster-unpack-", Sha256Hex(key_).substr(0, 12))) {}

  std::string Id() const override { return absl::StrCat("archive[", spec_.path(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    ASSIGN_OR_RETURN(const std::optional<v1::ArchiveRecord> record, Remembered());
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      if (record.has_value()) changes.push_back({"state", "unpacked", "absent"});
      return changes;
    }
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(spec_.path()));
    if (stat.has_value() && stat->type != sys::FileType::kDirectory)
      return absl::InvalidArgumentError(absl::StrCat(
          spec_.path(), stat->type == sys::FileType::kSymlink
                            ? " is a symbolic link on the node; name the directory that is meant"
                            : " is no directory on the node; remove it in an earlier task"));
    ASSIGN_OR_RETURN(const v1::ArchiveRecord wanted, Wanted());
    const std::string after = absl::StrCat("sha256 ", spec_.sha256().substr(0, 12));
    if (!record.has_value()) {
      changes.push_back({"content", "absent", after});
    } else if (!record->complete()) {
      changes.push_back({"content", "unpacked in part", after});
    } else if (record->sha256() != wanted.sha256()) {
      changes.push_back(
          {"content", absl::StrCat("sha256 ", record->sha256().substr(0, 12)), after});
    } else if (record->strip_components() != wanted.strip_components()) {
      changes.push_back({"strip_components", absl::StrCat(record->strip_components()),
                         absl::StrCat(wanted.strip_components())});
    } else if (record->uid() != wanted.uid() || record->gid() != wanted.gid()) {
      changes.push_back({"owner", absl::StrCat(record->uid(), ":", record->gid()),
                         absl::StrCat(wanted.uid(), ":", wanted.gid())});
    } else {
      ASSIGN_OR_RETURN(std::string drift, DescribeDrift(*record, spec_.path(), context_.files));
      if (!drift.empty()) changes.push_back({"content", std::move(drift), after});
    }
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::optional<v1::ArchiveRecord> remembered, Remembered());
    const v1::ArchiveRecord old = remembered.value_or(v1::ArchiveRecord());
    if (spec_.state() == v1::PRESENCE_ABSENT) return Undo(old, observer);

    ASSIGN_OR_RETURN(const std::string temporary, MakeTemporary());
    const absl::Cleanup clean = [this, &temporary] {
      (void)context_.files.Remove(temporary, /*recursive=*/true);
    };
    ASSIGN_OR_RETURN(v1::ArchiveRecord record, Wanted());
    const std::string tree = temporary + "/tree";
    RETURN_IF_ERROR(context_.files.MakeDirectory(tree, 0755));
    ASSIGN_OR_RETURN(const std::string archive, ArchiveFile(temporary, observer));
    RETURN_IF_ERROR(Unpack(archive, tree, record, observer));
    observer.OnActivity(absl::StrCat("putting ", spec_.path(), " in place"), std::nullopt);
    RETURN_IF_ERROR(sys::SyncFileSystem(tree));
    return PutInPlace(tree, old, record, observer);
  }

 private:
  absl::StatusOr<std::optional<v1::ArchiveRecord>> Remembered() {
    ASSIGN_OR_RETURN(const std::optional<std::string> bytes, context_.records.Get(kKind, key_));
    if (!bytes.has_value()) return std::optional<v1::ArchiveRecord>();
    return ParseArchiveRecord(*bytes);
  }

  absl::Status Remember(const v1::ArchiveRecord& record) {
    const std::string bytes = record.SerializeAsString();
    if (bytes.size() > sys::kMaxReadBytes)
      return absl::ResourceExhaustedError(
          absl::StrCat("the archive has ", record.entries_size(),
                       " entries, more than can be remembered; split it"));
    return context_.records.Put(kKind, key_, bytes);
  }

  // The record without entries.
  absl::StatusOr<v1::ArchiveRecord> Wanted() {
    ASSIGN_OR_RETURN(
        const sys::FileAttributes owner,
        ResolveOwnership({.owner = spec_.owner(), .group = spec_.group()}, context_.accounts));
    v1::ArchiveRecord record;
    record.set_sha256(spec_.sha256());
    record.set_strip_components(spec_.strip_components());
    record.set_uid(owner.uid.value_or(0));
    record.set_gid(owner.gid.value_or(0));
    return record;
  }

  // An empty folder of root's alone on the file system of the target; what a crash left of it is
  // removed first.
  absl::StatusOr<std::string> MakeTemporary() {
    const std::string& path = spec_.path();
    const size_t slash = path.rfind('/');
    const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
    RETURN_IF_ERROR(context_.files.MakeDirectory(parent, 0755));
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(path));
    // Where something is mounted at the target, its neighbours are on another disk.
    const bool beside = !stat.has_value() || OnOneFileSystem(parent, path);
    const std::string temporary =
        absl::StrCat(beside ? (slash == 0 ? "" : parent) : path, "/", temporary_name_);
    RETURN_IF_ERROR(context_.files.Remove(temporary, /*recursive=*/true));
    RETURN_IF_ERROR(context_.files.MakeDirectory(temporary, 0700));
    // In a folder that all may write to, somebody may have been quicker.
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> made, context_.files.Stat(temporary));
    if (!made.has_value() || made->type != sys::FileType::kDirectory || made->uid != ::geteuid() ||
        made->mode != 0700)
      return absl::FailedPreconditionError(
          absl::StrCat(temporary, " was made by somebody else; unpack where only root may write"));
    return temporary;
  }

  absl::StatusOr<std::string> ArchiveFile(const std::string& temporary, ApplyObserver& observer) {
    if (!spec_.urls().empty() || spec_.is_blob()) {
      ASSIGN_OR_RETURN(const StoredContent stored,
                       context_.blobs.Fetch(ContentOf(spec_), observer));
      return stored.path;
    }
    if (Sha256Hex(spec_.content()) != spec_.sha256())
      return absl::DataLossError("the archive in the plan does not match its digest");
    const std::string path = temporary + "/archive";
    RETURN_IF_ERROR(context_.files.WriteAtomically(path, spec_.content(), {.mode = 0600}));
    return path;
  }

  absl::Status Unpack(const std::string& archive, const std::string& tree,
                      v1::ArchiveRecord& record, ApplyObserver& observer) {
    sys::ExtractOptions options = {.strip_components = spec_.strip_components(),
                                   .uid = record.uid(),
                                   .gid = record.gid(),
                                   .allow_special = spec_.allow_special()};
    options.max_bytes = spec_.max_bytes() > 0 ? spec_.max_bytes() : kDefaultMaxBytes;
    options.max_entries = spec_.max_entries() > 0 ? spec_.max_entries() : kDefaultMaxEntries;
    // Whoever says how much may come out knows the archive.
    options.check_ratio = spec_.max_bytes() == 0;
    options.place = spec_.path();
    absl::Time next = absl::InfinitePast();
    options.on_progress = [&](uint64_t read, uint64_t total) {
      const absl::Time now = context_.clock.Now();
      if (now < next) return;
      next = now + absl::Milliseconds(200);
      const auto percent = static_cast<float>(read) * 100.0f / static_cast<float>(total + 1);
      observer.OnActivity(absl::StrCat("unpacking into ", spec_.path()), percent);
    };
    ASSIGN_OR_RETURN(const std::vector<sys::ExtractedEntry> entries,
                     sys::ExtractArchive(archive, tree, options));
    if (entries.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "nothing comes out of the archive",
          spec_.strip_components() > 0 ? "; are so many strip_components right?" : ""));
    AddEntries(entries, record);
    return absl::OkStatus();
  }

  // A crash at any instant leaves a record that says what to do again.
  absl::Status PutInPlace(const std::string& tree, const v1::ArchiveRecord& old,
                          v1::ArchiveRecord& record, ApplyObserver& observer) {
    const std::string& path = spec_.path();
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(path));
    record.set_made_directory(!stat.has_value() || old.made_directory());
    v1::ArchiveRecord both = record;
    for (const v1::ArchiveRecordEntry& entry : old.entries()) *both.add_entries() = entry;
    RETURN_IF_ERROR(Remember(both));
    bool whole = false;
    if (stat.has_value()) {
      ASSIGN_OR_RETURN(const bool owns_all, OwnsAll(old, path, context_.files));
      whole = owns_all && OnOneFileSystem(path.substr(0, path.rfind('/') + 1), path);
    }
    if (!stat.has_value()) {
      RETURN_IF_ERROR(
          context_.files.SetAttributes(tree, {.uid = record.uid(), .gid = record.gid()}));
      RETURN_IF_ERROR(sys::MoveTree(tree, path));
    } else if (!whole || !Swap(tree, *stat)) {
      RETURN_IF_ERROR(sys::MergeTree(tree, path));
      RETURN_IF_ERROR(RemoveEntries(old, record, path, context_.files, observer));
    }
    record.set_complete(true);
    return Remember(record);
  }

  // False: the file system cannot, and nothing was changed.
  bool Swap(const std::string& tree, const sys::FileStat& old) {
    const sys::FileAttributes attributes = {.mode = old.mode, .uid = old.uid, .gid = old.gid};
    return context_.files.SetAttributes(tree, attributes).ok() &&
           sys::SwapTrees(tree, spec_.path()).ok();
  }

  absl::Status Undo(const v1::ArchiveRecord& old, ApplyObserver& observer) {
    RETURN_IF_ERROR(RemoveEntries(old, {}, spec_.path(), context_.files, observer));
    if (old.made_directory()) {
      const absl::Status removed = context_.files.Remove(spec_.path(), /*recursive=*/false);
      if (!removed.ok() && !absl::IsFailedPrecondition(removed)) return removed;
    }
    return context_.records.Remove(kKind, key_);
  }

  const v1::ArchiveResource spec_;
  ResourceContext& context_;
  const std::string key_;
  const std::string temporary_name_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeArchive(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff) {
  const v1::ArchiveResource& spec = step.archive();
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  if (spec.state() != v1::PRESENCE_ABSENT) {
    RETURN_IF_ERROR(CheckContent(ContentOf(spec)));
    const int sources =
        (spec.urls().empty() ? 0 : 1) + (spec.is_blob() ? 1 : 0) + (spec.content().empty() ? 0 : 1);
    if (sources != 1)
      return absl::InvalidArgumentError("exactly one of urls, content and is_blob is set");
  }
  return std::make_unique<Archive>(spec, step.step_id(), context);
}

}  // namespace muster::agent
