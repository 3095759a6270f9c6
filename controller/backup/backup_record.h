// What became of the last backups, as the process that makes them leaves it for musterd.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "muster/v1/controller_records.pb.h"

namespace muster::controller {

// The record of `state_directory`; empty where none can be read: no backup is known.
v1::BackupRecord ReadBackupRecord(const std::string& state_directory);

// A backup with what was true at `made_at` is complete.
absl::Status RecordBackup(const std::string& state_directory, const std::string& file,
                          absl::Time made_at);
// An attempt at `now` failed; a backup before it stays the newest.
absl::Status RecordFailedBackup(const std::string& state_directory, const absl::Status& why,
                                absl::Time now);

}  // namespace muster::controller
