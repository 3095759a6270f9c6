#include "controller/gate/service_gate.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/gate/restored_drains.h"
#include "controller/gate/service_candidates.h"
#include "controller/gate/slurm_jobs.h"
#include "controller/gate/slurm_look.h"
#include "controller/store/tables.h"

namespace muster::controller::validation {
namespace {

// Whether Slurm may answer at any moment; any other problem, somebody has to fix.
bool IsWorthHurry(const absl::Status& status) { return absl::IsUnavailable(status); }

}  // namespace

// A change that Slurm is to make to a node.
struct ServiceGate::Change {
  slurm::NodeChange node;
  ServiceAction action;
};

absl::Time ServiceGate::Step() {
  // A thousand agents that connect are one reason to look.
  const absl::Time before_look = clock_.Now();
  const bool is_set_back = pause_until_ - before_look > kPause;
  if (before_look < pause_until_ && !is_set_back) return pause_until_;
  // What Slurm cannot do now is tried again.
  const absl::Status before = std::exchange(looked_, Reconcile());
  if (!worker_.is_stopping() && !looked_.ok() && looked_ != before)
    warn_(absl::StrCat("the gate to Slurm: ", looked_.message()));
  const absl::Time now = clock_.Now();
  pause_until_ = now + kPause;
  return now + (IsWorthHurry(looked_) ? kRetryInterval : kInterval);
}

void ServiceGate::OnJudged(const std::string& node_uuid, const std::string& validation_id,
                           v1::Outcome outcome) {
  if (outcome == v1::OUTCOME_FAIL) {
    store_
        .Update([&](Transaction& txn) -> absl::Status {
          ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(node_uuid));
          ASSIGN_OR_RETURN(const auto services, txn.node_service().ListServices());
          const auto before = std::find_if(
              services.begin(), services.end(),
              [&](const NodeServiceRecord& each) { return each.node_uuid == node_uuid; });
          ASSIGN_OR_RETURN(
              const ServiceState next,
              NextServiceState(
                  StoredServiceState(node, before == services.end() ? nullptr : &*before),
                  ServiceEvent::kFailed));
          return txn.node_service().PutService(
              {node_uuid, static_cast<int>(next), validation_id, clock_.Now()});
        })
        .IgnoreError();  // its pass is gone with the verdict: the node is drained anyway
  }
  {
    absl::MutexLock lock(&mutex_);
    judged_.insert(validation_id);
    worker_.Wake();
  }
  if (on_news_) on_news_();
}

std::vector<std::string> ServiceGate::WhomToBorrow(const std::vector<std::string>& nodes) {
  const auto known = slurm_.Nodes();
  if (IsNoSlurmYet(known.status())) return nodes;
  std::map<std::string, ServiceCandidate> candidates;
  const absl::Status read = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(candidates, ReadServiceCandidates(txn));
    return absl::OkStatus();
  });
  if (!known.ok() || !read.ok()) return {};
  std::map<std::string, const slurm::SlurmNode*> in_slurm;
  for (const slurm::SlurmNode& node : *known) in_slurm[node.name] = &node;
  std::vector<std::string> borrowable;
  for (const auto wanted : {Borrowable::kInService, Borrowable::kOutOfService}) {
    for (const std::string& name : nodes) {
      const auto node = in_slurm.find(name);
      const auto candidate = candidates.find(name);
      if (node == in_slurm.end() || candidate == candidates.end()) continue;
      if (BorrowableOf(candidate->second, *node->second) == wanted) borrowable.push_back(name);
    }
  }
  return borrowable;
}

absl::Status ServiceGate::Hold(const std::string& validation_id,
                               const std::vector<std::string>& nodes, bool force) {
  // Polling for idle nodes never drains them.
  if (!force) RETURN_IF_ERROR(CheckIdle(slurm_, nodes));
  {
    absl::MutexLock lock(&mutex_);
    for (const std::string& node : nodes) held_[node] = validation_id;
  }
  const absl::Status told = Reconcile();
  // The next look drains what this one could not.
  if (force) return absl::OkStatus();
  absl::Status out = CheckOut(nodes, told);
  if (!out.ok()) Forget(validation_id, nodes);
  return out;
}

absl::Status ServiceGate::CheckOut(const std::vector<std::string>& nodes,
                                   const absl::Status& told) {
  const SlurmLook look = LookAtSlurm(slurm_, clock_, nodes);
  if (!look.trouble.empty()) return JobsAreUnknown(nodes, look.trouble);
  if (!look.jobs.empty()) return JobsAreThere(look.jobs);
  std::vector<std::string> open;
  for (const std::string& node : nodes) {
    if (!look.IsOut(node, look.at)) open.push_back(node);
  }
  if (open.empty()) return absl::OkStatus();
  std::map<std::string, ServiceCandidate> candidates;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(candidates, ReadServiceCandidates(txn));
    return absl::OkStatus();
  }));
  // One that has not joined is not the gate's to drain, and nothing is tested on it.
  const auto is_strange = [&](const std::string& node) {
    const auto found = candidates.find(node);
    return found == candidates.end() || found->second.state == ServiceState::kKnown;
  };
  open.erase(std::remove_if(open.begin(), open.end(), is_strange), open.end());
  if (open.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "Slurm may start jobs on ", FoldHostlist(open), ", which could not be drained",
      told.ok() ? "" : absl::StrCat(": ", told.message()),
      "; mend that and try again, drain the nodes yourself (scontrol update NodeName=… "
      "State=DRAIN Reason=…), or pass --force to test beside jobs"));
}

void ServiceGate::Forget(const std::string& validation_id, const std::vector<std::string>& nodes) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& node : nodes) {
    const auto held = held_.find(node);
    if (held != held_.end() && held->second == validation_id) held_.erase(held);
  }
  worker_.Wake();
}

void ServiceGate::Release(const std::string& validation_id) {
  absl::MutexLock lock(&mutex_);
  for (auto node = held_.begin(); node != held_.end();) {
    node = node->second == validation_id ? held_.erase(node) : std::next(node);
  }
  worker_.Wake();
}

std::string ServiceGate::ServiceOf(const std::string& node) const {
  absl::MutexLock lock(&mutex_);
  const auto found = services_.find(node);
  return found == services_.end() ? "" : found->second;
}

bool ServiceGate::IsBehind(const std::string& validation_id) const {
  absl::MutexLock lock(&mutex_);
  return judged_.count(validation_id) > 0 || looking_.count(validation_id) > 0;
}

absl::Status ServiceGate::trouble() const {
  absl::MutexLock lock(&mutex_);
  return trouble_;
}

absl::Status ServiceGate::Reconcile() {
  absl::MutexLock one(&look_mutex_);
  {
    // Validations that an earlier look could not take into account stay.
    absl::MutexLock lock(&mutex_);
    looking_.merge(judged_);
    judged_.clear();
  }
  absl::Status result;
  const absl::StatusOr<std::vector<slurm::SlurmNode>> nodes = slurm_.Nodes();
  if (nodes.ok()) {
    Changes changes;
    std::map<std::string, std::string> services;
    result = Decide(*nodes, changes, services);
    const bool has_decided = result.ok();
    if (has_decided) result = Tell(changes, services);
    if (has_decided && !changes.empty() && on_news_) on_news_();
    absl::MutexLock lock(&mutex_);
    services_ = std::move(services);
    if (has_decided) looking_.clear();
  } else {
    result = nodes.status();
  }
  absl::MutexLock lock(&mutex_);
  trouble_ = result;
  return result;
}

absl::Status ServiceGate::Decide(const std::vector<slurm::SlurmNode>& nodes, Changes& changes,
                                 std::map<std::string, std::string>& services) {
  std::map<std::string, std::string> held;
  {
    // Read before the store: a validation that has begun is in one of the two.
    absl::MutexLock lock(&mutex_);
    held = held_;
  }
  // Before anything is decided: what a restored store does not know any more, Slurm may.
  RETURN_IF_ERROR(KeepRestoredDrains(store_, nodes, clock_.Now()));
  std::map<std::string, ServiceCandidate> candidates;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(candidates, ReadServiceCandidates(txn));
    return absl::OkStatus();
  }));
  std::vector<NodeServiceRecord> news;
  std::map<std::string, std::vector<std::string>> drained;  // names by reason
  std::map<std::string, std::vector<std::string>> resumed;  // by the reason of their drain
  std::map<std::string, std::string> announced;
  for (const slurm::SlurmNode& node : nodes) {
    const auto found = candidates.find(node.name);
    if (found == candidates.end()) continue;  // not a node of ours
    ServiceCandidate& candidate = found->second;
    if (const auto hold = held.find(node.name); hold != held.end())
      candidate.testing = hold->second;
    ServiceAction action = DecideService(candidate.state, candidate.failed, candidate.testing, node,
                                         candidate.hold.has_value() ? &*candidate.hold : nullptr,
                                         candidate.awaits_facts);
    services[node.name] = action.service;
    if (!candidate.stored.has_value() ||
        candidate.stored->state != static_cast<int>(candidate.state) ||
        candidate.stored->drained_by != candidate.failed) {
      news.push_back(
          {candidate.uuid, static_cast<int>(candidate.state), candidate.failed, clock_.Now()});
    }
    if (action.kind == ServiceAction::kNone) continue;
    const auto before = announced_.find(node.name);
    if (before == announced_.end() || before->second != action.reason) {
      (action.kind == ServiceAction::kDrain ? drained[action.reason] : resumed[node.reason])
          .push_back(node.name);
    }
    announced[node.name] = action.reason;
    const bool is_ours = node.is_drained || slurm::OwnerOf(node.reason).has_value();
    changes.push_back({{node.name, is_ours ? node.reason : ""}, std::move(action)});
  }
  const auto append = [&](Transaction& txn, const char* action, std::vector<std::string> names,
                          const std::string& detail) {
    return Audit(txn, clock_.Now(), ControllerActor(), action, FoldHostlist(std::move(names)),
                 detail);
  };
  // Stored before Slurm is told.
  if (!news.empty() || !drained.empty() || !resumed.empty()) {
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
      for (const NodeServiceRecord& service : news) {
        RETURN_IF_ERROR(txn.node_service().PutService(service));
      }
      for (const auto& [reason, names] : drained) {
        RETURN_IF_ERROR(append(txn, "slurm.drain", names, reason));
      }
      for (const auto& [reason, names] : resumed) {
        RETURN_IF_ERROR(append(txn, "slurm.resume", names, absl::StrCat("was ", reason)));
      }
      return absl::OkStatus();
    }));
  }
  announced_ = std::move(announced);
  return absl::OkStatus();
}

absl::Status ServiceGate::Tell(const Changes& changes,
                               std::map<std::string, std::string>& services) {
  absl::Status result;
  std::map<std::string, std::vector<slurm::NodeChange>> drains;  // by reason
  std::vector<slurm::NodeChange> undrains;
  for (const Change& change : changes) {
    (change.action.kind == ServiceAction::kDrain ? drains[change.action.reason] : undrains)
        .push_back(change.node);
  }
  const auto take = [&](const std::vector<slurm::NodeChange>& nodes,
                        const absl::StatusOr<slurm::LeftAlone>& told) {
    if (told.ok()) {
      for (const auto& [node, why] : *told) services[node] = why;
      return;
    }
    result = told.status();
    for (const slurm::NodeChange& each : nodes) {
      absl::StrAppend(&services[each.node], "; Slurm has not been told yet");
    }
  };
  for (const auto& [reason, nodes] : drains) take(nodes, slurm_.Drain(nodes, reason));
  if (!undrains.empty()) take(undrains, slurm_.Undrain(undrains));
  return result;
}

}  // namespace muster::controller::validation
