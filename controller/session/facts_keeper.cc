#include "controller/session/facts_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

// A node asks for nothing; whoever asks waits for one answer. More are answered by a later report.
constexpr size_t kMaxRequests = 16;

}  // namespace

FactsKeeper::FactsKeeper(Store& store, Clock& clock, OnStored on_stored)
    : store_(store), clock_(clock), on_stored_(std::move(on_stored)) {
  thread_ = std::thread([this] { Loop(); });
}

FactsKeeper::~FactsKeeper() { Stop(); }

void FactsKeeper::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void FactsKeeper::Loop() {
  for (;;) {
    NewsByNode news;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &FactsKeeper::HasWork));
      if (news_.empty()) return;
      news.swap(news_);
    }
    Write(news);
  }
}

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
  std::string facts = report.facts().SerializeAsString();
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return;
  News& news = news_[std::string(node_uuid)];
  news.facts = std::move(facts);
  if (news.request_ids.size() < kMaxRequests) news.request_ids.push_back(report.request_id());
}

void FactsKeeper::Write(const NewsByNode& news) {
  const absl::Status stored = store_.Update([&](Transaction& txn) -> absl::Status {
    for (const auto& [uuid, each] : news) {
      const absl::Status put = txn.nodes().PutFacts(uuid, each.facts);
      // A machine that is not enrolled any more must not cost the others their facts.
      if (!absl::IsNotFound(put)) RETURN_IF_ERROR(put);
    }
    return absl::OkStatus();
  });
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [uuid, each] : news) {
      for (const std::string& id : each.request_ids) {
        const auto found = waiting_.find(id);
        if (found == waiting_.end() || found->second->node_uuid != uuid) continue;
        found->second->outcome = stored;
        found->second->is_answered = true;
      }
    }
  }
  if (!on_stored_ || !stored.ok()) return;
  for (const auto& [uuid, each] : news) {
    for (const std::string& id : each.request_ids) {
      if (!id.empty()) on_stored_(uuid, id);
    }
  }
}

}  // namespace muster::controller
