// The cluster's secrets: sealed in the store, opened only for plans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "controller/playbook/compiler.h"
#include "controller/secret/secret_box.h"
#include "controller/store/store.h"

namespace muster::controller {

inline constexpr size_t kMaxSecretBytes = 65536;

// What may be told about a secret.
struct SecretInfo {
  std::string name;
  uint32_t version = 0;
  absl::Time updated_at;
  std::string updated_by;
};

// Who asks, for the audit log.
struct SecretActor {
  std::string actor;  // "admin:alice"
  std::string peer;
};

// Thread-safe. Each change is audited; no message ever holds a value. Blocks on the store: not to
// be called inside one of its transactions.
class SecretStore final : public SecretSource {
 public:
  // Loads the key (see LoadSecretKey) and tries it on what the store holds. FailedPrecondition
  // when the key is missing while there are secrets; DataLoss when it does not open them.
  // `store` and `clock` must outlive the object.
  static absl::StatusOr<std::unique_ptr<SecretStore>> Open(Store& store, Clock& clock,
                                                           sys::FileSystem& files,
                                                           const std::string& credentials_directory,
                                                           const std::string& key_path);

  // A missing secret is made, as the actor "controller", when `generate_bytes` is given.
  absl::StatusOr<std::string> Get(absl::string_view name,
                                  std::optional<uint32_t> generate_bytes) override;
  // Sets or replaces; gives the version that it has now. InvalidArgument: name or size.
  absl::StatusOr<uint32_t> Set(absl::string_view name, const SecretBuffer& value,
                               const SecretActor& actor);
  // AlreadyExists unless `replace`.
  absl::StatusOr<uint32_t> Generate(absl::string_view name, uint32_t bytes, bool replace,
                                    const SecretActor& actor);
  absl::StatusOr<std::vector<SecretInfo>> List();

 private:
  SecretStore(Store& store, Clock& clock, SecretBox box)
      : store_(store), clock_(clock), box_(std::move(box)) {}

  absl::StatusOr<uint32_t> PutNext(Transaction& txn, absl::string_view name,
                                   absl::string_view value, absl::string_view action,
                                   const SecretActor& actor);

  Store& store_;
  Clock& clock_;
  const SecretBox box_;
};

}  // namespace muster::controller
