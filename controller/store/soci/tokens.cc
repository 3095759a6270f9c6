#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        TokenRecord& token) {
  return (session.prepare << "SELECT token_id, hash, node_name, require_approval, created_by, "
                             "created_at, expires_at, used_at, revoked_at, endorsement_key, "
                             "requested_from, node_uuid FROM tokens "
                          << where,
          into(token.token_id), into(token.hash), into(token.node_name),
          into(token.require_approval), into(token.created_by), into(token.created_at),
          into(token.expires_at), into(token.used_at), into(token.revoked_at),
          into(token.endorsement_key), into(token.requested_from), into(token.node_uuid));
}

absl::Status NotThere(absl::string_view token_id) {
  return absl::NotFoundError(absl::StrCat("no token ", token_id, "; see `muster token list`"));
}

}  // namespace

absl::Status SociTokenTable::Insert(const TokenRecord& token) {
  return Guard(context_.path, "tokens.Insert", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO tokens (token_id, hash, node_name, require_approval, "
           "created_by, created_at, expires_at, used_at, revoked_at, endorsement_key, "
           "requested_from, node_uuid) VALUES (:id, :hash, :node, :approval, :by, :created, "
           ":expires, :used, :revoked, :tpm, :from, :uuid)",
        use(token.token_id), use(token.hash), use(token.node_name), use(token.require_approval),
        use(token.created_by), use(token.created_at), use(token.expires_at), use(token.used_at),
        use(token.revoked_at), use(token.endorsement_key), use(token.requested_from),
        use(token.node_uuid);
    return absl::OkStatus();
  });
}

absl::StatusOr<TokenRecord> SociTokenTable::GetByHash(absl::string_view hash) {
  return Guard(context_.path, "tokens.GetByHash", [&]() -> absl::StatusOr<TokenRecord> {
    TokenRecord token;
    const std::string key(hash);
    soci::statement statement = (Select(context_.session, "WHERE hash = :hash", token), use(key));
    if (ReadOne(statement)) return token;
    return absl::NotFoundError("no such token");
  });
}

absl::StatusOr<std::vector<TokenRecord>> SociTokenTable::List() {
  return Guard(context_.path, "tokens.List", [&]() -> absl::StatusOr<std::vector<TokenRecord>> {
    TokenRecord token;
    soci::statement statement =
        Select(context_.session, "ORDER BY created_at, node_name, token_id", token);
    return ReadAll(statement, token);
  });
}

absl::StatusOr<std::vector<TokenRecord>> SociTokenTable::ListRequested(
    absl::string_view node_name) {
  return Guard(context_.path, "tokens.ListRequested",
               [&]() -> absl::StatusOr<std::vector<TokenRecord>> {
                 TokenRecord token;
                 const std::string name(node_name);
                 soci::statement statement =
                     (Select(context_.session,
                             "WHERE requested_from <> '' AND node_name = :name AND used_at IS NULL "
                             "ORDER BY created_at, token_id",
                             token),
                      use(name));
                 return ReadAll(statement, token);
               });
}

absl::StatusOr<uint64_t> SociTokenTable::CountRequested() {
  return Guard(context_.path, "tokens.CountRequested", [&]() -> absl::StatusOr<uint64_t> {
    uint64_t count = 0;
    context_.session << "SELECT COUNT(*) FROM tokens WHERE requested_from <> '' AND "
                        "require_approval <> 0 AND used_at IS NULL",
        into(count);
    return count;
  });
}

absl::Status SociTokenTable::DeleteRequested(absl::Time now) {
  return Guard(context_.path, "tokens.DeleteRequested", [&]() -> absl::Status {
    context_.session << "DELETE FROM tokens WHERE requested_from <> '' AND expires_at <= :now",
        use(now);
    return absl::OkStatus();
  });
}

absl::Status SociTokenTable::Delete(absl::string_view token_id) {
  return Guard(context_.path, "tokens.Delete", [&]() -> absl::Status {
    const std::string key(token_id);
    context_.session << "DELETE FROM tokens WHERE token_id = :id", use(key);
    return absl::OkStatus();
  });
}

absl::Status SociTokenTable::MarkUsed(absl::string_view token_id, absl::Time now) {
  return Guard(context_.path, "tokens.MarkUsed", [&]() -> absl::Status {
    const std::string key(token_id);
    soci::statement statement =
        (context_.session.prepare << "UPDATE tokens SET used_at = :now WHERE token_id = :id",
         use(now), use(key));
    statement.execute(true);
    return statement.get_affected_rows() == 1 ? absl::OkStatus() : NotThere(token_id);
  });
}

absl::Status SociTokenTable::Revoke(absl::string_view token_id, absl::Time now) {
  return Guard(context_.path, "tokens.Revoke", [&]() -> absl::Status {
    const std::string key(token_id);
    soci::statement statement =
        (context_.session.prepare
             << "UPDATE tokens SET revoked_at = COALESCE(revoked_at, :now) WHERE token_id = :id",
         use(now), use(key));
    statement.execute(true);
    return statement.get_affected_rows() == 1 ? absl::OkStatus() : NotThere(token_id);
  });
}

}  // namespace muster::controller
