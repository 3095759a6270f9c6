// The table of contents of a backup.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

// The format's version. A backup of another version is refused: in format 1 nothing authenticated
// the contents.
inline constexpr int kBackupVersion = 2;

struct BackupManifest {
  struct Entry {
    uint64_t size = 0;
    std::string sha256;
  };
  std::string cluster;
  std::string created_at;
  std::string musterd_version;
  bool has_keys = false;                 // keys.sealed follows, with the digest of this text in it
  std::map<std::string, Entry> entries;  // by name, without the manifest itself and keys.sealed
};

std::string ManifestToJson(const BackupManifest& manifest);
// InvalidArgument: not a manifest. FailedPrecondition: another format.
absl::StatusOr<BackupManifest> ParseManifest(absl::string_view json);

}  // namespace muster::controller
