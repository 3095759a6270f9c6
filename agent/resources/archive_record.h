// The record of what an archive put into a directory, compared with the present state.
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

// nullopt: the bytes are not a record.
std::optional<v1::ArchiveRecord> ParseArchiveRecord(const std::string& bytes);

void AddEntries(const std::vector<sys::ExtractedEntry>& entries, v1::ArchiveRecord& record);

// Whether the entry below `directory` is still as it was put there.
absl::StatusOr<bool> IsAsUnpacked(const v1::ArchiveRecordEntry& entry,
                                  const v1::ArchiveRecord& record, const std::string& directory,
                                  sys::FileSystem& files);

// "2 of 310 changed: bin/x, lib/y"; "" when all are as they were unpacked.
absl::StatusOr<std::string> DescribeDrift(const v1::ArchiveRecord& record,
                                          const std::string& directory, sys::FileSystem& files);

// Whether everything in `directory` is in the record too.
absl::StatusOr<bool> OwnsAll(const v1::ArchiveRecord& record, const std::string& directory,
                             sys::FileSystem& files);

// Removes the entries that `old` put below `directory`, except those that are in `keep`, have
// changed since, or hold something else; the last two are reported to the observer.
absl::Status RemoveEntries(const v1::ArchiveRecord& old, const v1::ArchiveRecord& keep,
                           const std::string& directory, sys::FileSystem& files,
                           ApplyObserver& observer);

}  // namespace muster::agent
