#include "controller/validation/engine/follow_ups.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/gate/node_pass.h"
#include "controller/inventory/inventory.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/prepared_suite.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/schedule/validation_state.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {
namespace {

// Errors that another look may resolve: the store may accept it later, or somebody has cancelled it
// meanwhile.
bool MayBeTemporary(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsCancelled(status);
}

}  // namespace

absl::Status CheckEnding(const std::map<std::string, std::string>& site, const std::string& suite,
                         const std::vector<std::string>& nodes,
                         std::shared_ptr<const Inventory> inventory, Catalog catalog) {
  ASSIGN_OR_RETURN(const PreparedSuite prepared, PrepareSuite(site, suite, FoldHostlist(nodes),
                                                              std::move(inventory), {}, catalog));
  if (!prepared.suite.admits) {
    return absl::InvalidArgumentError(
        absl::StrCat("suite '", suite,
                     "' does not admit nodes, so every apply would validate the nodes that pass it "
                     "again: write 'admits: true' into it, or use a suite that has it"));
  }
  const std::string too_much = ValidationState::CheckSize(prepared.suite, nodes.size(), 0);
  return too_much.empty() ? absl::OkStatus() : absl::InvalidArgumentError(too_much);
}

// A run that has ended, as far as its validations need it.
struct FollowUps::Ended {
  std::string run_id;
  v1::CreateRunRequest request;
  std::vector<RunValidationRecord> waiting;
  std::map<std::string, std::string> uuids;  // of the run's enrolled nodes, by name
};

absl::Status FollowUps::Resume() {
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto rows, txn.run_validations().ListWaiting());
    absl::MutexLock lock(&mutex_);
    for (const RunValidationRecord& row : rows) {
      due_[row.run_id].deadline = clock_.Now() + kRestartWait;
    }
    return absl::OkStatus();
  });
}

void FollowUps::OnRunEnded(const std::string& run_id) {
  {
    absl::MutexLock lock(&mutex_);
    due_[run_id].deadline = clock_.Now() + kFactsWait;
  }
  worker_.Wake();
}

void FollowUps::OnFactsStored(const std::string& node_uuid, const std::string& run_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = due_.find(run_id);
  if (found == due_.end() || !found->second.facts.OnAnswered(node_uuid)) return;
  if (found->second.facts.HaveAll()) worker_.Wake();
}

absl::Status FollowUps::Cancel(const std::string& run_id, const Actor& actor) {
  return store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const RunRecord run, txn.runs().Get(run_id));
    ASSIGN_OR_RETURN(const auto rows, txn.run_validations().List(run_id));
    bool any = false;
    for (RunValidationRecord row : rows) {
      if (row.state != RunValidationRecord::kWaiting) continue;
      any = true;
      row.state = RunValidationRecord::kNotStarted;
      row.message = absl::StrCat("cancelled by ", actor.name);
      RETURN_IF_ERROR(txn.run_validations().Put(row));
      RETURN_IF_ERROR(
          Audit(txn, clock_.Now(), actor, "validation.cancel", run_id,
                absl::StrCat("suite ", row.suite, " on ", row.nodes, ", before it started")));
    }
    if (any) return absl::OkStatus();
    if (run.state == RunRecord::kRunning) {
      return absl::FailedPreconditionError(absl::StrCat(
          "run ", run_id,
          " is running, and its suites wait only after its end; to stop it: muster run cancel ",
          run_id));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("no suite of run ", run_id,
                     " is waiting; for their outcome see: muster run show ", run_id));
  });
}

absl::Time FollowUps::Step() {
  Reconcile();
  absl::MutexLock lock(&mutex_);
  // Without work only a run that ends, or facts, give it some.
  return due_.empty() ? absl::InfiniteFuture() : clock_.Now() + kInterval;
}

void FollowUps::Reconcile() {
  std::vector<std::string> runs;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [run_id, due] : due_) {
      if (clock_.Now() >= due.next) runs.push_back(run_id);
    }
  }
  for (const std::string& run_id : runs) {
    if (!LookAt(run_id)) continue;
    absl::MutexLock lock(&mutex_);
    due_.erase(run_id);
  }
}

bool FollowUps::LookAt(const std::string& run_id) {
  Ended ended;
  const absl::Status read = Read(run_id, ended);
  if (!read.ok()) return absl::IsNotFound(read);
  if (ended.waiting.empty()) return true;
  // The findings of a check belong to the facts that it was made with.
  if (!ended.request.check_only() && !HaveFacts(ended)) return false;
  bool all = true;
  for (const RunValidationRecord& row : ended.waiting) {
    bool decided = false;
    const absl::Status status = Decide(ended, row, decided);
    all = all && status.ok() && decided;
  }
  return all;
}

absl::Status FollowUps::Read(const std::string& run_id, Ended& ended) {
  ended.run_id = run_id;
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const RunRecord run, txn.runs().Get(run_id));
    ended.request.ParseFromString(run.request);
    ASSIGN_OR_RETURN(const auto rows, txn.run_validations().List(run_id));
    for (const RunValidationRecord& row : rows) {
      if (row.state != RunValidationRecord::kWaiting) continue;
      ended.waiting.push_back(row);
      ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(row.nodes));
      for (const std::string& name : names) {
        const absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(name);
        if (absl::IsNotFound(node.status())) continue;  // removed meanwhile
        RETURN_IF_ERROR(node.status());
        ended.uuids[name] = node->uuid;
      }
    }
    return absl::OkStatus();
  });
}

// Asks the nodes that were not asked yet, and returns whether enough is known to decide.
bool FollowUps::HaveFacts(const Ended& ended) {
  v1::ControllerMessage message;
  message.mutable_gather_facts()->set_request_id(
      ToRequestId({FactsRequest::Owner::kRunEnd, ended.run_id}));
  std::set<std::string> uuids;
  for (const auto& [name, uuid] : ended.uuids) uuids.insert(uuid);
  absl::MutexLock lock(&mutex_);
  Due& due = due_[ended.run_id];
  due.facts.Begin(uuids, due.deadline);
  for (const std::string& uuid : due.facts.ToAsk()) {
    if (uuids.count(uuid) == 0) {
      due.facts.Drop(uuid);  // removed meanwhile
    } else if (sessions_.Send(uuid, message).ok()) {
      due.facts.OnAsked(uuid);
    }
  }
  return due.facts.IsOver(clock_.Now());
}

absl::Status FollowUps::Split(const RunValidationRecord& row, const std::vector<std::string>& nodes,
                              bool& split) {
  const std::set<std::string> busy = busy_(nodes);
  std::vector<std::string> free;
  for (const std::string& node : nodes) {
    if (busy.count(node) == 0) free.push_back(node);
  }
  if (busy.empty() || free.empty()) return absl::OkStatus();
  split = true;
  return store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto rows, txn.run_validations().List(row.run_id));
    RunValidationRecord waits = row;
    waits.nodes = FoldHostlist({busy.begin(), busy.end()});
    RunValidationRecord starts = row;
    starts.nodes = FoldHostlist(std::move(free));
    starts.message.clear();
    starts.position = static_cast<uint32_t>(rows.size());
    RETURN_IF_ERROR(PutWaiting(txn, waits));
    return txn.run_validations().Put(starts);
  });
}

absl::Status FollowUps::Decide(const Ended& ended, RunValidationRecord row, bool& decided) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(row.nodes));
  std::vector<std::string> passed, open;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    for (const std::string& name : names) {
      const auto uuid = ended.uuids.find(name);
      bool holds = false;
      if (uuid != ended.uuids.end()) {
        ASSIGN_OR_RETURN(holds, HoldsPass(txn, uuid->second));
      }
      (holds ? passed : open).push_back(name);
    }
    return absl::OkStatus();
  }));
  const RunValidationRecord asked = row;
  row.nodes = FoldHostlist(std::move(open));
  row.passed_nodes = FoldHostlist(std::move(passed));
  row.message.clear();
  if (row.nodes.empty()) {
    row.state = RunValidationRecord::kNotNeeded;
  } else if (ended.request.check_only()) {
    row.state = RunValidationRecord::kPredicted;
  } else {
    v1::CreateValidationRequest request;
    request.set_bundle_sha256(ended.request.bundle_sha256());
    request.set_suite(row.suite);
    request.set_nodes(row.nodes);
    const absl::Status created = create_(request, row);
    decided = created.ok();
    if (created.ok() || MayBeTemporary(created)) return created;
    const absl::string_view why(created.message().data(), created.message().size());
    if (absl::IsFailedPrecondition(created)) {
      bool split = false;
      RETURN_IF_ERROR(Split(asked, names, split));
      if (split) return absl::OkStatus();
      {
        absl::MutexLock lock(&mutex_);
        due_[ended.run_id].next = clock_.Now() + kBusyWait;
      }
      if (asked.message == why) return absl::OkStatus();
      row = asked;
    } else {
      row.state = RunValidationRecord::kNotStarted;
    }
    row.message = std::string(why);
  }
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(PutWaiting(txn, row));
    if (row.state != RunValidationRecord::kNotStarted) return absl::OkStatus();
    return Audit(txn, clock_.Now(), ControllerActor(), "validation.not_started", ended.run_id,
                 absl::StrCat("suite ", row.suite, " on ", row.nodes, ": ", row.message));
  }));
  decided = row.state != RunValidationRecord::kWaiting;
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
