#include "controller/secret/secret_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/playbook/secret_readers.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxNameBytes = 128;
constexpr uint32_t kMinGeneratedBytes = 16;

absl::Status CheckName(absl::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxNameBytes &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not a valid name of a secret: expected 1 to ", kMaxNameBytes,
                   " letters, digits, '_', '-', '.'"));
}

absl::Status CheckGeneratedSize(absl::string_view name, uint32_t bytes) {
  if (bytes >= kMinGeneratedBytes && bytes <= kMaxSecretBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("secret ", name, ": ", bytes,
                                                 " random bytes; expected ", kMinGeneratedBytes,
                                                 " to ", kMaxSecretBytes));
}

absl::Status Audit(Transaction& txn, absl::Time now, absl::string_view action,
                   absl::string_view name, std::string detail, const Actor& actor) {
  return Audit(txn, now, actor, std::string(action), std::string(name), std::move(detail));
}

absl::StatusOr<SecretRecord> MustGet(Transaction& txn, absl::string_view name) {
  absl::StatusOr<SecretRecord> secret = txn.secrets().Get(name);
  if (!absl::IsNotFound(secret.status())) return secret;
  return absl::NotFoundError(
      absl::StrCat("there is no secret '", name, "'; see `muster secret list`"));
}

// A value must not be changed during its rotation.
absl::Status RefuseRotating(Transaction& txn, absl::string_view name) {
  const absl::StatusOr<RotationRecord> rotation = txn.rotations().Get(name);
  if (absl::IsNotFound(rotation.status())) return absl::OkStatus();
  RETURN_IF_ERROR(rotation.status());
  return absl::FailedPreconditionError(
      absl::StrCat("a rotation of secret '", name, "' that ", rotation->started_by,
                   " started is still running; end it first: `muster secret rotate ", name,
                   " --resume` or --abandon"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SecretStore>> SecretStore::Open(
    Store& store, Clock& clock, sys::FileSystem& files, const std::string& credentials_directory,
    const std::string& key_path, SecretReaders readers) {
  std::vector<SecretRecord> secrets;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(secrets, txn.secrets().List());
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(SecretKey key, LoadSecretKey(files, credentials_directory, key_path,
                                                /*may_create=*/secrets.empty()));
  ASSIGN_OR_RETURN(SecretBox box, SecretBox::Create(std::move(key.key)));
  if (!secrets.empty()) {
    const SecretRecord& first = secrets.front();
    RETURN_IF_ERROR(Annotate(box.Open(first.name, first.version, first.sealed).status(),
                             absl::StrCat("key ", key.source)));
  }
  return std::unique_ptr<SecretStore>(new SecretStore(store, clock, std::move(box), readers));
}

absl::StatusOr<uint32_t> SecretStore::PutNext(Transaction& txn, absl::string_view name,
                                              absl::string_view value, const std::string& roles,
                                              absl::string_view action, const Actor& actor) {
  SecretRecord record;
  record.name = std::string(name);
  const absl::StatusOr<SecretRecord> old = txn.secrets().Get(name);
  if (!old.ok() && !absl::IsNotFound(old.status())) return old.status();
  record.version = old.ok() ? old->version + 1 : 1;
  ASSIGN_OR_RETURN(record.sealed, box_.Seal(name, record.version, value));
  record.updated_at = clock_.Now();
  record.updated_by = actor.name;
  record.roles = !roles.empty() ? roles : old.ok() ? old->roles : kAnyRole;
  RETURN_IF_ERROR(txn.secrets().Put(record));
  RETURN_IF_ERROR(Audit(txn, record.updated_at, action, name,
                        absl::StrCat("version ", record.version, " for ", record.roles), actor));
  return record.version;
}

absl::Status SecretStore::CheckReader(const SecretRecord& secret,
                                      const SecretReader& reader) const {
  if (readers_ == SecretReaders::kAny) return absl::OkStatus();
  return controller::CheckReader(secret.name, secret.roles, reader);
}

absl::StatusOr<std::string> SecretStore::RolesOf(Transaction& txn, absl::string_view name,
                                                 const std::vector<std::string>& roles) const {
  if (!roles.empty()) return JoinRoles(roles);
  const absl::Status old = txn.secrets().Get(name).status();
  if (old.ok()) return std::string();
  if (!absl::IsNotFound(old)) return old;
  if (readers_ == SecretReaders::kAny) return std::string(kAnyRole);
  return absl::InvalidArgumentError(
      absl::StrCat("secret ", name,
                   " is new: specify the roles of playbooks that may read it with --roles ROLE,… "
                   "(`tasks`: a play's own tasks; '*': every role)"));
}

absl::StatusOr<std::string> SecretStore::Get(absl::string_view name,
                                             std::optional<uint32_t> generate_bytes,
                                             const SecretReader& reader) {
  RETURN_IF_ERROR(CheckName(name));
  if (generate_bytes.has_value()) RETURN_IF_ERROR(CheckGeneratedSize(name, *generate_bytes));
  std::string value;
  const auto read = [&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const SecretRecord record, txn.secrets().Get(name));
    RETURN_IF_ERROR(CheckReader(record, reader));
    ASSIGN_OR_RETURN(const SecretBuffer opened,
                     box_.Open(record.name, record.version, record.sealed));
    value = std::string(opened.Reveal());
    return absl::OkStatus();
  };
  absl::Status status = store_.View(read);
  if (!absl::IsNotFound(status)) return status.ok() ? absl::StatusOr<std::string>(value) : status;
  if (!generate_bytes.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("there is no secret '", name, "'; set it with `muster secret set ", name,
                     "` or let the template make it: secret('", name, "', bytes=32)"));
  }
  // Two compilations may want it at once: the second reads what the first has made.
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    const absl::Status found = read(txn);
    if (!absl::IsNotFound(found)) return found;
    ASSIGN_OR_RETURN(const std::string roles, JoinRoles({reader.role}));
    value = RandomBytes(*generate_bytes);
    return PutNext(txn, name, value, roles, "secret.generate", {"controller", ""}).status();
  }));
  return value;
}

absl::StatusOr<uint32_t> SecretStore::Set(absl::string_view name, const SecretBuffer& value,
                                          const std::vector<std::string>& roles,
                                          const Actor& actor) {
  RETURN_IF_ERROR(CheckName(name));
  if (value.size() == 0 || value.size() > kMaxSecretBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "secret ", name, " has ", value.size(), " bytes; 1 to ", kMaxSecretBytes, " are allowed"));
  }
  uint32_t version = 0;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(RefuseRotating(txn, name));
    ASSIGN_OR_RETURN(const std::string readers, RolesOf(txn, name, roles));
    ASSIGN_OR_RETURN(version, PutNext(txn, name, value.Reveal(), readers, "secret.set", actor));
    return absl::OkStatus();
  }));
  return version;
}

absl::StatusOr<uint32_t> SecretStore::Generate(absl::string_view name, uint32_t bytes, bool replace,
                                               const std::vector<std::string>& roles,
                                               const Actor& actor) {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(CheckGeneratedSize(name, bytes));
  const SecretBuffer value(RandomBytes(bytes));
  uint32_t version = 0;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(RefuseRotating(txn, name));
    const absl::Status old = txn.secrets().Get(name).status();
    if (old.ok() && !replace) {
      return absl::AlreadyExistsError(
          absl::StrCat("secret '", name, "' already exists; pass --replace to replace it"));
    }
    if (!old.ok() && !absl::IsNotFound(old)) return old;
    ASSIGN_OR_RETURN(const std::string readers, RolesOf(txn, name, roles));
    ASSIGN_OR_RETURN(version,
                     PutNext(txn, name, value.Reveal(), readers, "secret.generate", actor));
    return absl::OkStatus();
  }));
  return version;
}

absl::Status SecretStore::SetRoles(absl::string_view name, const std::vector<std::string>& roles,
                                   const Actor& actor) {
  if (roles.empty())
    return absl::InvalidArgumentError("specify the roles that may read it; '*' means every role");
  ASSIGN_OR_RETURN(const std::string joined, JoinRoles(roles));
  return store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(SecretRecord record, MustGet(txn, name));
    const std::string before = std::exchange(record.roles, joined);
    RETURN_IF_ERROR(txn.secrets().Put(record));
    return Audit(txn, clock_.Now(), "secret.roles", name, absl::StrCat(before, " -> ", joined),
                 actor);
  });
}

absl::Status SecretStore::Remove(absl::string_view name, const Actor& actor) {
  return store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(RefuseRotating(txn, name));
    ASSIGN_OR_RETURN(const SecretRecord record, MustGet(txn, name));
    RETURN_IF_ERROR(txn.secrets().Delete(name));
    return Audit(txn, clock_.Now(), "secret.remove", name,
                 absl::StrCat("version ", record.version, " of ", record.roles), actor);
  });
}

absl::StatusOr<std::vector<SecretInfo>> SecretStore::List() {
  std::vector<SecretInfo> infos;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<SecretRecord> records, txn.secrets().List());
    for (const SecretRecord& record : records) {
      SecretInfo& info = infos.emplace_back();
      info = {record.name,       record.version, record.updated_at,
              record.updated_by, std::nullopt,   record.roles};
      absl::StatusOr<RotationRecord> rotation = txn.rotations().Get(record.name);
      if (absl::IsNotFound(rotation.status())) continue;
      RETURN_IF_ERROR(rotation.status());
      rotation->sealed.clear();
      info.rotation = *std::move(rotation);
    }
    return absl::OkStatus();
  }));
  return infos;
}

}  // namespace muster::controller
