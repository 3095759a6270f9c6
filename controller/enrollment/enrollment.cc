// Joining: from a token and a CSR to a certificate.
#include "controller/enrollment/enrollment.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/peer.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/join_token.h"
#include "controller/enrollment/name_rules.h"
#include "controller/store/store.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxTokenBytes = 128;
// The most machines that wait for one name by tokens of their own asking. One that boots again and
// again waits once, and is in the audit log once an hour.
constexpr size_t kMaxWaiting = 4;
constexpr absl::Duration kAgain = absl::Hours(1);

absl::Status Validate(const JoinRequest& request) {
  if (request.token.size() > kMaxTokenBytes)
    return absl::InvalidArgumentError("this is not a join token");
  if (!IsUuid(request.node_uuid))
    return absl::InvalidArgumentError("node_uuid is not a lower-case UUID");
  RETURN_IF_ERROR(ValidateNodeName(request.node_name));
  return pki::ParseCsr(request.csr_pem).status();
}

// PermissionDenied with the reason for the log, unless the token is valid for the name.
absl::Status CheckToken(const absl::StatusOr<TokenRecord>& token, absl::string_view node_name,
                        absl::Time now) {
  if (absl::IsNotFound(token.status())) return absl::PermissionDeniedError("unknown token");
  RETURN_IF_ERROR(token.status());
  const auto deny = [&](absl::string_view why) {
    return absl::PermissionDeniedError(absl::StrCat("token ", token->token_id, " ", why));
  };
  if (token->node_name != node_name)
    return deny(absl::StrCat("is for ", token->node_name, ", not for ", node_name));
  if (token->revoked_at.has_value()) return deny("is revoked");
  if (token->used_at.has_value())
    return deny(
        absl::StrCat("was used at ", absl::FormatTime(*token->used_at, absl::UTCTimeZone())));
  if (token->expires_at <= now)
    return deny(
        absl::StrCat("expired at ", absl::FormatTime(token->expires_at, absl::UTCTimeZone())));
  return absl::OkStatus();
}

JoinResult ResultOf(const EnrollmentRecord& enrollment) {
  JoinResult result;
  result.enrollment_id = enrollment.enrollment_id;
  result.certificate_pem = enrollment.certificate_pem;
  result.state = enrollment.rejected                  ? JoinResult::kRejected
                 : enrollment.certificate_pem.empty() ? JoinResult::kPending
                                                      : JoinResult::kApproved;
  return result;
}

}  // namespace

Enrollment::Enrollment(Store& store, const CertificateAuthority& ca, Denylist& denylist,
                       Clock& clock, Hooks hooks)
    : store_(store), ca_(ca), denylist_(denylist), clock_(clock), hooks_(std::move(hooks)) {}

absl::StatusOr<JoinResult> Enrollment::Join(const JoinRequest& request) {
  const absl::Time now = clock_.Now();
  if (!limiter_.MayTry(request.peer, now))
    return absl::ResourceExhaustedError(
        "too many failed attempts from this address; wait a minute and try again");
  if (absl::Status valid = Validate(request); !valid.ok()) {
    limiter_.Failed(request.peer, now);
    return valid;
  }
  const bool known_name = hooks_.is_known_name(request.node_name);
  JoinResult result;
  std::vector<Denied> denied;
  const absl::Status joined = store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(result, JoinIn(txn, request, known_name, now, &denied));
    return absl::OkStatus();
  });
  if (!joined.ok()) return Refuse(request.peer, request.node_name, joined, now);
  Enforce(denied);
  return result;
}

absl::StatusOr<JoinResult> Enrollment::JoinIn(Transaction& txn, const JoinRequest& request,
                                              bool known_name, absl::Time now,
                                              std::vector<Denied>* denied) {
  const std::string hash = HashJoinToken(request.token);
  const absl::StatusOr<TokenRecord> token = txn.tokens().GetByHash(hash);
  ASSIGN_OR_RETURN(std::vector<EnrollmentRecord> related,
                   txn.enrollments().ListRelated(request.node_name, request.node_uuid, hash));
  if (token.ok() && token->used_at.has_value() && !token->revoked_at.has_value()) {
    // The same machine again: it did not receive the answer. The certificate is only useful with
    // its key.
    for (const EnrollmentRecord& enrollment : related) {
      if (enrollment.token_hash != hash || enrollment.node_uuid != request.node_uuid ||
          enrollment.node_name != request.node_name || enrollment.csr_pem != request.csr_pem ||
          token->expires_at <= now) {
        continue;
      }
      const absl::StatusOr<NodeRecord> node = txn.nodes().Get(request.node_uuid);
      if (node.ok() && node->state == NodeRecord::kRemoved) break;
      if (enrollment.certificate_pem.empty()) return ResultOf(enrollment);
      ASSIGN_OR_RETURN(const EnrollmentRecord fresh, Refresh(txn, enrollment, request.peer, now));
      return ResultOf(fresh);
    }
  }
  RETURN_IF_ERROR(CheckToken(token, request.node_name, now));
  // Whoever has opened a token that was sealed for a TPM is that machine, and no other; whoever was
  // recognized by its MAC address counts as it.
  const bool is_proven = !token->node_uuid.empty();
  if (is_proven && request.node_uuid != token->node_uuid)
    return absl::PermissionDeniedError(
        absl::StrCat("token ", token->token_id, " is for the machine ", token->node_uuid));
  if (!known_name)
    return absl::FailedPreconditionError(absl::StrCat("node ", request.node_name,
                                                      " is no longer in the inventory; add it and ",
                                                      "run `muster inventory apply`"));
  const absl::StatusOr<NodeRecord> known = txn.nodes().Get(request.node_uuid);
  if (known.ok() && !is_proven)
    return absl::FailedPreconditionError(absl::StrCat(
        "this machine's uuid belongs to ", known->name,
        known->state == NodeRecord::kRemoved ? ", which was removed" : ", which is enrolled",
        "; remove /var/lib/muster/node.uuid on this machine, so that it takes a new one, and join ",
        "again"));
  if (!known.ok() && !absl::IsNotFound(known.status())) return known.status();
  const bool is_requested = !token->requested_from.empty();
  bool is_news = true;
  if (is_requested) {
    ASSIGN_OR_RETURN(is_news, MakeRoom(txn, *token, request.peer, now, &related));
  }
  for (const EnrollmentRecord& other : related) {
    if (other.node_uuid == request.node_uuid && IsWaiting(other))
      return absl::FailedPreconditionError(
          absl::StrCat("this machine is already waiting for approval as ", other.node_name,
                       "; run `muster node approve ", other.node_name, "`"));
  }

  EnrollmentRecord enrollment;
  enrollment.enrollment_id = NewUuid();
  enrollment.token_hash = hash;
  enrollment.node_uuid = request.node_uuid;
  enrollment.node_name = request.node_name;
  enrollment.csr_pem = request.csr_pem;
  enrollment.description = CleanDescription(request.description);
  enrollment.peer = request.peer;
  enrollment.requested_at = now;
  enrollment.endorsement_key = token->endorsement_key;
  enrollment.requested = is_requested;
  const Actor actor = NodeActor(request.node_uuid, request.peer);
  RETURN_IF_ERROR(txn.tokens().MarkUsed(token->token_id, now));
  if (token->require_approval) {
    RETURN_IF_ERROR(txn.enrollments().Put(enrollment));
    if (is_news)
      RETURN_IF_ERROR(
          Audit(txn, now, actor, "node.wait", request.node_name,
                absl::StrCat("token ", token->token_id, ", key ", FingerprintOf(enrollment),
                             WithTpm(enrollment), ": ", enrollment.description)));
  } else {
    RETURN_IF_ERROR(Admit(txn, enrollment, actor, now, denied));
  }
  return ResultOf(enrollment);
}

absl::StatusOr<bool> Enrollment::MakeRoom(Transaction& txn, const TokenRecord& token,
                                          absl::string_view peer, absl::Time now,
                                          std::vector<EnrollmentRecord>* related) {
  bool is_news = true;
  size_t others = 0;
  std::vector<EnrollmentRecord> remaining;
  for (EnrollmentRecord& other : *related) {
    const bool is_rival = other.requested && other.node_name == token.node_name;
    const bool is_same_machine =
        is_rival && other.endorsement_key == token.endorsement_key &&
        (!other.endorsement_key.empty() || PeerHost(other.peer) == PeerHost(peer));
    if (is_same_machine) {
      if (IsWaiting(other) && now <= other.requested_at + kAgain) is_news = false;
      RETURN_IF_ERROR(txn.enrollments().Delete(other.enrollment_id));
      continue;
    }
    others += is_rival && IsWaiting(other);
    remaining.push_back(std::move(other));
  }
  *related = std::move(remaining);
  if (token.require_approval && others >= kMaxWaiting)
    return absl::ResourceExhaustedError(absl::StrCat(
        others, " machines wait as ", token.node_name, " already; `muster node approve ",
        token.node_name, "` admits one, `muster node remove ", token.node_name,
        " --membership-only` rejects them"));
  return is_news;
}

absl::StatusOr<JoinResult> Enrollment::GetJoin(absl::string_view enrollment_id,
                                               absl::string_view token, absl::string_view peer) {
  const absl::Time now = clock_.Now();
  if (!limiter_.MayTry(peer, now))
    return absl::ResourceExhaustedError(
        "too many failed attempts from this address; wait a minute and try again");
  JoinResult result;
  const absl::Status found = store_.Update([&](Transaction& txn) -> absl::Status {
    absl::StatusOr<EnrollmentRecord> enrollment = txn.enrollments().Get(enrollment_id);
    if (absl::IsNotFound(enrollment.status()))
      return absl::PermissionDeniedError("unknown enrollment");
    RETURN_IF_ERROR(enrollment.status());
    if (token.size() > kMaxTokenBytes ||
        !ConstantTimeEquals(enrollment->token_hash, HashJoinToken(token)))
      return absl::PermissionDeniedError("the token belongs to another enrollment");
    if (!enrollment->certificate_pem.empty()) {
      ASSIGN_OR_RETURN(*enrollment, Refresh(txn, *std::move(enrollment), peer, now));
    }
    result = ResultOf(*enrollment);
    return absl::OkStatus();
  });
  if (!found.ok()) return Refuse(peer, "", found, now);
  return result;
}

absl::StatusOr<EnrollmentRecord> Enrollment::Refresh(Transaction& txn, EnrollmentRecord enrollment,
                                                     absl::string_view peer, absl::Time now) {
  const absl::StatusOr<NodeRecord> node = txn.nodes().Get(enrollment.node_uuid);
  if (!node.ok() || node->state == NodeRecord::kRemoved || !node->locked_because.empty())
    return absl::PermissionDeniedError("the machine was removed or locked meanwhile");
  ASSIGN_OR_RETURN(const pki::Certificate issued,
                   pki::ParseCertificate(enrollment.certificate_pem));
  const absl::StatusOr<TokenRecord> token = txn.tokens().GetByHash(enrollment.token_hash);
  const bool may_have_another = token.ok() && !token->revoked_at.has_value() &&
                                token->expires_at > now && !node->last_seen_at.has_value();
  if (!may_have_another && issued.not_after <= now)
    return absl::PermissionDeniedError(
        absl::StrCat("the certificate of this enrollment expired at ",
                     absl::FormatTime(issued.not_after, absl::UTCTimeZone()),
                     " and its token is not good for another one"));
  const bool is_late = issued.not_after - now < CertificateAuthority::kNodeLifetime / 2;
  if (!may_have_another || !is_late) return enrollment;
  ASSIGN_OR_RETURN(IssuedCertificate fresh,
                   ca_.IssueNode(enrollment.csr_pem, node->uuid, node->name, now));
  RETURN_IF_ERROR(txn.certificates().Insert(fresh.record));
  enrollment.certificate_pem = std::move(fresh.pem);
  RETURN_IF_ERROR(txn.enrollments().Put(enrollment));
  const Actor actor = NodeActor(node->uuid, peer);
  RETURN_IF_ERROR(Audit(txn, now, actor, "node.enroll_late", node->name,
                        absl::StrCat("certificate ", fresh.record.serial)));
  return enrollment;
}

absl::Status Enrollment::Refuse(absl::string_view peer, absl::string_view subject,
                                const absl::Status& reason, absl::Time now) {
  const bool is_callers_fault =
      absl::IsPermissionDenied(reason) || absl::IsFailedPrecondition(reason);
  if (!is_callers_fault) return reason;
  limiter_.Failed(peer, now);
  if (const std::optional<std::string> before = refusals_.Note(peer, now); before.has_value()) {
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
      return Audit(
          txn, now, {"stranger", std::string(peer)}, "node.refuse", subject,
          absl::StrCat(reason.message(), before->empty() ? "" : "; before that, ", *before));
    }));
  }
  if (!absl::IsPermissionDenied(reason)) return reason;
  return absl::PermissionDeniedError(absl::StrCat(
      "token is not valid: it may be used, expired or for another node; make a new one with ",
      "`muster token create --nodes ", subject.empty() ? "NAME" : subject, "`"));
}

}  // namespace muster::controller
