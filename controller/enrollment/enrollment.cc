// Joining: from a token and a CSR to a certificate.
#include "controller/enrollment/enrollment.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

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
#include "controller/enrollment/key_line.h"
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

// The answer to a machine that may not have received it. PermissionDenied: what was signed for it
// is of no use any more.
absl::StatusOr<JoinResult> Answer(const EnrollmentRecord& enrollment,
                                  const absl::StatusOr<NodeRecord>& node, absl::Time now) {
  // A certificate lasts longer than any token, so the one of the approval is good for a machine
  // that asks late. It is only useful with its key.
  static_assert(Enrollment::kMaxTtl < CertificateAuthority::kNodeLifetime);
  if (enrollment.certificate_pem.empty()) return ResultOf(enrollment);
  if (!CheckMember(node).ok())
    return absl::PermissionDeniedError("the machine was removed or locked meanwhile");
  ASSIGN_OR_RETURN(const pki::Certificate issued,
                   pki::ParseCertificate(enrollment.certificate_pem));
  if (issued.not_after <= now)
    return absl::PermissionDeniedError(
        absl::StrCat("the certificate of this enrollment expired at ",
                     absl::FormatTime(issued.not_after, absl::UTCTimeZone())));
  return ResultOf(enrollment);
}

// The newest enrollment of the same machine under the same name with the same CSR, whatever its
// token was; nullptr: there is none. What it was given is only useful with the key of that CSR.
EnrollmentRecord* FindOwn(std::vector<EnrollmentRecord>& related, const JoinRequest& request) {
  EnrollmentRecord* own = nullptr;
  for (EnrollmentRecord& each : related) {
    if (each.node_uuid == request.node_uuid && each.node_name == request.node_name &&
        each.csr_pem == request.csr_pem)
      own = &each;
  }
  return own;
}

// Whether the node's machine proves by its TPM or MAC address at each boot that it is the node.
bool ProvesItself(const NodeRecord& node, const std::vector<EnrollmentRecord>& related) {
  return !node.endorsement_key.empty() ||
         std::any_of(related.begin(), related.end(), [&](const EnrollmentRecord& each) {
           return each.requested && each.node_uuid == node.uuid;
         });
}

// OK if a machine that shows nothing but its token may enroll with the uuid: nobody has it, or the
// token is a person's for the node that has it, and the certificates of that node have all expired.
// AlreadyExists: one of them is still valid, so the machine has no reason to join again.
// FailedPrecondition: it is another node, one that was removed, or one that proves itself
// otherwise.
absl::Status CheckUuid(Transaction& txn, const absl::StatusOr<NodeRecord>& known,
                       const TokenRecord& token, const std::vector<EnrollmentRecord>& related,
                       absl::Time now) {
  if (!known.ok()) return absl::OkStatus();
  if (token.requested_from.empty() && known->name == token.node_name && CheckMember(known).ok() &&
      !ProvesItself(*known, related)) {
    ASSIGN_OR_RETURN(const std::vector<CertificateRecord> line,
                     txn.certificates().ListByNode(known->uuid));
    const auto last = std::max_element(line.begin(), line.end(),
                                       [](const CertificateRecord& a, const CertificateRecord& b) {
                                         return a.not_after < b.not_after;
                                       });
    if (last == line.end() || last->not_after <= now) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat("this machine is ", known->name, ", and its certificate is valid until ",
                     absl::FormatTime(last->not_after, absl::UTCTimeZone()),
                     "; set its clock, or pass --force to join again under a new identity"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "this machine's uuid belongs to ", known->name,
      known->state == NodeRecord::kRemoved ? ", which was removed" : ", which is enrolled",
      "; remove /var/lib/muster/join.uuid on this machine and join again, as a new machine"));
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
  EnrollmentRecord* const own = FindOwn(related, request);
  if (own != nullptr && own->token_hash == hash && token.ok() && token->used_at.has_value() &&
      !token->revoked_at.has_value() && token->expires_at > now) {
    const absl::StatusOr<NodeRecord> node = txn.nodes().Get(request.node_uuid);
    if (!node.ok() || node->state != NodeRecord::kRemoved) return Answer(*own, node, now);
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
  if (!known.ok() && !absl::IsNotFound(known.status())) return known.status();
  const bool is_requested = !token->requested_from.empty();
  const Actor actor = NodeActor(request.node_uuid, request.peer);
  // Whether a person has made another token for a machine whose join did not come to its end.
  const bool is_again = own != nullptr && !own->requested && !is_requested;
  if (is_again && !own->certificate_pem.empty() && known.ok() && !known->last_seen_at.has_value()) {
    if (absl::StatusOr<JoinResult> given = Answer(*own, known, now); given.ok()) {
      own->token_hash = hash;
      RETURN_IF_ERROR(txn.tokens().MarkUsed(token->token_id, now));
      RETURN_IF_ERROR(txn.enrollments().Put(*own));
      RETURN_IF_ERROR(
          Audit(txn, now, actor, "node.enroll", request.node_name,
                absl::StrCat("machine ", request.node_uuid,
                             " gets its certificate again, by token ", token->token_id)));
      return given;
    }
  }
  if (!is_proven) RETURN_IF_ERROR(CheckUuid(txn, known, *token, related, now));
  bool is_news = true;
  if (is_requested) {
    ASSIGN_OR_RETURN(is_news, MakeRoom(txn, *token, request.peer, now, &related));
  }
  const std::string enrollment_id = is_again && IsWaiting(*own) ? own->enrollment_id : NewUuid();
  for (const EnrollmentRecord& other : related) {
    if (other.node_uuid == request.node_uuid && IsWaiting(other) &&
        other.enrollment_id != enrollment_id)
      return absl::AlreadyExistsError(
          absl::StrCat("this machine is already waiting for approval as ", other.node_name,
                       "; run `muster node approve ", other.node_name, "`"));
  }

  EnrollmentRecord enrollment;
  enrollment.enrollment_id = enrollment_id;
  enrollment.token_hash = hash;
  enrollment.node_uuid = request.node_uuid;
  enrollment.node_name = request.node_name;
  enrollment.csr_pem = request.csr_pem;
  enrollment.description = CleanDescription(request.description);
  enrollment.peer = request.peer;
  enrollment.requested_at = now;
  enrollment.endorsement_key = token->endorsement_key;
  enrollment.requested = is_requested;
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
  const absl::Status found = store_.View([&](Transaction& txn) -> absl::Status {
    const absl::StatusOr<EnrollmentRecord> enrollment = txn.enrollments().Get(enrollment_id);
    if (absl::IsNotFound(enrollment.status()))
      return absl::PermissionDeniedError("unknown enrollment");
    RETURN_IF_ERROR(enrollment.status());
    if (token.size() > kMaxTokenBytes ||
        !ConstantTimeEquals(enrollment->token_hash, HashJoinToken(token)))
      return absl::PermissionDeniedError("the token belongs to another enrollment");
    ASSIGN_OR_RETURN(result, Answer(*enrollment, txn.nodes().Get(enrollment->node_uuid), now));
    return absl::OkStatus();
  });
  if (!found.ok()) return Refuse(peer, "", found, now);
  return result;
}

absl::Status Enrollment::Refuse(absl::string_view peer, absl::string_view subject,
                                const absl::Status& reason, absl::Time now) {
  const bool is_callers_fault = absl::IsPermissionDenied(reason) ||
                                absl::IsFailedPrecondition(reason) || absl::IsAlreadyExists(reason);
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
