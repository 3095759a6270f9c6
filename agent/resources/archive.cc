#include "agent/resources/makers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/resources/archive_record.h"
#include "agent/resources/check_values.h"
#include "agent/resources/content.h"
#include "agent/resources/ownership.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/archive/archive_extract.h"
#include "common/sys/place.h"
#include "common/sys/tree_stage.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kArchiveKind[] = "archive";
constexpr uint64_t kDefaultMaxBytes = uint64_t{8} << 30;
constexpr uint64_t kDefaultMaxEntries = 1'000'000;

// An archive that the plan itself carries, as a file without a name in any folder.
absl::StatusOr<sys::UniqueFd> FileOf(const std::string& content) {
  sys::UniqueFd file(::memfd_create("archive", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "creating a file in memory");
  for (absl::string_view left = content; !left.empty();) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written < 0) return ErrnoStatus(errno, "writing a file in memory");
    left.remove_prefix(static_cast<size_t>(written));
  }
  return file;
}

class Archive final : public Resource {
 public:
  Archive(v1::ArchiveResource spec, const std::string& step_id, ResourceContext& context)
      : spec_(std::move(spec)),
        context_(context),
        // Several archives may share a directory.
        key_(absl::StrCat(spec_.path(), "\n",
                          spec_.remembered_as().empty() ? step_id : spec_.remembered_as())),
        older_key_(absl::StrCat(spec_.path(), "\n", step_id)),
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
                            ? " is a symbolic link on the node; specify the directory itself"
                            : " is not a directory on the node; remove it in an earlier task"));
    ASSIGN_OR_RETURN(const v1::ArchiveRecord wanted, Wanted());
    const std::string after = absl::StrCat("sha256 ", spec_.sha256().substr(0, 12));
    if (!record.has_value()) {
      changes.push_back({"content", "absent", after});
    } else if (!record->complete()) {
      changes.push_back({"content", "partly unpacked", after});
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

    const size_t slash = spec_.path().rfind('/');
    if (slash > 0)
      RETURN_IF_ERROR(context_.files.MakeDirectory(spec_.path().substr(0, slash), 0755));
    ASSIGN_OR_RETURN(const std::unique_ptr<sys::TreeStage> stage,
                     sys::TreeStage::Make(spec_.path(), temporary_name_));
    ASSIGN_OR_RETURN(v1::ArchiveRecord record, Wanted());
    ASSIGN_OR_RETURN(const sys::UniqueFd archive, OpenArchive(observer));
    RETURN_IF_ERROR(Unpack(archive, *stage, record, observer));
    observer.OnActivity(absl::StrCat("putting ", spec_.path(), " in place"), std::nullopt);
    RETURN_IF_ERROR(stage->Sync());
    return PutInPlace(*stage, old, record, observer);
  }

 private:
  absl::StatusOr<std::optional<v1::ArchiveRecord>> Remembered() {
    ASSIGN_OR_RETURN(std::optional<std::string> bytes, context_.records.Get(kArchiveKind, key_));
    if (!bytes.has_value()) {
      ASSIGN_OR_RETURN(bytes, context_.records.Get(kArchiveKind, older_key_));
    }
    if (!bytes.has_value()) return std::optional<v1::ArchiveRecord>();
    return ParseArchiveRecord(*bytes);
  }

  absl::Status Remember(const v1::ArchiveRecord& record) {
    const std::string bytes = record.SerializeAsString();
    if (bytes.size() > sys::kMaxReadBytes)
      return absl::ResourceExhaustedError(
          absl::StrCat("the archive has ", record.entries_size(),
                       " entries, more than can be recorded; split it"));
    RETURN_IF_ERROR(context_.records.Put(kArchiveKind, key_, bytes));
    return RemoveOlder();
  }

  absl::Status RemoveOlder() {
    if (older_key_ == key_) return absl::OkStatus();
    return context_.records.Remove(kArchiveKind, older_key_);
  }

  // The wanted record, without entries.
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

  absl::StatusOr<sys::UniqueFd> OpenArchive(ApplyObserver& observer) {
    if (!spec_.urls().empty() || spec_.is_blob()) {
      ASSIGN_OR_RETURN(const StoredContent stored,
                       context_.blobs.Fetch(ContentOf(spec_), observer));
      return sys::OpenFile(stored.path, O_RDONLY, sys::LastLink::kRefuse, "reading");
    }
    if (Sha256Hex(spec_.content()) != spec_.sha256())
      return absl::DataLossError("the archive in the plan does not match its digest");
    return FileOf(spec_.content());
  }

  absl::Status Unpack(const sys::UniqueFd& archive, const sys::TreeStage& stage,
                      v1::ArchiveRecord& record, ApplyObserver& observer) {
    sys::ExtractOptions options = {.strip_components = spec_.strip_components(),
                                   .uid = record.uid(),
                                   .gid = record.gid(),
                                   .allow_special = spec_.allow_special()};
    options.max_bytes = spec_.max_bytes() > 0 ? spec_.max_bytes() : kDefaultMaxBytes;
    options.max_entries = spec_.max_entries() > 0 ? spec_.max_entries() : kDefaultMaxEntries;
    // If the playbook says how much may come out, its author knows the archive.
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
                     sys::ExtractArchive(archive.get(), stage.tree(), options));
    if (entries.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("unpacking the archive creates nothing",
                       spec_.strip_components() > 0 ? "; is strip_components too large?" : ""));
    AddEntries(entries, record);
    return absl::OkStatus();
  }

  // A crash at any instant leaves a record that says what has to be done again.
  absl::Status PutInPlace(sys::TreeStage& stage, const v1::ArchiveRecord& old,
                          v1::ArchiveRecord& record, ApplyObserver& observer) {
    const std::string& path = spec_.path();
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, context_.files.Stat(path));
    record.set_made_directory(!stat.has_value() || old.made_directory());
    v1::ArchiveRecord both = record;
    for (const v1::ArchiveRecordEntry& entry : old.entries()) *both.add_entries() = entry;
    RETURN_IF_ERROR(Remember(both));
    if (!stat.has_value()) {
      RETURN_IF_ERROR(stage.MoveIn(record.uid(), record.gid()));
    } else {
      ASSIGN_OR_RETURN(const bool whole, OwnsAll(old, path, context_.files));
      if (!whole || !stage.SwapIn().ok()) {
        RETURN_IF_ERROR(stage.MergeIn());
        RETURN_IF_ERROR(RemoveEntries(old, record, path, context_.files, observer));
      }
    }
    record.set_complete(true);
    return Remember(record);
  }

  absl::Status Undo(const v1::ArchiveRecord& old, ApplyObserver& observer) {
    RETURN_IF_ERROR(RemoveEntries(old, {}, spec_.path(), context_.files, observer));
    if (old.made_directory()) {
      const absl::Status removed = context_.files.Remove(spec_.path(), /*recursive=*/false);
      if (!removed.ok() && !absl::IsFailedPrecondition(removed)) return removed;
    }
    RETURN_IF_ERROR(RemoveOlder());
    return context_.records.Remove(kArchiveKind, key_);
  }

  const v1::ArchiveResource spec_;
  ResourceContext& context_;
  const std::string key_;        // of the record
  const std::string older_key_;  // that of agents that took every name as it was rendered
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
      return absl::InvalidArgumentError("exactly one of urls, content and is_blob must be set");
  }
  return std::make_unique<Archive>(spec, step.step_id(), context);
}

}  // namespace muster::agent
