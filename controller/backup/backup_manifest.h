// The table of contents of a backup.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

// Of the format. A backup of a newer one is refused.
inline constexpr int kBackupVersion = 1;

struct BackupManifest {
  struct Entry {
    uint64_t size = 0;
    std::string sha256;
  };
  std::string cluster;
  std::string created_at;
  std::string musterd_version;
  std::map<std::string, Entry> entries;  // by name, without the manifest itself
};

std::string ManifestToJson(const BackupManifest& manifest);
// InvalidArgument: not a manifest. FailedPrecondition: of a newer format.
absl::StatusOr<BackupManifest> ParseManifest(absl::string_view json);

}  // namespace muster::controller
