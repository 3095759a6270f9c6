#include "controller/session/facts_keeper.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/interval.h"
#include "common/base/status.h"
#include "common/base/text/no_answer.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/session/intake.h"
#include "controller/store/store.h"
#include "controller/store/stored_facts.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

// Nodes ask for nothing; each caller waits for one answer. Further ones are answered by a later
// report.
constexpr size_t kMaxRequests = 16;
// Until facts are offered again that the store has refused.
constexpr absl::Duration kStoreRetry = absl::Seconds(5);

// Whether the facts lack what FillGaps() takes from the ones before them.
bool HasGaps(const v1::Facts& facts) {
  return !facts.has_cpu() || !facts.has_memory() || LacksGpus(facts);
}

// Processors, memory and GPUs that the node could not tell this time are those that it had told in
// the same boot: under load a probe may take too long, and slurm.conf would lose the node, or its
// GPUs.
void FillGaps(const v1::Facts& last, v1::Facts& now) {
  if (now.os().boot_id().empty() || now.os().boot_id() != last.os().boot_id()) return;
  if (!now.has_cpu() && last.has_cpu()) *now.mutable_cpu() = last.cpu();
  if (!now.has_memory() && last.has_memory()) *now.mutable_memory() = last.memory();
  if (LacksGpus(now)) {
    *now.mutable_gpus() = last.gpus();
    now.set_nvidia_driver_version(last.nvidia_driver_version());
  }
}

}  // namespace

FactsKeeper::FactsKeeper(Store& store, Clock& clock)
    : store_(store), clock_(clock), worker_(clock, [this] {
        return WriteNews() ? absl::InfiniteFuture() : clock_.Now() + kStoreRetry;
      }) {
  worker_.Start();
}

FactsKeeper::~FactsKeeper() { Stop(); }

void FactsKeeper::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_closed_ = true;
  }
  worker_.Stop();
  WriteNews();
}

void FactsKeeper::KeepForLater(NewsByNode news) {
  absl::MutexLock lock(&mutex_);
  for (auto& [uuid, each] : news) {
    const auto [found, is_new] = news_.try_emplace(uuid);
    News& later = found->second;
    if (is_new) later.refused = std::move(each.refused);
    if (!later.facts.has_value()) later.facts = std::move(each.facts);
    std::vector<Answer> answers = std::exchange(later.answers, {});
    for (Answer& answer : each.answers) {
      const std::optional<FactsRequest> request = ParseFactsRequest(answer.request_id);
      // A person has been told of the store's refusal.
      if (request.has_value() && request->owner != FactsRequest::Owner::kPerson)
        later.answers.push_back(std::move(answer));
    }
    for (Answer& answer : answers) {
      if (later.answers.size() < kMaxRequests) later.answers.push_back(std::move(answer));
    }
  }
}

bool FactsKeeper::WriteNews() {
  NewsByNode news;
  {
    absl::MutexLock lock(&mutex_);
    news.swap(news_);
  }
  if (news.empty() || Write(news)) return true;
  KeepForLater(std::move(news));
  return false;
}

absl::Status FactsKeeper::CheckRefreshes(absl::string_view person) const {
  const auto own = std::count_if(waiting_.begin(), waiting_.end(),
                                 [&](const auto& each) { return each.second->person == person; });
  if (static_cast<size_t>(own) >= kMaxRefreshesOfPerson) {
    return absl::ResourceExhaustedError(
        absl::StrCat(person, " is already waiting for the facts of ", own,
                     " nodes, the maximum for one person: wait for them to answer"));
  }
  if (waiting_.size() < kMaxRefreshes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(waiting_.size(),
                   " nodes are already being asked for their facts: try again in a few seconds"));
}

absl::Status FactsKeeper::Refresh(AgentSessions& sessions, absl::string_view node_uuid,
                                  absl::string_view person, absl::Duration timeout,
                                  v1::PackageFacts* packages) {
  const std::string request_id = ToRequestId({FactsRequest::Owner::kPerson, NewUuid()});
  Waiting waiting;
  waiting.node_uuid = std::string(node_uuid);
  waiting.person = std::string(person);
  waiting.packages = packages;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckRefreshes(person));
    waiting_[request_id] = &waiting;
  }
  v1::ControllerMessage message;
  message.mutable_gather_facts()->set_request_id(request_id);
  message.mutable_gather_facts()->set_with_packages(packages != nullptr);
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
  const v1::PackageFacts& packages = report.facts().packages();
  GoodFacts facts;
  facts.has_gaps = HasGaps(report.facts());
  if (packages.lines().empty()) {
    facts.serialized = report.facts().SerializeAsString();
  } else {
    v1::Facts kept = report.facts();
    kept.mutable_packages()->clear_lines();
    facts.serialized = kept.SerializeAsString();
  }
  absl::MutexLock lock(&mutex_);
  if (is_closed_) return;
  const auto asked = waiting_.find(report.request_id());
  if (asked != waiting_.end() && asked->second->packages != nullptr &&
      asked->second->node_uuid == node_uuid && !asked->second->is_answered)
    *asked->second->packages = packages;
  News& news = news_[std::string(node_uuid)];
  news.facts = std::move(facts);
  news.refused = absl::OkStatus();
  if (news.answers.size() < kMaxRequests) news.answers.push_back({report.request_id(), {}});
  worker_.Wake();
}

void FactsKeeper::OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                                 const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (is_closed_) return;
  News& news = news_[std::string(node_uuid)];
  news.refused = why;
  if (news.answers.size() < kMaxRequests) news.answers.push_back({std::string(request_id), why});
  worker_.Wake();
}

absl::Status FactsKeeper::RefuseBadFacts() {
  std::map<std::string, absl::Status> bad;  // by the node's name
  v1::Facts facts;
  RETURN_IF_ERROR(ForEachFacts(store_, [&](const std::string& name, const std::string& stored) {
    absl::Status good = facts.ParseFromString(stored)
                            ? CheckFacts(facts)
                            : absl::InvalidArgumentError("the stored facts are damaged");
    if (!good.ok()) bad.emplace(name, std::move(good));
  }));
  if (bad.empty()) return absl::OkStatus();
  std::vector<std::string> audited;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    audited.clear();
    for (const auto& [name, why] : bad) {
      ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().GetByName(name));
      RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, ""));
      RETURN_IF_ERROR(WriteRefusal(txn, node.uuid, why, audited));
    }
    return absl::OkStatus();
  }));
  for (const std::string& uuid : audited) audited_[uuid] = clock_.Now();
  return absl::OkStatus();
}

absl::Status FactsKeeper::WriteRefusal(Transaction& txn, const std::string& uuid,
                                       const absl::Status& why, std::vector<std::string>& audited) {
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(uuid));
  RETURN_IF_ERROR(txn.nodes().PutFactsRefusal({uuid, std::string(why.message()), now}));
  const auto last = audited_.find(uuid);
  if (last != audited_.end() && !HasPassed(kAuditInterval, last->second, now))
    return absl::OkStatus();
  audited.push_back(uuid);
  return Audit(txn, now, NodeActor(uuid), "node.facts_refused", node.name, why.message());
}

absl::Status FactsKeeper::PutFacts(Transaction& txn, const std::string& uuid,
                                   const GoodFacts& facts) {
  if (!facts.has_gaps) return txn.nodes().PutFacts(uuid, facts.serialized);
  ASSIGN_OR_RETURN(const std::string stored, txn.nodes().Facts(uuid));
  v1::Facts now, last;
  if (!last.ParseFromString(stored) || !now.ParseFromString(facts.serialized))
    return txn.nodes().PutFacts(uuid, facts.serialized);
  FillGaps(last, now);
  return txn.nodes().PutFacts(uuid, now.SerializeAsString());
}

bool FactsKeeper::Write(const NewsByNode& news) {
  std::vector<std::string> audited;
  const absl::Status stored = store_.Update([&](Transaction& txn) -> absl::Status {
    audited.clear();
    for (const auto& [uuid, each] : news) {
      absl::Status put;
      if (each.facts.has_value()) put = PutFacts(txn, uuid, *each.facts);
      if (put.ok() && !each.refused.ok()) put = WriteRefusal(txn, uuid, each.refused, audited);
      // A machine that is not enrolled any more must not cost the others their facts.
      if (!absl::IsNotFound(put)) RETURN_IF_ERROR(put);
    }
    return absl::OkStatus();
  });
  if (stored.ok()) {
    for (const std::string& uuid : audited) audited_[uuid] = clock_.Now();
  }
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [uuid, each] : news) {
      for (const Answer& answer : each.answers) {
        const auto found = waiting_.find(answer.request_id);
        if (found == waiting_.end() || found->second->node_uuid != uuid) continue;
        found->second->outcome = stored.ok() ? answer.refused : stored;
        found->second->is_answered = true;
      }
    }
  }
  if (!on_answered_ || !stored.ok()) return stored.ok();
  for (const auto& [uuid, each] : news) {
    for (const Answer& answer : each.answers) {
      const std::optional<FactsRequest> request = ParseFactsRequest(answer.request_id);
      if (request.has_value()) on_answered_(uuid, *request, answer.refused);
    }
  }
  return true;
}

}  // namespace muster::controller
