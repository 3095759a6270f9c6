#include "controller/validation/service_gate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

// What the store says of a node.
struct Candidate {
  NodeRecord node;
  ServiceState state = ServiceState::kEnrolled;
  std::string owner;   // the validation that it failed
  NodePassRecord now;  // what it is, by its facts
  bool has_pass = false;
};

// The state before what has happened since is taken in.
ServiceState BaseState(const NodeRecord& node, const NodeServiceRecord* service) {
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

void Take(ServiceEvent event, Candidate& candidate) {
  const absl::StatusOr<ServiceState> next = NextServiceState(candidate.state, event);
  if (next.ok()) candidate.state = *next;
}

}  // namespace

void SetPassKeys(const v1::Facts& facts, NodePassRecord& pass) {
  std::vector<std::string> gpus;
  for (const v1::GpuFacts& gpu : facts.gpus()) gpus.push_back(gpu.uuid());
  std::sort(gpus.begin(), gpus.end());
  pass.gpu_uuids = absl::StrJoin(gpus, " ");
  pass.driver_version = facts.nvidia_driver_version();
  pass.kernel = facts.os().kernel();
}

ServiceGate::~ServiceGate() { Stop(); }

void ServiceGate::Start() {
  thread_ = std::thread([this] {
    absl::Status last;
    while (true) {
      // What Slurm cannot do now is tried again.
      const absl::Status looked = Look();
      if (!looked.ok() && looked != last) {
        warn_(absl::StrCat("the gate to Slurm: ", looked.message()));
      }
      last = looked;
      absl::MutexLock lock(&mutex_);
      clock_.AwaitUntil(mutex_, absl::Condition(this, &ServiceGate::IsWoken),
                        clock_.Now() + kInterval);
      if (stopping_) return;
      woken_ = false;
    }
  });
}

void ServiceGate::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void ServiceGate::OnJudged(const std::string& node_uuid, const std::string& validation_id,
                           v1::Outcome outcome) {
  if (outcome == v1::OUTCOME_FAIL) {
    store_
        .Update([&](Transaction& txn) -> absl::Status {
          ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(node_uuid));
          ASSIGN_OR_RETURN(const auto services, txn.node_service().ListServices());
          const NodeServiceRecord* before = nullptr;
          for (const NodeServiceRecord& each : services) {
            if (each.node_uuid == node_uuid) before = &each;
          }
          ASSIGN_OR_RETURN(const ServiceState next,
                           NextServiceState(BaseState(node, before), ServiceEvent::kFailed));
          return txn.node_service().PutService(
              {node_uuid, static_cast<int>(next), validation_id, clock_.Now()});
        })
        .IgnoreError();  // its pass is gone with the verdict: the node is drained all the same
  }
  absl::MutexLock lock(&mutex_);
  woken_ = true;
}

std::string ServiceGate::ServiceOf(const std::string& node) const {
  absl::MutexLock lock(&mutex_);
  const auto found = services_.find(node);
  return found == services_.end() ? "" : found->second;
}

absl::Status ServiceGate::Look() {
  absl::MutexLock one(&look_mutex_);
  std::map<std::string, Candidate> candidates;  // by name
  std::map<std::string, NodeServiceRecord> services;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto rows, txn.node_service().ListServices());
    for (const NodeServiceRecord& row : rows) services[row.node_uuid] = row;
    ASSIGN_OR_RETURN(const auto nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      if (node.state == NodeRecord::kRemoved) continue;
      Candidate& candidate = candidates[node.name];
      candidate.node = node;
      const auto service = services.find(node.uuid);
      candidate.state = BaseState(node, service == services.end() ? nullptr : &service->second);
      if (service != services.end()) candidate.owner = service->second.drained_by;
    }
    RETURN_IF_ERROR(
        txn.nodes().ForEachFacts([&](const std::string& name, const std::string& bytes) {
          const auto found = candidates.find(name);
          if (found == candidates.end()) return;
          v1::Facts facts;
          facts.ParseFromString(bytes);
          SetPassKeys(facts, found->second.now);
        }));
    for (auto& [name, candidate] : candidates) {
      const absl::StatusOr<NodePassRecord> pass = txn.node_service().GetPass(candidate.node.uuid);
      if (absl::IsNotFound(pass.status())) continue;
      RETURN_IF_ERROR(pass.status());
      // Whether what passed is what the node is now.
      candidate.has_pass = pass->gpu_uuids == candidate.now.gpu_uuids &&
                           pass->driver_version == candidate.now.driver_version &&
                           pass->kernel == candidate.now.kernel;
    }
    return absl::OkStatus();
  }));
  // After the store: a node that passes meanwhile is let in by the next look, never the other way.
  ASSIGN_OR_RETURN(const std::vector<slurm::SlurmNode> nodes, slurm_.Nodes());

  std::map<std::string, std::string> seen;
  absl::Status result;
  for (const slurm::SlurmNode& node : nodes) {
    const auto found = candidates.find(node.name);
    if (found == candidates.end()) continue;  // nothing of ours
    Candidate& candidate = found->second;
    const ServiceState before = candidate.state;
    if (candidate.node.state == NodeRecord::kConfigured &&
        candidate.state == ServiceState::kEnrolled) {
      Take(ServiceEvent::kApplied, candidate);
    }
    if (candidate.has_pass) {
      Take(ServiceEvent::kPassed, candidate);
    } else if (candidate.state == ServiceState::kInService) {
      Take(ServiceEvent::kChanged, candidate);
    }
    if (candidate.state != ServiceState::kQuarantined) candidate.owner.clear();
    const ServiceAction action = DecideService(candidate.state, candidate.owner, node);
    const auto known = services.find(candidate.node.uuid);
    const bool is_news = candidate.state != before || known == services.end() ||
                         known->second.drained_by != candidate.owner ||
                         action.kind != ServiceAction::kNone;
    if (is_news) {
      // Stored before Slurm is told.
      const absl::Status stored = store_.Update([&](Transaction& txn) -> absl::Status {
        RETURN_IF_ERROR(
            txn.node_service().PutService({candidate.node.uuid, static_cast<int>(candidate.state),
                                           candidate.owner, clock_.Now()}));
        if (action.kind == ServiceAction::kNone) return absl::OkStatus();
        EventRecord event;
        event.time = clock_.Now();
        event.actor = "controller";
        event.action = action.kind == ServiceAction::kDrain ? "slurm.drain" : "slurm.resume";
        event.subject = node.name;
        event.detail = action.kind == ServiceAction::kDrain ? action.reason
                                                            : absl::StrCat("was ", node.reason);
        return txn.events().Append(std::move(event));
      });
      if (!stored.ok()) {
        result = stored;
        continue;
      }
    }
    absl::Status told;
    if (action.kind == ServiceAction::kDrain) told = slurm_.Drain(node.name, action.reason);
    if (action.kind == ServiceAction::kResume) told = slurm_.Resume(node.name);
    if (!told.ok()) result = told;
    seen[node.name] = told.ok() ? action.service : node.state;
  }
  absl::MutexLock lock(&mutex_);
  services_ = std::move(seen);
  return result;
}

}  // namespace muster::controller::validation
