#include "controller/slurm/agent_slurm_control.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/slurm_state.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller::slurm {
namespace {

// In one request; see muster/v1/slurm.proto.
constexpr size_t kNodesARequest = 512;
// The limit on parts of a listing: room for far more nodes than a cluster has.
constexpr int kMaxParts = 64;

template <typename Change, typename Changes>
absl::Status InParts(const std::vector<Change>& all, const Changes& change) {
  for (size_t begin = 0; begin < all.size(); begin += kNodesARequest) {
    const size_t end = std::min(all.size(), begin + kNodesARequest);
    RETURN_IF_ERROR(change(std::vector<Change>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                               all.begin() + static_cast<std::ptrdiff_t>(end))));
  }
  return absl::OkStatus();
}

void AddTo(google::protobuf::RepeatedPtrField<v1::SlurmNodeChange>& changes,
           const std::vector<NodeChange>& nodes) {
  for (const NodeChange& node : nodes) {
    v1::SlurmNodeChange& change = *changes.Add();
    change.set_node(node.node);
    change.set_expected_reason(node.expected_reason);
  }
}

void Collect(const v1::SlurmChanged& changed, const std::vector<NodeChange>& asked,
             LeftAlone& left) {
  std::set<absl::string_view> names;
  for (const NodeChange& change : asked) names.insert(change.node);
  for (const v1::SlurmLeftAlone& node : changed.left_alone()) {
    if (names.count(node.node()) > 0) left[node.node()] = node.why();
  }
}

}  // namespace

SlurmctldPlace PlaceToAsk(const std::vector<SlurmctldPlace>& places,
                          const AgentSessions& sessions) {
  for (const SlurmctldPlace& place : places) {
    if (sessions.IsConnected(place.uuid)) return place;
  }
  return places.front();
}

AgentSlurmControl::AgentSlurmControl(AgentSessions& sessions, Clock& clock,
                                     std::function<absl::StatusOr<SlurmctldPlace>()> find,
                                     std::function<void()> on_connected)
    : sessions_(sessions),
      clock_(clock),
      find_(std::move(find)),
      on_connected_(std::move(on_connected)) {}

void AgentSlurmControl::Stop() {
  absl::MutexLock lock(&mutex_);
  is_stopping_ = true;
  for (auto& [id, waiting] : waiting_) waiting->is_over = waiting->is_cut = true;
}

absl::StatusOr<v1::SlurmAnswer> AgentSlurmControl::Ask(v1::SlurmRequest request,
                                                       v1::SlurmAnswer::AnswerCase kind) {
  ASSIGN_OR_RETURN(const SlurmctldPlace place, find_());
  const std::string where = absl::StrCat(place.node, ", where slurmctld runs");
  request.set_request_id(NewUuid());
  v1::ControllerMessage message;
  *message.mutable_slurm_request() = request;
  Waiting waiting;
  waiting.uuid = place.uuid;
  {
    absl::MutexLock lock(&mutex_);
    if (is_stopping_) return absl::UnavailableError("the controller is stopping");
    last_uuid_ = place.uuid;
    waiting_[request.request_id()] = &waiting;
  }
  const absl::Time deadline = clock_.Now() + kPatience;
  const absl::Status sent = sessions_.Send(place.uuid, message);
  {
    absl::MutexLock lock(&mutex_);
    if (sent.ok()) clock_.AwaitUntil(mutex_, absl::Condition(&waiting.is_over), deadline);
    waiting_.erase(request.request_id());
  }
  if (!sent.ok()) return absl::UnavailableError(absl::StrCat(where, ": ", sent.message()));
  if (!waiting.is_over) {
    return absl::UnavailableError(
        absl::StrCat(where, ": no answer in ", absl::FormatDuration(kPatience)));
  }
  if (waiting.is_cut) return absl::UnavailableError(absl::StrCat(where, ": the connection broke"));
  if (waiting.answer.code() != 0) {
    // A code that is not canonical is not one of ours.
    const bool is_code = waiting.answer.code() <= 16;
    return absl::Status(
        is_code ? static_cast<absl::StatusCode>(waiting.answer.code()) : absl::StatusCode::kUnknown,
        absl::StrCat(where, ": ", waiting.answer.message()));
  }
  if (waiting.answer.answer_case() != kind) {
    return absl::InternalError(absl::StrCat(where, ": the agent sent a different answer"));
  }
  return std::move(waiting.answer);
}

absl::StatusOr<std::vector<SlurmNode>> AgentSlurmControl::Nodes() {
  std::vector<SlurmNode> nodes;
  std::string after;
  for (int part = 0; part < kMaxParts; ++part) {
    v1::SlurmRequest request;
    request.mutable_list_nodes()->set_after(after);
    ASSIGN_OR_RETURN(const v1::SlurmAnswer answer,
                     Ask(std::move(request), v1::SlurmAnswer::kNodes));
    for (const v1::SlurmNode& node : answer.nodes().nodes()) {
      if (node.name() <= after) continue;  // otherwise an agent could keep us here
      after = node.name();
      nodes.push_back({node.name(), node.state(), node.takes_jobs() && !node.is_drained(),
                       node.is_drained(), node.reason(), node.reason_user(),
                       node.is_drained() || node.is_held(), IsSilentInSlurm(node.state()),
                       IsDownInSlurm(node.state())});
    }
    if (!answer.nodes().has_more()) return nodes;
  }
  return absl::InternalError("Slurm's list of nodes has no end");
}

absl::StatusOr<LeftAlone> AgentSlurmControl::Drain(const std::vector<NodeChange>& nodes,
                                                   const std::string& reason) {
  LeftAlone left;
  RETURN_IF_ERROR(InParts(nodes, [&](const std::vector<NodeChange>& part) -> absl::Status {
    v1::SlurmRequest request;
    request.mutable_drain()->set_reason(reason);
    AddTo(*request.mutable_drain()->mutable_nodes(), part);
    ASSIGN_OR_RETURN(const v1::SlurmAnswer answer,
                     Ask(std::move(request), v1::SlurmAnswer::kChanged));
    Collect(answer.changed(), part, left);
    return absl::OkStatus();
  }));
  return left;
}

absl::StatusOr<LeftAlone> AgentSlurmControl::Undrain(const std::vector<NodeChange>& nodes) {
  LeftAlone left;
  RETURN_IF_ERROR(InParts(nodes, [&](const std::vector<NodeChange>& part) -> absl::Status {
    v1::SlurmRequest request;
    AddTo(*request.mutable_undrain()->mutable_nodes(), part);
    ASSIGN_OR_RETURN(const v1::SlurmAnswer answer,
                     Ask(std::move(request), v1::SlurmAnswer::kChanged));
    Collect(answer.changed(), part, left);
    return absl::OkStatus();
  }));
  return left;
}

absl::StatusOr<SlurmJobsByNode> AgentSlurmControl::JobsOn(const std::vector<std::string>& nodes) {
  SlurmJobsByNode jobs;
  RETURN_IF_ERROR(InParts(nodes, [&](const std::vector<std::string>& part) -> absl::Status {
    v1::SlurmRequest request;
    request.mutable_list_jobs()->mutable_nodes()->Assign(part.begin(), part.end());
    ASSIGN_OR_RETURN(const v1::SlurmAnswer answer, Ask(std::move(request), v1::SlurmAnswer::kJobs));
    const std::set<std::string> asked(part.begin(), part.end());
    for (const v1::SlurmNodeJobs& node : answer.jobs().nodes()) {
      if (asked.count(node.node()) == 0) continue;
      for (const v1::SlurmJobInfo& job : node.jobs()) {
        jobs[node.node()].push_back({job.id(), job.user(), job.name(),
                                     job.has_seconds_left() ? absl::Seconds(job.seconds_left())
                                                            : absl::InfiniteDuration()});
      }
    }
    return absl::OkStatus();
  }));
  return jobs;
}

absl::StatusOr<LeftAlone> AgentSlurmControl::Requeue(const std::vector<JobOnNode>& jobs) {
  LeftAlone left;
  std::vector<JobOnNode> possible;
  for (const JobOnNode& job : jobs) {
    // The agent refuses requests with such ids as a whole.
    if (IsJobId(job.job)) {
      possible.push_back(job);
    } else {
      left[job.job] = "it is a part of another job";
    }
  }
  RETURN_IF_ERROR(InParts(possible, [&](const std::vector<JobOnNode>& part) -> absl::Status {
    v1::SlurmRequest request;
    std::set<absl::string_view> asked;
    for (const JobOnNode& job : part) {
      v1::SlurmJobOnNode& entry = *request.mutable_requeue_jobs()->add_jobs();
      entry.set_id(job.job);
      entry.set_node(job.node);
      asked.insert(job.job);
    }
    ASSIGN_OR_RETURN(const v1::SlurmAnswer answer,
                     Ask(std::move(request), v1::SlurmAnswer::kRequeued));
    for (const v1::SlurmJobLeftAlone& job : answer.requeued().left_alone()) {
      if (asked.count(job.id()) > 0) left[job.id()] = job.why();
    }
    return absl::OkStatus();
  }));
  return left;
}

void AgentSlurmControl::OnConnected(absl::string_view node_uuid, const v1::Hello&) {
  // The agent forgets requests of an earlier connection.
  OnDisconnected(node_uuid);
  {
    absl::MutexLock lock(&mutex_);
    if (!last_uuid_.empty() && last_uuid_ != node_uuid) return;
  }
  on_connected_();
}

void AgentSlurmControl::OnDisconnected(absl::string_view node_uuid) {
  absl::MutexLock lock(&mutex_);
  for (auto& [id, waiting] : waiting_) {
    if (waiting->uuid == node_uuid && !waiting->is_over) waiting->is_over = waiting->is_cut = true;
  }
}

void AgentSlurmControl::OnSlurmAnswer(absl::string_view node_uuid, const v1::SlurmAnswer& answer) {
  absl::MutexLock lock(&mutex_);
  const auto found = waiting_.find(answer.request_id());
  // Late, or from a node that was not asked.
  if (found == waiting_.end() || found->second->uuid != node_uuid || found->second->is_over) return;
  found->second->answer = answer;
  found->second->is_over = true;
}

}  // namespace muster::controller::slurm
