// Backups of the controller: its store, the contents that the store names, its authority and keys.
//
// docs/operations.md says when and how to make them; the file holds:
//
//   manifest.json      version, cluster, time, the digest and size of every entry after it
//   keys.sealed        ca.key, controller.key, secret_key, the administrator's, and the digest of
//                      the manifest, sealed under a passphrase; absent where the keys were left out
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
  // Seals the keys at creation and opens them later. Absent: the keys are left out, or stay sealed.
  std::optional<SecretBuffer> passphrase;
  // Restore over a store that has entries newer than the backup.
  bool force = false;
};

// A summary of a backup's content, for people.
struct BackupSummary {
  std::string cluster;
  std::string created_at;  // RFC 3339
  std::string musterd_version;
  bool has_keys = false;
  bool keys_opened = false;  // the passphrase was given and correct, and all secrets open
  uint64_t nodes = 0;
  uint64_t secrets = 0;
  uint64_t audit_entries = 0;
  uint64_t blobs = 0;
  uint64_t bytes = 0;     // of the contents, unpacked
  std::string old_state;  // after a restore: the folder of the former state; "": there was none
  // After a restore: what was in progress at the time of the backup, and does not go on.
  uint64_t ended_runs = 0;
  uint64_t ended_validations = 0;
  uint64_t halted_rollouts = 0;
  uint64_t removed_boot_orders = 0;  // people's, to boot an image
};

// Writes `path` (0600), which must not exist yet, whether musterd is running or not. Removes what
// interrupted backups have left. ResourceExhausted: too little room beside the state folder.
absl::StatusOr<BackupSummary> CreateBackup(const std::string& path, const BackupOptions& options,
                                           Clock& clock);

// Reads the whole file and verifies it: digests, the store's integrity, the chain of the audit log
// and, with the passphrase, that everything is as it was written, that the authority's key fits and
// that every secret opens. Needs room for the contents in $TMPDIR. DataLoss says what is wrong;
// FailedPrecondition: a passphrase was given, but the backup has no sealed keys.
absl::StatusOr<BackupSummary> VerifyBackup(const std::string& path, const BackupOptions& options);

// Verifies the backup and puts everything into its place; the former state is kept aside.
// FailedPrecondition: musterd is running; or the existing store is newer than the backup (see
// `force`); or the backup holds no keys and the machine has none that fit. Runs that were in
// progress are ended: nodes must not be taken back to what was wanted then.
absl::StatusOr<BackupSummary> RestoreBackup(const std::string& path, const BackupOptions& options,
                                            Clock& clock);

}  // namespace muster::controller
