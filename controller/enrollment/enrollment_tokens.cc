// Join tokens: made, listed, revoked.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/join_token.h"
#include "controller/enrollment/name_rules.h"
#include "controller/store/store.h"

namespace muster::controller {
namespace {

// Removes settled enrollments; they are kept until then, so that a machine can ask again for a lost
// answer. That of a member which has proved itself stays: it tells how the node joins.
absl::Status ForgetSettled(Transaction& txn, absl::Time now) {
  ASSIGN_OR_RETURN(const std::vector<EnrollmentRecord> enrollments, txn.enrollments().List());
  for (const EnrollmentRecord& enrollment : enrollments) {
    bool is_over = enrollment.rejected && enrollment.requested_at + Enrollment::kMaxTtl < now;
    if (!enrollment.certificate_pem.empty()) {
      ASSIGN_OR_RETURN(const pki::Certificate issued,
                       pki::ParseCertificate(enrollment.certificate_pem));
      is_over = issued.not_after < now;
    }
    if (is_over && enrollment.requested) {
      const absl::StatusOr<NodeRecord> node = txn.nodes().Get(enrollment.node_uuid);
      if (!node.ok() && !absl::IsNotFound(node.status())) return node.status();
      is_over = !node.ok() || node->state == NodeRecord::kRemoved;
    }
    if (is_over) RETURN_IF_ERROR(txn.enrollments().Delete(enrollment.enrollment_id));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<NewToken>> Enrollment::CreateTokens(
    const std::vector<std::string>& node_names, absl::Duration ttl, bool require_approval,
    const Actor& actor) {
  if (ttl <= absl::ZeroDuration() || ttl > kMaxTtl)
    return absl::InvalidArgumentError("a token's ttl must be above 0 and at most 7 days (168h)");
  if (node_names.empty() || node_names.size() > kMaxTokensPerCall)
    return absl::InvalidArgumentError(
        absl::StrCat("specify 1 to ", kMaxTokensPerCall, " nodes, not ", node_names.size()));
  for (const std::string& name : node_names) {
    RETURN_IF_ERROR(ValidateNodeName(name));
    if (!hooks_.is_known_name(name))
      return absl::InvalidArgumentError(absl::StrCat(
          "node ", name, " is not in the inventory; add it and run `muster inventory apply`"));
  }
  const absl::Time now = clock_.Now();
  std::vector<NewToken> tokens;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(ForgetSettled(txn, now));
    for (const std::string& name : node_names) {
      NewToken token = {NewShortId("tok"), name, NewJoinToken(), now + ttl};
      TokenRecord record;
      record.token_id = token.token_id;
      record.hash = HashJoinToken(token.token);
      record.node_name = name;
      record.require_approval = require_approval;
      record.created_by = actor.name;
      record.created_at = now;
      record.expires_at = token.expires_at;
      RETURN_IF_ERROR(txn.tokens().Insert(record));
      RETURN_IF_ERROR(Audit(txn, now, actor, "token.create", name,
                            absl::StrCat(token.token_id, ", ttl ", absl::FormatDuration(ttl),
                                         require_approval ? ", needs approval" : "")));
      tokens.push_back(std::move(token));
    }
    return absl::OkStatus();
  }));
  return tokens;
}

absl::StatusOr<std::vector<TokenRecord>> Enrollment::ListTokens() {
  std::vector<TokenRecord> tokens;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(tokens, txn.tokens().List());
    return absl::OkStatus();
  }));
  return tokens;
}

absl::Status Enrollment::RevokeToken(absl::string_view token_id, const Actor& actor) {
  const absl::Time now = clock_.Now();
  return store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<TokenRecord> tokens, txn.tokens().List());
    for (const TokenRecord& token : tokens) {
      if (token.token_id != token_id) continue;
      if (token.used_at.has_value())
        return absl::FailedPreconditionError(
            absl::StrCat("token ", token_id, " was already used; to remove the machine run ",
                         "`muster node remove ", token.node_name, " --membership-only`"));
      if (token.revoked_at.has_value()) return absl::OkStatus();
      RETURN_IF_ERROR(txn.tokens().Revoke(token_id, now));
      return Audit(txn, now, actor, "token.revoke", token.node_name, token_id);
    }
    return absl::NotFoundError(
        absl::StrCat("there is no token ", token_id, "; see `muster token list`"));
  });
}

}  // namespace muster::controller
