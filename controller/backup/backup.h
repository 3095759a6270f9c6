// Backups of the controller: its store, the contents that the store names, its authority and keys.
//
// docs/operations.md says when and how; this is the file:
//
//   manifest.json      version, cluster, time, the digest and size of every entry behind
//   keys.sealed keys.sealed        ca.key, controller.key, secret_key, the administrator's, and the
//   digest of the
//                      manifest, sealed under a passphrase; absent where the keys were left out
//   controller.yaml    settings
//   pki/ca.crt pki/controller.crt
//   admin/…            the first administrator's folder, without its key
//   store.db           the store as of one instant
//   blobs/<sha256>     bundles and contents of plans
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/config.h"
#include "controller/secret/secret_buffer.h"

namespace muster {
class Clock;
}

namespace muster::controller {

struct BackupOptions {
  std::string config_path;  // controller.yaml
  // Seals the keys at creation, opens them later. Absent: the keys are left out, or stay sealed.
  std::optional<SecretBuffer> passphrase;
  // Restore over a store that knows more than the backup.
  bool force = false;
};

// What a backup holds, for people.
struct BackupSummary {
  std::string cluster;
  std::string created_at;  // RFC 3339
  std::string musterd_version;
  bool has_keys = false;
  bool keys_opened = false;  // the passphrase was given and right, and all secrets open
  uint64_t nodes = 0;
  uint64_t secrets = 0;
  uint64_t audit_entries = 0;
  uint64_t blobs = 0;
  uint64_t bytes = 0;       // of the contents, unpacked
  std::string old_state;    // after a restore: where the former state is; "": there was none
  uint64_t ended_runs = 0;  // after a restore: that were going on at the time of the backup
};

// Writes `path` (0600), which must not exist, while musterd runs or not.
absl::StatusOr<BackupSummary> CreateBackup(const std::string& path, const BackupOptions& options,
                                           Clock& clock);

// Reads the whole file and proves it: digests, the store's integrity, the chain of the audit log
// and, with the passphrase, that all of it is as it was written, that the authority's key fits and
// every secret opens. Needs room for the contents in $TMPDIR. DataLoss says what is wrong;
// FailedPrecondition: there is a passphrase, and nothing under it.
absl::StatusOr<BackupSummary> VerifyBackup(const std::string& path, const BackupOptions& options);

// Verifies, and puts everything into its place; what was there is kept aside. FailedPrecondition:
// musterd runs; or the store there knows more than the backup (see `force`); or the backup holds
// no keys and the machine has none that fit. Runs that were going on are ended: nodes must not be
// taken back to what was wanted then.
absl::StatusOr<BackupSummary> RestoreBackup(const std::string& path, const BackupOptions& options,
                                            Clock& clock);

}  // namespace muster::controller
