// What an archive put into a directory, as it is remembered and as it is now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/resources/resource.h"
#include "common/sys/archive/archive_extract.h"
#include "common/sys/file_system.h"
#include "muster/v1/records.pb.h"

namespace muster::agent {

// nullopt: the bytes are no record.
std::optional<v1::ArchiveRecord> ParseArchiveRecord(const std::string& bytes);

void AddEntries(const std::vector<sys::ExtractedEntry>& entries, v1::ArchiveRecord& record);

// Whether the entry is below `directory` as it was put there.
absl::StatusOr<bool> IsAsUnpacked(const v1::ArchiveRecordEntry& entry,
                                  const v1::ArchiveRecord& record, const std::string& directory,
                                  sys::FileSystem& files);

// "2 of 310 changed: bin/x, lib/y"; "" when all are as they were unpacked.
absl::StatusOr<std::string> DescribeDrift(const v1::ArchiveRecord& record,
                                          const std::string& directory, sys::FileSystem& files);

// Whether all that is in `directory` is in the record too.
absl::StatusOr<bool> OwnsAll(const v1::ArchiveRecord& record, const std::string& directory,
                             sys::FileSystem& files);

// Removes what `old` put below `directory`, but for what is in `keep`, has changed since, or holds
// something else; the last two are told to the observer.
absl::Status RemoveEntries(const v1::ArchiveRecord& old, const v1::ArchiveRecord& keep,
                           const std::string& directory, sys::FileSystem& files,
                           ApplyObserver& observer);

}  // namespace muster::agent
