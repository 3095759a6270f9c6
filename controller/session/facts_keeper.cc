#include "controller/session/facts_keeper.h"

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

absl::Status FactsKeeper::Refresh(AgentSessions& sessions, absl::string_view node_uuid,
                                  absl::Duration timeout) {
  const std::string request_id = NewUuid();
  Waiting waiting;
  waiting.node_uuid = std::string(node_uuid);
  {
    absl::MutexLock lock(&mutex_);
    waiting_[request_id] = &waiting;
  }
  v1::ControllerMessage message;
  message.mutable_gather_facts()->set_request_id(request_id);
  const absl::Status sent = sessions.Send(node_uuid, message);
  absl::MutexLock lock(&mutex_);
  if (sent.ok())
    clock_.AwaitUntil(mutex_, absl::Condition(&waiting.is_answered), clock_.Now() + timeout);
  waiting_.erase(request_id);
  RETURN_IF_ERROR(sent);
  if (waiting.is_answered) return waiting.outcome;
  return absl::DeadlineExceededError(
      absl::StrCat("the node did not report its facts within ", absl::FormatDuration(timeout)));
}

void FactsKeeper::OnDisconnected(absl::string_view node_uuid) {
  absl::MutexLock lock(&mutex_);
  for (auto& [id, waiting] : waiting_) {
    if (waiting->node_uuid != node_uuid || waiting->is_answered) continue;
    waiting->outcome = absl::UnavailableError("the node's connection broke");
    waiting->is_answered = true;
  }
}

void FactsKeeper::OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) {
  const absl::Status stored = store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(node_uuid));
    node.facts = report.facts().SerializeAsString();
    return txn.nodes().Put(node);
  });
  absl::MutexLock lock(&mutex_);
  const auto found = waiting_.find(report.request_id());
  if (found == waiting_.end() || found->second->node_uuid != node_uuid) return;
  found->second->outcome = stored;
  found->second->is_answered = true;
}

}  // namespace muster::controller
