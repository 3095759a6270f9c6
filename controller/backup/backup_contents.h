// An unpacked and verified backup.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_manifest.h"

namespace muster::controller {

struct BackupContents {
  BackupManifest manifest;
  BackupSummary summary;
  std::map<std::string, std::string> keys;  // name → content; empty: sealed, or left out
};

// Unpacks `path` into `folder` and verifies what can be verified there; see VerifyBackup().
absl::StatusOr<BackupContents> UnpackBackup(const std::string& path, const std::string& folder,
                                            const BackupOptions& options);

// Checks that every secret of the store at `store_path` opens with `key`; returns their number.
absl::StatusOr<uint64_t> CheckSecretsOpen(const std::string& store_path, const std::string& key);

}  // namespace muster::controller
