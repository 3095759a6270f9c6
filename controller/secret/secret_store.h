// The cluster's secrets: sealed in the store, opened only for plans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "controller/audit/audit.h"
#include "controller/playbook/compiler.h"
#include "controller/secret/secret_box.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

inline constexpr size_t kMaxSecretBytes = 65536;

// The facts about a secret that may be shown.
struct SecretInfo {
  std::string name;
  uint32_t version = 0;
  absl::Time updated_at;
  std::string updated_by;
  std::optional<RotationRecord> rotation;  // without the sealed value
  std::string roles;                       // roles that may read it, as from JoinRoles()
};

// Whether the roles that a secret names are enforced.
enum class SecretReaders { kNamed, kAny };

// Thread-safe. Each change is audited; no message ever holds a value. Blocks on the store: must not
// be called inside one of its transactions.
class SecretStore final : public SecretSource {
 public:
  // Loads the key (see LoadSecretKey) and tries it on the secrets in the store. FailedPrecondition
  // when the key is missing although there are secrets; DataLoss when it does not open them.
  // `store` and `clock` must outlive the object.
  static absl::StatusOr<std::unique_ptr<SecretStore>> Open(
      Store& store, Clock& clock, sys::FileSystem& files, const std::string& credentials_directory,
      const std::string& key_path, SecretReaders readers = SecretReaders::kNamed);

  // With `generate_bytes`, makes a missing secret, as the actor "controller".
  absl::StatusOr<std::string> Get(absl::string_view name, std::optional<uint32_t> generate_bytes,
                                  const SecretReader& reader) override;
  absl::StatusOr<std::string> GetNext(absl::string_view name, const SecretReader& reader) override;
  // Sets or replaces the secret; returns its new version. `roles` may read it; if empty, the roles
  // that already may. InvalidArgument: name, size, or a new secret without roles.
  absl::StatusOr<uint32_t> Set(absl::string_view name, const SecretBuffer& value,
                               const std::vector<std::string>& roles, const Actor& actor);
  // AlreadyExists unless `replace`. Like Set, FailedPrecondition while a rotation is in progress.
  absl::StatusOr<uint32_t> Generate(absl::string_view name, uint32_t bytes, bool replace,
                                    const std::vector<std::string>& roles, const Actor& actor);
  // Replaces the roles that may read it. NotFound: there is no such secret.
  absl::Status SetRoles(absl::string_view name, const std::vector<std::string>& roles,
                        const Actor& actor);
  // FailedPrecondition while a rotation is in progress. NotFound: there is no such secret.
  absl::Status Remove(absl::string_view name, const Actor& actor);
  // Generates a new value and puts it in place of the current one at once; `bytes` 0: the same
  // size. NotFound: there is no such secret.
  absl::StatusOr<uint32_t> Replace(absl::string_view name, uint32_t bytes, const Actor& actor);

  // Rotations: the next value waits beside the current one until all nodes have it. Generates the
  // next value, as Replace() does. FailedPrecondition: a rotation is already in progress.
  absl::StatusOr<RotationRecord> BeginRotation(absl::string_view name, uint32_t bytes,
                                               const std::string& playbook,
                                               const std::string& node_limit, const Actor& actor);
  // NotFound: no rotation is in progress.
  absl::StatusOr<RotationRecord> FindRotation(absl::string_view name);
  // Continues with other nodes.
  absl::StatusOr<RotationRecord> ResumeRotation(absl::string_view name,
                                                const std::string& node_limit, const Actor& actor);
  // Advances from staging to switching, from switching to the end, where the next value becomes the
  // current one, or from reverting to the end, where it is discarded; nullopt at an end. `check`
  // may refuse, in the same transaction.
  using AdvanceCheck = absl::FunctionRef<absl::Status(Transaction&, const RotationRecord&)>;
  absl::StatusOr<std::optional<RotationRecord>> AdvanceRotation(absl::string_view name,
                                                                AdvanceCheck check,
                                                                const Actor& actor);
  // Discards the next value while it is staged, and returns nullopt. Later the nodes must go back:
  // then the rotation is reverting, with `node_limit`, and GetNext() gives the current value.
  absl::StatusOr<std::optional<RotationRecord>> AbandonRotation(absl::string_view name,
                                                                const std::string& node_limit,
                                                                const Actor& actor);
  absl::StatusOr<std::vector<SecretInfo>> List();
  SecretReaders readers() const { return readers_; }

 private:
  SecretStore(Store& store, Clock& clock, SecretBox box, SecretReaders readers)
      : store_(store), clock_(clock), box_(std::move(box)), readers_(readers) {}

  // As controller::CheckReader(), where roles are enforced.
  absl::Status CheckReader(const SecretRecord& secret, const SecretReader& reader) const;
  // The content of the row's roles when `roles` were named, on top of its previous content.
  absl::StatusOr<std::string> RolesOf(Transaction& txn, absl::string_view name,
                                      const std::vector<std::string>& roles) const;

  // Applies `change` to the rotation and stores it.
  absl::StatusOr<RotationRecord> ChangeRotation(
      absl::string_view name, absl::string_view action, const Actor& actor,
      absl::FunctionRef<absl::Status(Transaction&, RotationRecord&)> change);
  // Has `bytes` bytes, or the size that the secret has now.
  absl::StatusOr<SecretBuffer> RandomValue(Transaction& txn, absl::string_view name,
                                           uint32_t bytes);
  // `roles` as from JoinRoles(); empty: keeps the present ones.
  absl::StatusOr<uint32_t> PutNext(Transaction& txn, absl::string_view name,
                                   absl::string_view value, const std::string& roles,
                                   absl::string_view action, const Actor& actor);

  Store& store_;
  Clock& clock_;
  const SecretBox box_;
  const SecretReaders readers_;
};

}  // namespace muster::controller
