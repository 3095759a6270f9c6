// Nodes: admitted, approved, removed.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/pki/key.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/key_line.h"
#include "controller/enrollment/name_rules.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

// More plans than a node gets in its life. A number beyond comes from the node itself.
constexpr uint64_t kMostPlans = uint64_t{1} << 32;

// Forgets where a machine that begins anew was with its reports and plans. A fresh journal numbers
// its reports by the node's clock, and those up to the stored number would be taken for known.
// Plans continue, as one that waits for the node has its number already.
void ForgetSequences(NodeRecord& node) {
  node.report_sequence = 0;
  if (node.plan_sequence > kMostPlans) node.plan_sequence = 0;
}

}  // namespace

bool IsWaiting(const EnrollmentRecord& enrollment) {
  return !enrollment.rejected && enrollment.certificate_pem.empty();
}

absl::Status Enrollment::Admit(Transaction& txn, EnrollmentRecord& enrollment, const Actor& actor,
                               absl::Time now, std::vector<Denied>* denied) {
  absl::StatusOr<NodeRecord> before = txn.nodes().GetByName(enrollment.node_name);
  if (before.ok() && before->uuid != enrollment.node_uuid) {
    const std::string reason =
        absl::StrCat("machine ", enrollment.node_uuid, " enrolled as ", enrollment.node_name);
    RETURN_IF_ERROR(RemoveMachine(txn, *std::move(before), reason, now, denied));
    RETURN_IF_ERROR(
        Audit(txn, now, actor, "node.replace", enrollment.node_name,
              absl::StrCat("machine ", denied->back().node_uuid, " is removed: ", reason)));
  } else if (!before.ok() && !absl::IsNotFound(before.status())) {
    return before.status();
  }
  ASSIGN_OR_RETURN(const std::vector<CertificateRecord> line,
                   txn.certificates().ListByNode(enrollment.node_uuid));
  RETURN_IF_ERROR(CheckPace(line, "this machine", now));
  ASSIGN_OR_RETURN(IssuedCertificate issued, ca_.IssueNode(enrollment.csr_pem, enrollment.node_uuid,
                                                           enrollment.node_name, now));
  absl::StatusOr<NodeRecord> earlier = txn.nodes().Get(enrollment.node_uuid);
  if (!earlier.ok() && !absl::IsNotFound(earlier.status())) return earlier.status();
  NodeRecord node;
  node.state = NodeRecord::kEnrolled;
  if (earlier.ok()) {
    // The same machine. One that proves itself, by its TPM or its MAC address, has mostly lost key
    // and state with its boot, and one that boots from its disk asks only where its membership has
    // ended: nothing shows what is on it. A person's token is for a member whose certificates have
    // expired, with all that is on it.
    const bool has_state = !enrollment.requested && CheckMember(earlier).ok();
    node = *std::move(earlier);
    node.last_seen_at.reset();
    node.locked_because.clear();
    // Its first use ends the certificates from before.
    issued.record.generation = NewestGeneration(line) + 1;
    if (!has_state) {
      node.state = NodeRecord::kEnrolled;
      ForgetSequences(node);
      if (!node.last_run_id.empty()) node.last_run_result = kRunLost;
      // What is on it now has not passed.
      RETURN_IF_ERROR(txn.node_service().RemovePass(node.uuid));
    }
  }
  node.uuid = enrollment.node_uuid;
  node.name = enrollment.node_name;
  node.description = enrollment.description;
  node.enrolled_at = now;
  node.endorsement_key = enrollment.endorsement_key;
  RETURN_IF_ERROR(txn.nodes().Put(node));
  RETURN_IF_ERROR(txn.certificates().Insert(issued.record));
  enrollment.certificate_pem = std::move(issued.pem);
  RETURN_IF_ERROR(txn.enrollments().Put(enrollment));
  return Audit(txn, now, actor, "node.enroll", node.name,
               absl::StrCat("machine ", node.uuid, WithTpm(enrollment), ", certificate ",
                            issued.record.serial, ": ", node.description));
}

absl::Status Enrollment::RemoveMachine(Transaction& txn, NodeRecord node, absl::string_view reason,
                                       absl::Time now, std::vector<Denied>* denied) {
  node.state = NodeRecord::kRemoved;
  RETURN_IF_ERROR(txn.nodes().Put(node));
  RETURN_IF_ERROR(txn.certificates().RevokeByNode(node.uuid, now));
  denied->push_back({node.uuid, absl::StrCat("this node was removed from the cluster: ", reason)});
  return absl::OkStatus();
}

void Enrollment::Enforce(const std::vector<Denied>& denied) {
  if (denied.empty()) return;
  // If reading fails, the nodes' state still keeps their sessions out.
  denylist_.Load(store_).IgnoreError();
  for (const Denied& node : denied) hooks_.on_denied(node.node_uuid, node.words);
}

absl::StatusOr<std::vector<EnrollmentRecord>> Enrollment::ListPending() {
  std::vector<EnrollmentRecord> pending;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<EnrollmentRecord> all, txn.enrollments().List());
    for (EnrollmentRecord& enrollment : all) {
      if (IsWaiting(enrollment)) pending.push_back(std::move(enrollment));
    }
    return absl::OkStatus();
  }));
  return pending;
}

std::string WithTpm(const EnrollmentRecord& enrollment) {
  return enrollment.endorsement_key.empty() ? ""
                                            : absl::StrCat(", TPM ", enrollment.endorsement_key);
}

std::string FingerprintOf(const EnrollmentRecord& enrollment) {
  const absl::StatusOr<pki::Csr> csr = pki::ParseCsr(enrollment.csr_pem);
  return csr.ok() ? pki::KeyFingerprint(csr->public_key_sha256) : "";  // checked on arrival
}

absl::Status Enrollment::Approve(const std::vector<std::string>& node_names,
                                 const std::map<std::string, std::string>& fingerprints,
                                 const Actor& actor) {
  const absl::Time now = clock_.Now();
  std::vector<Denied> denied;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<EnrollmentRecord> all, txn.enrollments().List());
    for (const std::string& name : node_names) {
      std::vector<EnrollmentRecord*> candidates;
      for (EnrollmentRecord& enrollment : all)
        if (enrollment.node_name == name && IsWaiting(enrollment))
          candidates.push_back(&enrollment);
      if (candidates.empty())
        return absl::NotFoundError(absl::StrCat("no machine is waiting for approval as ", name,
                                                "; see `muster node list`"));
      const auto seen = fingerprints.find(name);
      EnrollmentRecord* waiting = candidates.size() == 1 ? candidates.front() : nullptr;
      for (EnrollmentRecord* each : candidates)
        if (seen != fingerprints.end() && seen->second == FingerprintOf(*each)) waiting = each;
      if (waiting == nullptr)
        return absl::FailedPreconditionError(absl::StrCat(
            "several machines are waiting as ", name, ": ",
            absl::StrJoin(candidates, ", ",
                          [](std::string* out, const EnrollmentRecord* each) {
                            absl::StrAppend(out, FingerprintOf(*each), " (", each->peer, ")");
                          }),
            "; choose the one whose console shows its key by --key, or run `muster node remove ",
            name, " --membership-only` to reject them all"));
      if (seen != fingerprints.end() && seen->second != FingerprintOf(*waiting))
        return absl::FailedPreconditionError(
            absl::StrCat("the machine that is waiting as ", name, " has the key ",
                         FingerprintOf(*waiting), ", not ", seen->second,
                         ": compare it with the key on that machine's console; `muster node ",
                         "remove ", name, " --membership-only` rejects it"));
      RETURN_IF_ERROR(Admit(txn, *waiting, actor, now, &denied));
    }
    return absl::OkStatus();
  }));
  Enforce(denied);
  return absl::OkStatus();
}

absl::Status Enrollment::Remove(const std::vector<std::string>& node_names,
                                absl::string_view reason, const Actor& actor) {
  const absl::Time now = clock_.Now();
  std::vector<Denied> denied;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    absl::flat_hash_set<std::string> found;
    const absl::flat_hash_set<std::string> names(node_names.begin(), node_names.end());
    for (const std::string& name : names) {
      absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(name);
      if (absl::IsNotFound(node.status())) continue;
      RETURN_IF_ERROR(node.status());
      found.insert(name);
      RETURN_IF_ERROR(RemoveMachine(txn, *std::move(node), reason, now, &denied));
    }
    ASSIGN_OR_RETURN(std::vector<EnrollmentRecord> enrollments, txn.enrollments().List());
    for (EnrollmentRecord& enrollment : enrollments) {
      if (!names.contains(enrollment.node_name) || !IsWaiting(enrollment)) continue;
      found.insert(enrollment.node_name);
      enrollment.rejected = true;
      RETURN_IF_ERROR(txn.enrollments().Put(enrollment));
    }
    ASSIGN_OR_RETURN(const std::vector<TokenRecord> tokens, txn.tokens().List());
    for (const TokenRecord& token : tokens) {
      if (!names.contains(token.node_name) || token.used_at.has_value() ||
          token.revoked_at.has_value() || token.expires_at <= now) {
        continue;
      }
      found.insert(token.node_name);
      RETURN_IF_ERROR(txn.tokens().Revoke(token.token_id, now));
    }
    for (const std::string& name : node_names) {
      if (!found.contains(name))
        return absl::NotFoundError(
            absl::StrCat("node ", name, " is not enrolled; see `muster node list`"));
      // Not where another machine takes the name: that may be the one that has just written the
      // disk and joins from it.
      RETURN_IF_ERROR(txn.boots().RemoveDisk(name));
      RETURN_IF_ERROR(Audit(txn, now, actor, "node.remove", name, reason));
    }
    return absl::OkStatus();
  }));
  Enforce(denied);
  return absl::OkStatus();
}

}  // namespace muster::controller
