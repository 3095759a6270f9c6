// The keys of a backup, sealed under a passphrase.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller {

inline constexpr size_t kMinPassphraseBytes = 12;
// The digest of the manifest, and thereby of all contents; sealed with the keys as if it were one
// of them. Without the passphrase, neither can be changed.
inline constexpr char kManifestDigest[] = "manifest.sha256";

// salt ‖ AES-256-GCM, under scrypt(passphrase, salt), of the files, name → content.
// InvalidArgument: the passphrase is too short.
absl::StatusOr<std::string> SealKeys(const std::map<std::string, std::string>& files,
                                     const SecretBuffer& passphrase);
// PermissionDenied: wrong passphrase, or damaged.
absl::StatusOr<std::map<std::string, std::string>> OpenKeys(absl::string_view sealed,
                                                            const SecretBuffer& passphrase);

}  // namespace muster::controller
