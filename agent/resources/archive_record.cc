#include "agent/resources/archive_record.h"

#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr size_t kNamedInDrift = 3;

std::string PathOfEntry(const v1::ArchiveRecordEntry& entry, const std::string& directory) {
  return absl::StrCat(directory, "/", entry.path());
}

absl::StatusOr<bool> OwnsAllBelow(const std::set<std::string>& known, const std::string& directory,
                                  const std::string& prefix, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  for (const std::string& name : names) {
    const std::string path = prefix + name;
    if (known.count(path) == 0) return false;
    const std::string child = absl::StrCat(directory, "/", name);
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(child));
    if (!stat.has_value() || stat->type != sys::FileType::kDirectory) continue;
    ASSIGN_OR_RETURN(const bool owns, OwnsAllBelow(known, child, path + "/", files));
    if (!owns) return false;
  }
  return true;
}

}  // namespace

std::optional<v1::ArchiveRecord> ParseArchiveRecord(const std::string& bytes) {
  v1::ArchiveRecord record;
  if (!record.ParseFromString(bytes)) return std::nullopt;
  return record;
}

void AddEntries(const std::vector<sys::ExtractedEntry>& entries, v1::ArchiveRecord& record) {
  for (const sys::ExtractedEntry& entry : entries) {
    v1::ArchiveRecordEntry& added = *record.add_entries();
    added.set_path(entry.path);
    added.set_is_file(entry.type == sys::FileType::kRegular);
    added.set_is_directory(entry.type == sys::FileType::kDirectory);
    added.set_link_target(entry.link_target);
    if (!added.is_file()) continue;
    added.set_mode(entry.mode);
    added.set_size(entry.size);
    added.set_modified_ns(entry.modified_ns);
  }
}

absl::StatusOr<bool> IsAsUnpacked(const v1::ArchiveRecordEntry& entry,
                                  const v1::ArchiveRecord& record, const std::string& directory,
                                  sys::FileSystem& files) {
  const std::string path = PathOfEntry(entry, directory);
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> now, files.Stat(path));
  if (!now.has_value()) return false;
  if (entry.is_directory()) return now->type == sys::FileType::kDirectory;
  if (!entry.link_target().empty()) {
    if (now->type != sys::FileType::kSymlink) return false;
    ASSIGN_OR_RETURN(const std::string target, files.ReadLink(path));
    return target == entry.link_target();
  }
  if (!entry.is_file()) return now->type == sys::FileType::kOther;
  return now->type == sys::FileType::kRegular && now->size == entry.size() &&
         now->modified_ns == entry.modified_ns() && now->mode == entry.mode() &&
         now->uid == record.uid() && now->gid == record.gid();
}

absl::StatusOr<std::string> DescribeDrift(const v1::ArchiveRecord& record,
                                          const std::string& directory, sys::FileSystem& files) {
  size_t count = 0;
  std::vector<std::string> named;
  for (const v1::ArchiveRecordEntry& entry : record.entries()) {
    ASSIGN_OR_RETURN(const bool same, IsAsUnpacked(entry, record, directory, files));
    if (same) continue;
    ++count;
    if (named.size() < kNamedInDrift) named.push_back(absl::CHexEscape(entry.path()));
  }
  if (count == 0) return std::string();
  return absl::StrCat(count, " of ", record.entries_size(),
                      " changed: ", absl::StrJoin(named, ", "), count > named.size() ? ", …" : "");
}

absl::StatusOr<bool> OwnsAll(const v1::ArchiveRecord& record, const std::string& directory,
                             sys::FileSystem& files) {
  std::set<std::string> known;
  for (const v1::ArchiveRecordEntry& entry : record.entries()) known.insert(entry.path());
  return OwnsAllBelow(known, directory, "", files);
}

absl::Status RemoveEntries(const v1::ArchiveRecord& old, const v1::ArchiveRecord& keep,
                           const std::string& directory, sys::FileSystem& files,
                           ApplyObserver& observer) {
  std::set<std::string> kept;
  for (const v1::ArchiveRecordEntry& entry : keep.entries()) kept.insert(entry.path());
  for (int i = old.entries_size() - 1; i >= 0; --i) {
    const v1::ArchiveRecordEntry& entry = old.entries(i);
    if (kept.count(entry.path()) > 0) continue;
    const std::string path = PathOfEntry(entry, directory);
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> now, files.Stat(path));
    if (!now.has_value()) continue;
    ASSIGN_OR_RETURN(const bool same, IsAsUnpacked(entry, old, directory, files));
    if (!same) {
      observer.OnOutput(absl::StrCat("kept ", path, ": it has changed since it was unpacked\n"));
      continue;
    }
    const absl::Status removed = files.Remove(path, /*recursive=*/false);
    if (entry.is_directory() && absl::IsFailedPrecondition(removed)) {
      observer.OnOutput(absl::StrCat("kept ", path, ": it is not empty\n"));
      continue;
    }
    RETURN_IF_ERROR(removed);
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
