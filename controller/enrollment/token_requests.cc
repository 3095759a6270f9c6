#include "controller/enrollment/token_requests.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/peer.h"
#include "common/pki/endorsement_key.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/join_token.h"
#include "controller/enrollment/name_rules.h"
#include "controller/enrollment/trusted_network.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

// A name is the algorithm, SHA-256, and the digest (TPM 2.0 Library, part 1, 16).
constexpr absl::string_view kSha256Names("\x00\x0b", 2);
constexpr size_t kNameBytes = 34;
constexpr size_t kSecretBytes = 32;

// The key that the request shows; nullopt: none.
absl::StatusOr<std::optional<pki::EndorsementKey>> ReadKey(const TokenRequest& request) {
  RETURN_IF_ERROR(ValidateNodeName(request.node_name));
  if (request.endorsement_key_pem.empty()) return std::nullopt;
  if (request.key_name.size() != kNameBytes || !absl::StartsWith(request.key_name, kSha256Names))
    return absl::InvalidArgumentError("key_name is not the name of a TPM's key by SHA-256");
  ASSIGN_OR_RETURN(pki::EndorsementKey key, pki::ParseEndorsementKey(request.endorsement_key_pem));
  return key;
}

// PermissionDenied with the reason for the log.
absl::Status CheckRule(const TokenRequests::Rule& rule, absl::string_view endorsement_key) {
  const auto deny = [](absl::string_view why) { return absl::PermissionDeniedError(why); };
  if (!rule.may_ask) return deny("the inventory does not have machines join as this node alone");
  if (!rule.endorsement_key.empty() && rule.endorsement_key != endorsement_key)
    return deny(endorsement_key.empty()
                    ? "the inventory names a TPM, and the machine has shown none"
                    : absl::StrCat("the inventory names another TPM than ", endorsement_key));
  if (rule.needs_tpm && endorsement_key.empty())
    return deny("the inventory asks for a TPM, and the machine has shown none");
  return absl::OkStatus();
}

}  // namespace

TokenRequests::TokenRequests(Store& store, Clock& clock, Hooks hooks)
    : store_(store), clock_(clock), hooks_(std::move(hooks)) {}

absl::StatusOr<RequestedToken> TokenRequests::Request(const TokenRequest& request) {
  const absl::Time now = clock_.Now();
  if (!limiter_.MayTry(request.peer, now))
    return absl::ResourceExhaustedError(
        "too many attempts from this address; wait a minute and try again");
  // An honest machine asks once a boot. Others may ask a few times, and then now and again, also
  // with the public key of a TPM that is not theirs: sealing takes a process.
  limiter_.Failed(request.peer, now);
  ASSIGN_OR_RETURN(const std::optional<pki::EndorsementKey> key, ReadKey(request));
  const Rule rule = hooks_.rule_of(request.node_name);
  TokenRecord record;
  if (key.has_value()) record.endorsement_key = key->sha256;
  if (const absl::Status may = CheckRule(rule, record.endorsement_key); !may.ok())
    return Refuse(request, may, now);

  RequestedToken made;
  std::string token;
  if (key.has_value()) {
    const std::string secret = RandomBytes(kSecretBytes);
    const absl::MutexLock lock(&sealing_);
    ASSIGN_OR_RETURN(made.sealed, hooks_.seal(*key, request.key_name, secret));
    token = absl::BytesToHexString(secret);
  } else {
    token = made.token = NewJoinToken();
  }
  record.token_id = NewShortId("tok");
  record.hash = HashJoinToken(token);
  record.node_name = request.node_name;
  record.requested_from = PeerHost(request.peer);
  record.created_by = absl::StrCat("machine:", record.requested_from);
  record.created_at = now;
  record.expires_at = now + kTtl;
  const std::string mac = rule.trusted_networks.empty() ? "" : hooks_.mac_of(record.requested_from);
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Recognize(txn, request, rule, mac, record, now));
    return Keep(txn, record, now);
  }));
  if (!made.token.empty()) made.node_uuid = record.node_uuid;
  return made;
}

absl::Status TokenRequests::Recognize(Transaction& txn, const TokenRequest& request,
                                      const Rule& rule, absl::string_view mac, TokenRecord& record,
                                      absl::Time now) {
  ASSIGN_OR_RETURN(const bool is_of_network, IsOfNetwork(txn, request, rule, mac, record, now));
  const bool has_tpm = !record.endorsement_key.empty();
  record.node_uuid.clear();
  if (has_tpm) record.node_uuid = pki::MachineUuid(record.endorsement_key, record.node_name);
  if (!has_tpm && is_of_network)
    record.node_uuid =
        UuidOf(absl::StrCat("muster node ", record.node_name, " with MAC ", rule.macs.front()));
  record.require_approval = true;
  if (record.node_uuid.empty()) return absl::OkStatus();
  const absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(record.node_name);
  if (!node.ok() && !absl::IsNotFound(node.status())) return node.status();
  // A locked node's key was copied, and somebody has to look.
  if (node.ok() && !node->locked_because.empty()) return absl::OkStatus();
  const absl::StatusOr<NodeRecord> machine = txn.nodes().Get(record.node_uuid);
  if (!machine.ok() && !absl::IsNotFound(machine.status())) return machine.status();
  // Somebody has removed it, whatever the inventory says of its TPM, or it is a node by its proof.
  const bool is_known =
      machine.ok() ? machine->state != NodeRecord::kRemoved
                   : is_of_network || (has_tpm && rule.endorsement_key == record.endorsement_key);
  record.require_approval = !is_known;
  return absl::OkStatus();
}

absl::StatusOr<bool> TokenRequests::IsOfNetwork(Transaction& txn, const TokenRequest& request,
                                                const Rule& rule, absl::string_view mac,
                                                const TokenRecord& record, absl::Time now) {
  if (rule.trusted_networks.empty() || rule.macs.empty()) return false;
  NetworkEvidence evidence;
  evidence.address = record.requested_from;
  evidence.port = PeerPort(request.peer);
  evidence.neighbor_mac = std::string(mac);
  if (const absl::StatusOr<absl::Time> began = txn.boots().NewestOf(record.node_name); began.ok()) {
    evidence.boot_began_at = *began;
  } else if (!absl::IsNotFound(began.status())) {
    return began.status();
  }
  const absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(record.node_name);
  if (!node.ok() && !absl::IsNotFound(node.status())) return node.status();
  if (node.ok()) {
    evidence.is_connected = hooks_.is_connected(node->uuid);
    evidence.has_tpm_on_record =
        !node->endorsement_key.empty() && node->endorsement_key != record.endorsement_key;
  }
  const std::optional<std::string> why_not =
      WhyNotByNetwork(rule.trusted_networks, rule.macs, evidence, now);
  if (!why_not.has_value()) return false;
  if (!why_not->empty()) {
    RETURN_IF_ERROR(Note(txn, request, "node.distrust", *why_not, now));
    return false;
  }
  RETURN_IF_ERROR(Audit(txn, now, {"stranger", request.peer}, "node.trust", record.node_name,
                        absl::StrCat(evidence.address, " has the MAC address ",
                                     evidence.neighbor_mac, "; token ", record.token_id)));
  return true;
}

absl::Status TokenRequests::Keep(Transaction& txn, const TokenRecord& record, absl::Time now) {
  RETURN_IF_ERROR(txn.tokens().DeleteRequested(now));
  ASSIGN_OR_RETURN(std::vector<TokenRecord> rivals, txn.tokens().ListRequested(record.node_name));
  std::erase_if(rivals, [&](const TokenRecord& token) {
    return token.require_approval != record.require_approval;
  });
  for (const TokenRecord& token : rivals) {
    if (token.endorsement_key != record.endorsement_key ||
        token.requested_from != record.requested_from)
      continue;
    RETURN_IF_ERROR(txn.tokens().Delete(token.token_id));  // it asks again
    return txn.tokens().Insert(record);
  }
  const bool is_crowded = rivals.size() >= kMaxOfName;
  if (!record.require_approval) {
    if (is_crowded) RETURN_IF_ERROR(txn.tokens().Delete(rivals.front().token_id));
    return txn.tokens().Insert(record);
  }
  ASSIGN_OR_RETURN(const uint64_t of_all, txn.tokens().CountRequested());
  if (is_crowded || of_all >= kMaxOfAll)
    return absl::ResourceExhaustedError(
        absl::StrCat("too many machines ask to join", is_crowded ? " as " : "",
                     is_crowded ? record.node_name : "", "; try again in some minutes"));
  return txn.tokens().Insert(record);
}

absl::Status TokenRequests::Note(Transaction& txn, const TokenRequest& request,
                                 absl::string_view action, absl::string_view why, absl::Time now) {
  const std::optional<std::string> before = refusals_.Note(request.peer, now);
  if (!before.has_value()) return absl::OkStatus();
  return Audit(txn, now, {"stranger", request.peer}, action, request.node_name,
               absl::StrCat(why, before->empty() ? "" : "; before that, ", *before));
}

absl::Status TokenRequests::Refuse(const TokenRequest& request, const absl::Status& why,
                                   absl::Time now) {
  RETURN_IF_ERROR(store_.Update(
      [&](Transaction& txn) { return Note(txn, request, "node.refuse", why.message(), now); }));
  return absl::PermissionDeniedError(
      absl::StrCat("this machine may not join as ", request.node_name,
                   " by itself: the inventory has no `boot_join` for it, or names another TPM by "
                   "`boot_tpm`; a token of `muster token create --nodes ",
                   request.node_name, "` admits it in any case"));
}

}  // namespace muster::controller
