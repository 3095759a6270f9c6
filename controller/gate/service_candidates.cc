#include "controller/gate/service_candidates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "controller/gate/node_pass.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

// What a node has told last.
struct Told {
  NodePassRecord properties;
  std::string boot_id;
  bool lacks_keys = false;
};

bool IsFromSlurm(const NodeServiceRecord& service) {
  return service.state != static_cast<int>(ServiceState::kQuarantined);
}

void Take(ServiceEvent event, ServiceCandidate& candidate) {
  const absl::StatusOr<ServiceState> next = NextServiceState(candidate.state, event);
  if (next.ok()) candidate.state = *next;
}

}  // namespace

ServiceState StoredServiceState(const NodeRecord& node, const NodeServiceRecord* service) {
  if (service != nullptr && node.state != NodeRecord::kRemoved) {
    return static_cast<ServiceState>(service->state);
  }
  switch (node.state) {
    case NodeRecord::kPending:
      return ServiceState::kKnown;
    case NodeRecord::kEnrolled:
      return ServiceState::kEnrolled;
    case NodeRecord::kConfigured:
      return ServiceState::kConfigured;
    case NodeRecord::kRemoved:
      return ServiceState::kRetired;
  }
  return ServiceState::kKnown;
}

Borrowable BorrowableOf(const ServiceCandidate& candidate, const slurm::SlurmNode& node) {
  if (!candidate.testing.empty() || candidate.hold.has_value()) return Borrowable::kNo;
  const bool serves = candidate.state == ServiceState::kInService;
  if (node.is_drained || node.is_held) {
    const bool is_ours = slurm::OwnerOf(node.reason).has_value();
    if (!is_ours || node.state != "IDLE+DRAIN") return Borrowable::kNo;
    if (serves) return Borrowable::kInService;
    return candidate.state == ServiceState::kConfigured ||
                   candidate.state == ServiceState::kQuarantined
               ? Borrowable::kOutOfService
               : Borrowable::kNo;
  }
  // Others have a say in it, too: a node that is planned for or reserved belongs to somebody.
  return serves && node.takes_jobs && node.state == "IDLE" ? Borrowable::kInService
                                                           : Borrowable::kNo;
}

absl::StatusOr<bool> HasSeenSlurm(Transaction& txn) {
  ASSIGN_OR_RETURN(const auto services, txn.node_service().ListServices());
  return std::any_of(services.begin(), services.end(), IsFromSlurm);
}

absl::Status ForgetSlurm(Transaction& txn) {
  ASSIGN_OR_RETURN(const auto services, txn.node_service().ListServices());
  for (const NodeServiceRecord& service : services) {
    if (IsFromSlurm(service)) RETURN_IF_ERROR(txn.node_service().RemoveService(service.node_uuid));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, ServiceCandidate>> ReadServiceCandidates(Transaction& txn) {
  std::map<std::string, NodeServiceRecord> services;  // by uuid
  ASSIGN_OR_RETURN(auto rows, txn.node_service().ListServices());
  for (NodeServiceRecord& row : rows) services[row.node_uuid] = std::move(row);

  std::map<std::string, std::string> testing;  // validation by uuid
  ASSIGN_OR_RETURN(const auto running, txn.validations().ListRunning());
  for (const ValidationRecord& validation : running) {
    ASSIGN_OR_RETURN(const auto nodes, txn.validations().ListNodes(validation.validation_id));
    for (const ValidationNodeRecord& node : nodes) {
      testing[node.node_uuid] = validation.validation_id;
    }
  }

  std::map<std::string, ServiceHold> holds;  // by uuid
  ASSIGN_OR_RETURN(auto held, txn.node_holds().List());
  for (NodeHoldRecord& hold : held) {
    const auto [at, is_first] = holds.try_emplace(hold.node_uuid);
    if (is_first || (hold.is_quarantine && !at->second.is_quarantine))
      at->second = {std::move(hold.owner), std::move(hold.reason), hold.is_quarantine};
  }

  std::map<std::string, Told> told;  // by name
  RETURN_IF_ERROR(txn.nodes().ForEachFacts([&](const std::string& name, const std::string& bytes) {
    v1::Facts facts;
    facts.ParseFromString(bytes);
    Told& of_node = told[name];
    SetPassKeys(facts, of_node.properties);
    of_node.boot_id = facts.os().boot_id();
    of_node.lacks_keys = LackPassKeys(facts);
  }));

  std::map<std::string, ServiceCandidate> candidates;
  ASSIGN_OR_RETURN(const auto nodes, txn.nodes().List());
  for (const NodeRecord& node : nodes) {
    if (node.state == NodeRecord::kRemoved) continue;
    ServiceCandidate& candidate = candidates[node.name];
    candidate.uuid = node.uuid;
    const auto service = services.find(node.uuid);
    if (service != services.end()) candidate.stored = service->second;
    candidate.state =
        StoredServiceState(node, service == services.end() ? nullptr : &service->second);
    if (node.state == NodeRecord::kConfigured && candidate.state == ServiceState::kEnrolled) {
      Take(ServiceEvent::kApplied, candidate);
    }
    const absl::StatusOr<NodePassRecord> pass = txn.node_service().GetPass(node.uuid);
    if (!pass.ok() && !absl::IsNotFound(pass.status())) return pass.status();
    const Told& now = told[node.name];
    candidate.awaits_facts = pass.ok() && (now.lacks_keys || AreFromBeforeBoot(now.boot_id, node));
    if (candidate.awaits_facts) {
      // Neither a pass nor a change.
    } else if (pass.ok() && HaveEqualKeys(*pass, now.properties)) {
      Take(ServiceEvent::kPassed, candidate);
    } else if (candidate.state == ServiceState::kInService) {
      Take(ServiceEvent::kChanged, candidate);
    }
    if (candidate.state == ServiceState::kQuarantined && candidate.stored.has_value()) {
      candidate.failed = candidate.stored->drained_by;
    }
    const auto test = testing.find(node.uuid);
    if (test != testing.end()) candidate.testing = test->second;
    const auto hold = holds.find(node.uuid);
    if (hold != holds.end()) candidate.hold = hold->second;
  }
  return candidates;
}

}  // namespace muster::controller::validation
