#include "controller/secret/secret_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
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
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no name for a secret: 1 to ",
                                                 kMaxNameBytes, " letters, digits, '_', '-', '.'"));
}

absl::Status CheckGeneratedSize(absl::string_view name, uint32_t bytes) {
  if (bytes >= kMinGeneratedBytes && bytes <= kMaxSecretBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("secret ", name, ": ", bytes, " random bytes; ",
                                                 kMinGeneratedBytes, " to ", kMaxSecretBytes,
                                                 " can be made"));
}

// A value that is being exchanged must not change under it.
absl::Status RefuseRotating(Transaction& txn, absl::string_view name) {
  const absl::StatusOr<RotationRecord> rotation = txn.rotations().Get(name);
  if (absl::IsNotFound(rotation.status())) return absl::OkStatus();
  RETURN_IF_ERROR(rotation.status());
  return absl::FailedPreconditionError(absl::StrCat(
      "a rotation of secret '", name, "' that ", rotation->started_by,
      " began goes on; end it first: `muster secret rotate ", name, " --resume` or --abandon"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SecretStore>> SecretStore::Open(
    Store& store, Clock& clock, sys::FileSystem& files, const std::string& credentials_directory,
    const std::string& key_path) {
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
  return std::unique_ptr<SecretStore>(new SecretStore(store, clock, std::move(box)));
}

absl::StatusOr<uint32_t> SecretStore::PutNext(Transaction& txn, absl::string_view name,
                                              absl::string_view value, absl::string_view action,
                                              const SecretActor& actor) {
  SecretRecord record;
  record.name = std::string(name);
  const absl::StatusOr<SecretRecord> old = txn.secrets().Get(name);
  if (!old.ok() && !absl::IsNotFound(old.status())) return old.status();
  record.version = old.ok() ? old->version + 1 : 1;
  ASSIGN_OR_RETURN(record.sealed, box_.Seal(name, record.version, value));
  record.updated_at = clock_.Now();
  record.updated_by = actor.actor;
  RETURN_IF_ERROR(txn.secrets().Put(record));
  EventRecord event;
  event.time = record.updated_at;
  event.actor = actor.actor;
  event.peer = actor.peer;
  event.action = std::string(action);
  event.subject = record.name;
  event.detail = absl::StrCat("version ", record.version);
  RETURN_IF_ERROR(txn.events().Append(std::move(event)));
  return record.version;
}

absl::StatusOr<std::string> SecretStore::Get(absl::string_view name,
                                             std::optional<uint32_t> generate_bytes) {
  RETURN_IF_ERROR(CheckName(name));
  if (generate_bytes.has_value()) RETURN_IF_ERROR(CheckGeneratedSize(name, *generate_bytes));
  std::string value;
  const auto read = [&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const SecretRecord record, txn.secrets().Get(name));
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
  // Two compilations may want it at once: whoever comes second reads what the first one made.
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    const absl::Status found = read(txn);
    if (!absl::IsNotFound(found)) return found;
    value = RandomBytes(*generate_bytes);
    return PutNext(txn, name, value, "secret.generate", {"controller", ""}).status();
  }));
  return value;
}

absl::StatusOr<uint32_t> SecretStore::Set(absl::string_view name, const SecretBuffer& value,
                                          const SecretActor& actor) {
  RETURN_IF_ERROR(CheckName(name));
  if (value.size() == 0 || value.size() > kMaxSecretBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "secret ", name, " has ", value.size(), " bytes; 1 to ", kMaxSecretBytes, " are possible"));
  }
  uint32_t version = 0;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(RefuseRotating(txn, name));
    ASSIGN_OR_RETURN(version, PutNext(txn, name, value.Reveal(), "secret.set", actor));
    return absl::OkStatus();
  }));
  return version;
}

absl::StatusOr<uint32_t> SecretStore::Generate(absl::string_view name, uint32_t bytes, bool replace,
                                               const SecretActor& actor) {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(CheckGeneratedSize(name, bytes));
  const SecretBuffer value(RandomBytes(bytes));
  uint32_t version = 0;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(RefuseRotating(txn, name));
    const absl::Status old = txn.secrets().Get(name).status();
    if (old.ok() && !replace) {
      return absl::AlreadyExistsError(absl::StrCat(
          "there is a secret '", name, "' already; --replace makes a new one in its place"));
    }
    if (!old.ok() && !absl::IsNotFound(old)) return old;
    ASSIGN_OR_RETURN(version, PutNext(txn, name, value.Reveal(), "secret.generate", actor));
    return absl::OkStatus();
  }));
  return version;
}

absl::StatusOr<std::vector<SecretInfo>> SecretStore::List() {
  std::vector<SecretInfo> infos;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<SecretRecord> records, txn.secrets().List());
    for (const SecretRecord& record : records) {
      SecretInfo& info = infos.emplace_back();
      info = {record.name, record.version, record.updated_at, record.updated_by, std::nullopt};
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
