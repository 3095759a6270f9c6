// SecretStore: the replacement of a value by the next one.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/secret/secret_store.h"

namespace muster::controller {
namespace {

constexpr uint32_t kMinRotatedBytes = 16;

absl::Status AuditRotation(Transaction& txn, absl::Time now, absl::string_view action,
                           const RotationRecord& rotation, const Actor& actor) {
  return Audit(txn, now, actor, std::string(action), rotation.name,
               absl::StrCat("version ", rotation.version, " on ", rotation.node_limit));
}

absl::Status NoRotation(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("no rotation of secret '", name,
                                          "' is running; `muster secret rotate ", name,
                                          "` starts one"));
}

}  // namespace

absl::StatusOr<SecretBuffer> SecretStore::RandomValue(Transaction& txn, absl::string_view name,
                                                      uint32_t bytes) {
  const absl::StatusOr<SecretRecord> current = txn.secrets().Get(name);
  if (absl::IsNotFound(current.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no secret '", name, "'; see `muster secret list`"));
  }
  RETURN_IF_ERROR(current.status());
  if (bytes == 0) {
    ASSIGN_OR_RETURN(const SecretBuffer opened,
                     box_.Open(current->name, current->version, current->sealed));
    bytes = static_cast<uint32_t>(opened.size());
  }
  if (bytes < kMinRotatedBytes || bytes > kMaxSecretBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "secret ", name, ": ", bytes, " random bytes; expected ", kMinRotatedBytes, " to ",
        kMaxSecretBytes, "; replace a value that people chose with `muster secret set`"));
  }
  return SecretBuffer(RandomBytes(bytes));
}

absl::StatusOr<uint32_t> SecretStore::Replace(absl::string_view name, uint32_t bytes,
                                              const Actor& actor) {
  uint32_t version = 0;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    if (txn.rotations().Get(name).ok())
      return absl::FailedPreconditionError(absl::StrCat("a rotation of '", name, "' is running"));
    ASSIGN_OR_RETURN(const SecretBuffer value, RandomValue(txn, name, bytes));
    ASSIGN_OR_RETURN(version, PutNext(txn, name, value.Reveal(), "", "secret.rotate", actor));
    return absl::OkStatus();
  }));
  return version;
}

absl::StatusOr<std::string> SecretStore::GetNext(absl::string_view name,
                                                 const SecretReader& reader) {
  std::string value;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const RotationRecord rotation, txn.rotations().Get(name));
    ASSIGN_OR_RETURN(const SecretRecord current, txn.secrets().Get(name));
    // An administrator began the rotation with this playbook.
    if (reader.playbook != rotation.playbook) RETURN_IF_ERROR(CheckReader(current, reader));
    const bool is_back = rotation.phase == RotationRecord::kReverting;
    ASSIGN_OR_RETURN(const SecretBuffer opened,
                     box_.Open(name, is_back ? current.version : rotation.version,
                               is_back ? current.sealed : rotation.sealed));
    value = std::string(opened.Reveal());
    return absl::OkStatus();
  }));
  return value;
}

absl::StatusOr<RotationRecord> SecretStore::BeginRotation(absl::string_view name, uint32_t bytes,
                                                          const std::string& playbook,
                                                          const std::string& node_limit,
                                                          const Actor& actor) {
  RotationRecord rotation;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    const absl::StatusOr<RotationRecord> other = txn.rotations().Get(name);
    if (other.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "a rotation of '", name, "' that ", other->started_by,
          " started is still running; see `muster secret list`, then `muster secret rotate ", name,
          " --resume` or --abandon"));
    }
    if (!absl::IsNotFound(other.status())) return other.status();
    ASSIGN_OR_RETURN(const SecretBuffer value, RandomValue(txn, name, bytes));
    ASSIGN_OR_RETURN(const SecretRecord current, txn.secrets().Get(name));
    rotation.name = std::string(name);
    rotation.version = current.version + 1;
    // Sealed under its future version, so that it need not be opened to become current.
    ASSIGN_OR_RETURN(rotation.sealed, box_.Seal(name, rotation.version, value.Reveal()));
    rotation.playbook = playbook;
    rotation.node_limit = node_limit;
    rotation.started_at = rotation.phase_at = clock_.Now();
    rotation.started_by = actor.name;
    RETURN_IF_ERROR(txn.rotations().Put(rotation));
    return AuditRotation(txn, rotation.started_at, "secret.rotate.start", rotation, actor);
  }));
  return rotation;
}

absl::StatusOr<RotationRecord> SecretStore::FindRotation(absl::string_view name) {
  RotationRecord rotation;
  const absl::Status found = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(rotation, txn.rotations().Get(name));
    return absl::OkStatus();
  });
  if (absl::IsNotFound(found)) return NoRotation(name);
  RETURN_IF_ERROR(found);
  return rotation;
}

absl::StatusOr<RotationRecord> SecretStore::ChangeRotation(
    absl::string_view name, absl::string_view action, const Actor& actor,
    absl::FunctionRef<absl::Status(Transaction&, RotationRecord&)> change) {
  RotationRecord rotation;
  const absl::Status changed = store_.Update([&](Transaction& txn) -> absl::Status {
    absl::StatusOr<RotationRecord> stored = txn.rotations().Get(name);
    if (absl::IsNotFound(stored.status())) return NoRotation(name);
    RETURN_IF_ERROR(stored.status());
    rotation = *std::move(stored);
    RETURN_IF_ERROR(change(txn, rotation));
    RETURN_IF_ERROR(txn.rotations().Put(rotation));
    return AuditRotation(txn, clock_.Now(), action, rotation, actor);
  });
  RETURN_IF_ERROR(changed);
  return rotation;
}

absl::StatusOr<RotationRecord> SecretStore::ResumeRotation(absl::string_view name,
                                                           const std::string& node_limit,
                                                           const Actor& actor) {
  return ChangeRotation(name, "secret.rotate.resume", actor,
                        [&](Transaction&, RotationRecord& rotation) {
                          rotation.node_limit = node_limit;
                          rotation.phase_at = clock_.Now();
                          return absl::OkStatus();
                        });
}

absl::StatusOr<std::optional<RotationRecord>> SecretStore::AdvanceRotation(absl::string_view name,
                                                                           AdvanceCheck check,
                                                                           const Actor& actor) {
  std::optional<RotationRecord> left;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    absl::StatusOr<RotationRecord> rotation = txn.rotations().Get(name);
    if (absl::IsNotFound(rotation.status())) return NoRotation(name);
    RETURN_IF_ERROR(rotation.status());
    RETURN_IF_ERROR(check(txn, *rotation));
    const absl::Time now = clock_.Now();
    if (rotation->phase == RotationRecord::kStaging) {
      rotation->phase = RotationRecord::kSwitching;
      rotation->phase_at = now;
      RETURN_IF_ERROR(txn.rotations().Put(*rotation));
      left = *rotation;
      return AuditRotation(txn, now, "secret.rotate.switch", *rotation, actor);
    }
    RETURN_IF_ERROR(txn.rotations().Delete(name));
    if (rotation->phase == RotationRecord::kReverting)
      return AuditRotation(txn, now, "secret.rotate.reverted", *rotation, actor);
    ASSIGN_OR_RETURN(SecretRecord secret, txn.secrets().Get(name));
    secret.version = rotation->version;
    secret.sealed = rotation->sealed;
    secret.updated_at = now;
    secret.updated_by = actor.name;
    RETURN_IF_ERROR(txn.secrets().Put(secret));
    return AuditRotation(txn, now, "secret.rotate.finish", *rotation, actor);
  }));
  return left;
}

absl::StatusOr<std::optional<RotationRecord>> SecretStore::AbandonRotation(
    absl::string_view name, const std::string& node_limit, const Actor& actor) {
  std::optional<RotationRecord> left;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    absl::StatusOr<RotationRecord> rotation = txn.rotations().Get(name);
    if (absl::IsNotFound(rotation.status())) return NoRotation(name);
    RETURN_IF_ERROR(rotation.status());
    const absl::Time now = clock_.Now();
    if (rotation->phase == RotationRecord::kStaging) {
      RETURN_IF_ERROR(txn.rotations().Delete(name));
    } else {
      rotation->phase = RotationRecord::kReverting;
      rotation->phase_at = now;
      rotation->node_limit = node_limit;
      RETURN_IF_ERROR(txn.rotations().Put(*rotation));
      left = *rotation;
    }
    return AuditRotation(txn, now, "secret.rotate.abandon", *rotation, actor);
  }));
  return left;
}

}  // namespace muster::controller
