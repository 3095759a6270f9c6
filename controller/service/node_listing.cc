#include "controller/service/node_listing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/enrollment/enrollment.h"
#include "controller/gate/service_state.h"
#include "controller/inventory/inventory.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller {
namespace {

// Their facts take some hundred kilobytes and are read in a millisecond.
constexpr size_t kNodesAtOnce = 64;

struct NodeStateRow {
  NodeRecord::State from;
  v1::NodeState to;
};
constexpr NodeStateRow kNodeStates[] = {
    {NodeRecord::kPending, v1::NODE_STATE_PENDING},
    {NodeRecord::kEnrolled, v1::NODE_STATE_ENROLLED},
    {NodeRecord::kConfigured, v1::NODE_STATE_CONFIGURED},
    {NodeRecord::kRemoved, v1::NODE_STATE_REMOVED},
};

v1::NodeState ToProto(NodeRecord::State state) {
  for (const NodeStateRow& row : kNodeStates) {
    if (row.from == state) return row.to;
  }
  return v1::NODE_STATE_UNSPECIFIED;
}

// The states of nodes from the gate to Slurm's service, by uuid; the store has them as numbers.
std::map<std::string, v1::NodeState> ServiceStates(const std::vector<NodeServiceRecord>& services) {
  constexpr std::pair<validation::ServiceState, v1::NodeState> kRows[] = {
      {validation::ServiceState::kInService, v1::NODE_STATE_IN_SERVICE},
      {validation::ServiceState::kQuarantined, v1::NODE_STATE_QUARANTINED},
  };
  std::map<std::string, v1::NodeState> states;
  for (const NodeServiceRecord& service : services) {
    for (const auto& [from, to] : kRows) {
      if (service.state == static_cast<int>(from)) states[service.node_uuid] = to;
    }
  }
  return states;
}

// The machine with the name: the one that is not removed, or the one that was removed last.
using Machines = std::map<std::string, NodeRecord>;

Machines ByName(std::vector<NodeRecord> records) {
  Machines machines;
  for (NodeRecord& record : records) {
    NodeRecord& machine = machines[record.name];
    const bool is_better =
        machine.uuid.empty() || record.state != NodeRecord::kRemoved ||
        (machine.state == NodeRecord::kRemoved && machine.enrolled_at < record.enrolled_at);
    if (is_better) machine = std::move(record);
  }
  return machines;
}

void FillFromInventory(const Node& node, v1::Node& out) {
  out.set_role(std::string(NodeRoleName(node.role)));
  out.mutable_groups()->Assign(node.groups.begin(), node.groups.end());
  out.set_rack(node.rack);
  out.set_address(node.address);
}

void FillFromRecord(const NodeRecord& record, v1::Node& out) {
  out.set_uuid(record.uuid);
  out.set_state(ToProto(record.state));
  if (record.last_seen_at.has_value())
    *out.mutable_last_seen_at() = ToTimestamp(*record.last_seen_at);
  out.set_agent_version(record.agent_version);
  out.set_last_run_id(record.last_run_id);
  out.set_last_run_result(record.last_run_result);
  out.set_locked_because(record.locked_because);
  out.set_endorsement_key(record.endorsement_key);
}

// InfinitePast: it has no valid certificate.
absl::StatusOr<absl::Time> CertifiedUntil(Transaction& txn, const std::string& uuid) {
  ASSIGN_OR_RETURN(const std::vector<CertificateRecord> certificates,
                   txn.certificates().ListByNode(uuid));
  absl::Time newest = absl::InfinitePast();
  for (const CertificateRecord& certificate : certificates) {
    if (!certificate.revoked_at.has_value()) newest = std::max(newest, certificate.not_after);
  }
  return newest;
}

void FillFromEnrollment(const EnrollmentRecord& enrollment, v1::Node& out) {
  out.set_enrollment_description(enrollment.description);
  out.set_enrollment_fingerprint(FingerprintOf(enrollment));
  out.set_enrollment_endorsement_key(enrollment.endorsement_key);
  out.set_enrollment_peer(enrollment.peer);
  *out.mutable_enrollment_requested_at() = ToTimestamp(enrollment.requested_at);
}

void FillFromSession(const AgentSessionInfo& session, v1::Node& out) {
  out.set_connected(true);
  out.set_peer(session.peer);
  out.set_agent_version(session.agent_version);
  *out.mutable_last_seen_at() = ToTimestamp(session.last_seen_at);
}

}  // namespace

std::string Summarize(const v1::Facts& facts) {
  std::vector<std::string> words;
  if (facts.cpu().sockets() > 0)
    words.push_back(
        absl::StrCat(facts.cpu().sockets(), " × ", facts.cpu().cores_per_socket(), " cores"));
  if (facts.memory().total_mib() > 0)
    words.push_back(absl::StrCat((facts.memory().total_mib() + 512) / 1024, " GiB"));
  std::map<std::string, int> gpus;
  for (const v1::GpuFacts& gpu : facts.gpus()) ++gpus[gpu.slurm_type()];
  for (const auto& [type, count] : gpus) words.push_back(absl::StrCat(count, " × ", type));
  std::string summary;
  for (const std::string& word : words)
    absl::StrAppend(&summary, summary.empty() ? "" : ", ", word);
  return summary;
}

absl::StatusOr<std::vector<v1::Node>> ListAllNodes(Store& store, const AgentSessions& sessions,
                                                   const Inventory* inventory) {
  absl::flat_hash_map<std::string, AgentSessionInfo> connected;
  for (AgentSessionInfo& session : sessions.List())
    connected.emplace(session.node_uuid, std::move(session));
  std::vector<v1::Node> nodes;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<NodeRecord> records, txn.nodes().List());
    Machines machines = ByName(std::move(records));
    ASSIGN_OR_RETURN(const std::vector<EnrollmentRecord> enrollments, txn.enrollments().List());
    ASSIGN_OR_RETURN(const auto services, txn.node_service().ListServices());
    const std::map<std::string, v1::NodeState> in_service = ServiceStates(services);
    ASSIGN_OR_RETURN(const std::vector<FactsRefusal> refusals, txn.nodes().ListFactsRefusals());
    std::map<std::string, const FactsRefusal*> refused;
    for (const FactsRefusal& refusal : refusals) refused[refusal.node_uuid] = &refusal;
    ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> held, txn.node_holds().List());
    std::map<std::string, std::vector<const NodeHoldRecord*>> holds;
    for (const NodeHoldRecord& hold : held) holds[hold.node_uuid].push_back(&hold);
    ASSIGN_OR_RETURN(const auto put_off, txn.reboots().ListPending());
    std::map<std::string, const PendingRebootRecord*> reboots;
    for (const PendingRebootRecord& reboot : put_off) reboots[reboot.node_uuid] = &reboot;
    std::map<std::string, const EnrollmentRecord*> waiting;
    for (const EnrollmentRecord& enrollment : enrollments) {
      if (!enrollment.rejected && enrollment.certificate_pem.empty())
        waiting[enrollment.node_name] = &enrollment;
    }
    const auto add = [&](const std::string& name, const Node* in_inventory,
                         const NodeRecord* record) {
      v1::Node node;
      node.set_name(name);
      node.set_state(v1::NODE_STATE_KNOWN);
      if (in_inventory != nullptr) FillFromInventory(*in_inventory, node);
      if (record != nullptr) {
        FillFromRecord(*record, node);
        const auto service = in_service.find(record->uuid);
        if (service != in_service.end() && record->state != NodeRecord::kRemoved)
          node.set_state(service->second);
        if (!record->locked_because.empty() && record->state != NodeRecord::kRemoved)
          node.set_state(v1::NODE_STATE_LOCKED);
        if (const auto found = refused.find(record->uuid); found != refused.end()) {
          node.set_facts_refused(found->second->why);
          *node.mutable_facts_refused_at() = ToTimestamp(found->second->at);
        }
        if (const auto found = holds.find(record->uuid); found != holds.end()) {
          for (const NodeHoldRecord* hold : found->second) {
            v1::NodeHold& shown = *node.add_holds();
            shown.set_owner(hold->owner);
            shown.set_reason(hold->reason);
            *shown.mutable_since() = ToTimestamp(hold->since);
          }
        }
        if (const auto found = reboots.find(record->uuid); found != reboots.end())
          node.set_reboot_pending(found->second->reason);
        const auto session = connected.find(record->uuid);
        if (session != connected.end()) FillFromSession(session->second, node);
      }
      if (const auto found = waiting.find(name); found != waiting.end()) {
        FillFromEnrollment(*found->second, node);
        // A machine that would replace another one does not change that one's state.
        if (record == nullptr || record->state == NodeRecord::kRemoved)
          node.set_state(v1::NODE_STATE_PENDING);
      }
      nodes.push_back(std::move(node));
    };
    if (inventory != nullptr) {
      for (const Node& node : inventory->nodes()) {
        const auto found = machines.find(node.name);
        const NodeRecord* record = found == machines.end() ? nullptr : &found->second;
        add(node.name, &node, record);
      }
    }
    for (const auto& [name, record] : machines) {
      const bool is_listed = inventory != nullptr && inventory->FindNode(name) != nullptr;
      if (!is_listed && record.state != NodeRecord::kRemoved) add(name, nullptr, &record);
    }
    return absl::OkStatus();
  }));
  return nodes;
}

absl::Status AddDetails(Store& store, std::vector<v1::Node>& nodes) {
  v1::Facts parsed;
  for (size_t begin = 0; begin < nodes.size(); begin += kNodesAtOnce) {
    const size_t end = std::min(nodes.size(), begin + kNodesAtOnce);
    std::vector<std::string> facts(end - begin);
    RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
      for (size_t i = begin; i < end; ++i) {
        v1::Node& node = nodes[i];
        if (node.uuid().empty()) continue;
        ASSIGN_OR_RETURN(facts[i - begin], txn.nodes().Facts(node.uuid()));
        ASSIGN_OR_RETURN(const absl::Time until, CertifiedUntil(txn, node.uuid()));
        if (until != absl::InfinitePast())
          *node.mutable_certificate_expires_at() = ToTimestamp(until);
      }
      return absl::OkStatus();
    }));
    for (size_t i = begin; i < end; ++i) {
      const std::string& text = facts[i - begin];
      if (!text.empty() && parsed.ParseFromString(text)) nodes[i].set_summary(Summarize(parsed));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
