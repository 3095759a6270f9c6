// Secrets at rest: AES-256-GCM under a key that is not in the store.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller {

inline constexpr size_t kSecretKeyBytes = 32;

// Seals and opens with one key. Thread-safe.
class SecretBox {
 public:
  // InvalidArgument unless `key` has kSecretKeyBytes.
  static absl::StatusOr<SecretBox> Create(SecretBuffer key);

  // nonce ‖ ciphertext ‖ tag. The name and the version are authenticated with the value: a sealed
  // value under another name, or an older version put back, does not open.
  absl::StatusOr<std::string> Seal(absl::string_view name, uint32_t version,
                                   absl::string_view value) const;
  // DataLoss: damaged, belongs to another name or version, or sealed with another key.
  absl::StatusOr<SecretBuffer> Open(absl::string_view name, uint32_t version,
                                    absl::string_view sealed) const;

 private:
  explicit SecretBox(SecretBuffer key) : key_(std::move(key)) {}
  SecretBuffer key_;
};

struct SecretKey {
  SecretBuffer key;
  std::string source;  // the path it came from, for messages
};

// Loads the key: from `credentials_directory`/secret_key when that folder is given (systemd's
// LoadCredential=, $CREDENTIALS_DIRECTORY) and holds it, otherwise from `path`. A missing key is
// created with mode 0600 if `may_create`. FailedPrecondition when it may not be created, when
// others may read `path`, or when its size is wrong.
absl::StatusOr<SecretKey> LoadSecretKey(sys::FileSystem& files,
                                        const std::string& credentials_directory,
                                        const std::string& path, bool may_create);

}  // namespace muster::controller
