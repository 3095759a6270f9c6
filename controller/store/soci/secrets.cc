#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        SecretRecord& secret) {
  return (session.prepare << "SELECT name, version, sealed, updated_at, updated_by, roles "
                             "FROM secrets "
                          << where,
          into(secret.name), into(secret.version), into(secret.sealed), into(secret.updated_at),
          into(secret.updated_by), into(secret.roles));
}

}  // namespace

absl::StatusOr<SecretRecord> SociSecretTable::Get(absl::string_view name) {
  return Guard(context_.path, "secrets.Get", [&]() -> absl::StatusOr<SecretRecord> {
    SecretRecord secret;
    const std::string key(name);
    soci::statement statement = (Select(context_.session, "WHERE name = :name", secret), use(key));
    if (ReadOne(statement)) return secret;
    return absl::NotFoundError(absl::StrCat("no secret ", name));
  });
}

absl::StatusOr<std::vector<SecretRecord>> SociSecretTable::List() {
  return Guard(context_.path, "secrets.List", [&]() -> absl::StatusOr<std::vector<SecretRecord>> {
    SecretRecord secret;
    soci::statement statement = Select(context_.session, "ORDER BY name", secret);
    return ReadAll(statement, secret);
  });
}

absl::Status SociSecretTable::Put(const SecretRecord& secret) {
  return Guard(context_.path, "secrets.Put", [&]() -> absl::Status {
    context_.session << "INSERT INTO secrets (name, version, sealed, updated_at, updated_by, "
                        "roles) VALUES (:name, :version, CAST(:sealed AS BLOB), :at, :by, :roles) "
                        "ON CONFLICT (name) DO UPDATE SET version = excluded.version, "
                        "sealed = excluded.sealed, updated_at = excluded.updated_at, "
                        "updated_by = excluded.updated_by, roles = excluded.roles",
        use(secret.name), use(secret.version), use(secret.sealed), use(secret.updated_at),
        use(secret.updated_by), use(secret.roles);
    return absl::OkStatus();
  });
}

absl::Status SociSecretTable::Delete(absl::string_view name) {
  return Guard(context_.path, "secrets.Delete", [&]() -> absl::Status {
    const std::string key(name);
    context_.session << "DELETE FROM secrets WHERE name = :name", use(key);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
