#include "controller/session/session_registry.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/interval.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/key_line.h"
#include "controller/session/agent_session.h"
#include "controller/session/fleet_pace.h"
#include "controller/session/intake.h"
#include "controller/store/store.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

void SetPace(size_t fleet_size, v1::Welcome& welcome) {
  *welcome.mutable_heartbeat_interval() = ToProtoDuration(HeartbeatInterval(fleet_size));
  if (const absl::Duration spread = ReconnectSpread(fleet_size); spread > absl::Seconds(1)) {
    *welcome.mutable_reconnect_spread() = ToProtoDuration(spread);
  }
}

}  // namespace

SessionRegistry::SessionRegistry(Store& store, Clock& clock, AgentSessionListener& listener)
    : store_(store), clock_(clock), listener_(listener) {}

SessionRegistry::~SessionRegistry() { Stop(); }

void SessionRegistry::Start() {
  // The nodes that come first after a restart must know how many others will come.
  store_
      .View([this](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
        absl::MutexLock lock(&mutex_);
        fleet_size_ = std::max(fleet_size_, nodes.size());
        return absl::OkStatus();
      })
      .IgnoreError();  // the pace is that of a small fleet then
}

void SessionRegistry::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [uuid, entry] : nodes_)
      if (entry.session != nullptr) TouchNode(entry, *entry.session);
  }
  WriteTouches();
}

void SessionRegistry::Sweep() {
  const absl::Time now = clock_.Now();
  std::vector<std::pair<std::shared_ptr<AgentSession>, absl::Status>> dead;
  {
    absl::MutexLock lock(&mutex_);
    if (HasPassed(absl::Minutes(1), begun_since_, now)) {
      for (auto& [uuid, entry] : nodes_) entry.begun = 0;
      begun_since_ = now;
    }
    const absl::Duration silence = MaxSilence(fleet_size_);
    silence_.OnSweep(now);
    for (const auto& [key, session] : all_) {
      if (!session->has_greeted() &&
          silence_.Since(session->connected_at()) + kHelloTimeout < now) {
        dead.emplace_back(session, absl::DeadlineExceededError("no Hello came"));
      } else if (silence_.Since(session->last_seen_at()) + silence < now) {
        dead.emplace_back(session, absl::DeadlineExceededError(absl::StrCat(
                                       kMissedHeartbeats, " heartbeats in a row are missing")));
      } else if (const absl::Status refilled = session->Refill(now, silence_.resumed_at());
                 !refilled.ok()) {
        dead.emplace_back(session, refilled);
      }
    }
  }
  for (const auto& [session, status] : dead) {
    if (absl::IsResourceExhausted(status)) Misbehaved(*session, status);
    // A peer that the status has not reached since the last sweep accepts nothing any more.
    if (session->IsClosing()) session->Abort();
    session->Close(status);
    // Does not wait for gRPC: a machine that lost power does not answer.
    Retire(*session);
  }
  WriteTouches();
}

void SessionRegistry::TouchNode(const NodeEntry& entry, const AgentSession& session) {
  touches_[session.node_uuid()] = {session.last_seen_at(), session.boot_id(),
                                   entry.boots.has_value() ? entry.boots->earlier() : "",
                                   session.agent_version()};
}

void SessionRegistry::WriteTouches() {
  absl::flat_hash_map<std::string, NodeTouch> touches;
  {
    absl::MutexLock lock(&mutex_);
    touches.swap(touches_);
  }
  if (touches.empty()) return;
  const absl::Status written = store_.Update([&](Transaction& txn) -> absl::Status {
    for (const auto& [uuid, touch] : touches) RETURN_IF_ERROR(txn.nodes().Touch(uuid, touch));
    return absl::OkStatus();
  });
  if (written.ok()) return;
  absl::MutexLock lock(&mutex_);  // for instance a full disk: try again with the next sweep
  for (auto& [uuid, touch] : touches) touches_.try_emplace(uuid, std::move(touch));
}

absl::Mutex& SessionRegistry::OrderOf(absl::string_view node_uuid) {
  return order_[absl::HashOf(node_uuid) % order_.size()];
}

absl::Status SessionRegistry::Add(std::shared_ptr<AgentSession> session) {
  const AgentSession& added = *session;
  size_t begun = 0;
  {
    absl::MutexLock lock(&mutex_);
    NodeEntry& entry = nodes_[session->node_uuid()];
    begun = ++entry.begun;
    const size_t streams = ++entry.streams;
    all_[&added] = std::move(session);
    if (is_closed_) return absl::UnavailableError("the controller is stopping");
    if (streams > kMaxStreams && begun <= kMaxBegunAMinute) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this node has ", kMaxStreams, " open sessions already"));
    }
  }
  if (begun <= kMaxBegunAMinute) return absl::OkStatus();
  const absl::Status often = absl::ResourceExhaustedError(absl::StrCat(
      "this node started ", kMaxBegunAMinute, " sessions within a minute; it must wait"));
  if (begun == kMaxBegunAMinute + 1) Misbehaved(added, often);
  return often;
}

void SessionRegistry::Close() {
  std::vector<std::shared_ptr<AgentSession>> sessions;
  {
    absl::MutexLock lock(&mutex_);
    is_closed_ = true;
    for (const auto& [key, session] : all_) sessions.push_back(session);
  }
  for (const std::shared_ptr<AgentSession>& session : sessions)
    session->Close(absl::UnavailableError("the controller is stopping"));
}

void SessionRegistry::Misbehaved(const AgentSession& session, const absl::Status& why) {
  const std::string& uuid = session.node_uuid();
  listener_.OnMisbehaved(uuid, why.message());
  const absl::Time now = clock_.Now();
  {
    absl::MutexLock lock(&mutex_);
    absl::Time& last = nodes_[uuid].misbehaved_at;
    if (!HasPassed(kMisbehaviourInterval, last, now)) return;
    last = now;
  }
  // An entry that a full disk refuses is at least in the log.
  store_
      .Update([&](Transaction& txn) -> absl::Status {
        const absl::StatusOr<NodeRecord> node = txn.nodes().Get(uuid);
        return Audit(txn, now, NodeActor(uuid, session.peer()), "node.cut_off",
                     node.ok() ? node->name : uuid, why.message());
      })
      .IgnoreError();
}

absl::Status SessionRegistry::CheckClone(absl::string_view node_uuid, const NodeRecord& node,
                                         const AgentSession& session, const std::string& boot_id) {
  const std::string uuid(node_uuid);
  const absl::Time now = clock_.Now();
  bool is_news = false;
  {
    absl::MutexLock lock(&mutex_);
    std::optional<BootHistory>& boots = nodes_[uuid].boots;
    if (!boots.has_value()) boots.emplace(node.boot_id, node.earlier_boots);
    if (boots->Accept(boot_id)) return absl::OkStatus();
    is_news = boots->IsNews(boot_id, now, kMisbehaviourInterval);
  }
  const std::string message =
      absl::StrCat("two machines use the identity of ", node.name, ": boot ", boot_id, " from ",
                   session.peer(), " connected again after another one; run `muster node remove ",
                   node.name, " --membership-only` and enroll each machine with its own token");
  if (is_news) {
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
      return Audit(txn, now, NodeActor(uuid, session.peer()), "node.clone", node.name, message);
    }));
    absl::MutexLock lock(&mutex_);
    nodes_[uuid].boots->OnAudited(boot_id, now);
  }
  return absl::FailedPreconditionError(message);
}

absl::Status SessionRegistry::Greet(const std::shared_ptr<AgentSession>& session,
                                    const v1::Hello& hello) {
  const std::string& uuid = session->node_uuid();
  NodeRecord node;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    absl::StatusOr<NodeRecord> found = txn.nodes().Get(uuid);
    RETURN_IF_ERROR(CheckMember(found));
    node = *std::move(found);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(CheckClone(uuid, node, *session, hello.boot_id()));

  v1::ControllerMessage welcome;
  welcome.mutable_welcome()->set_node_name(node.name);
  *welcome.mutable_welcome()->mutable_controller_time() = ToTimestamp(clock_.Now());
  welcome.mutable_welcome()->set_controller_version(kVersion);
  if (is_on_probation_.load()) {
    {
      absl::MutexLock lock(&mutex_);
      SetPace(fleet_size_, *welcome.mutable_welcome());
    }
    RETURN_IF_ERROR(session->Send(welcome));
    return absl::UnavailableError("the controller is being exchanged");
  }
  welcome.mutable_welcome()->set_renew_certificate(session->must_renew());

  std::shared_ptr<AgentSession> before;
  {
    absl::MutexLock order(&OrderOf(uuid));
    {
      absl::MutexLock lock(&mutex_);
      if (!all_.contains(session.get())) return absl::CancelledError("the stream is over");
      NodeEntry& entry = nodes_[uuid];
      fleet_size_ = std::max(fleet_size_, connected_ + (entry.session == nullptr));
      SetPace(fleet_size_, *welcome.mutable_welcome());
      // Before others find the session: Welcome must be the first message that the agent reads.
      RETURN_IF_ERROR(session->Send(welcome));
      before = std::exchange(entry.session, session);
      connected_ += before == nullptr;
      if (node.boot_id != hello.boot_id() || node.agent_version != hello.agent_version())
        TouchNode(entry, *session);
    }
    listener_.OnConnected(uuid, hello);
  }
  if (before != nullptr)
    before->Close(absl::AbortedError("another session of this node replaced this one"));
  return absl::OkStatus();
}

void SessionRegistry::Deliver(const AgentSession& session, v1::AgentMessage& message) {
  const std::string& uuid = session.node_uuid();
  absl::MutexLock order(&OrderOf(uuid));
  {
    absl::MutexLock lock(&mutex_);
    const auto found = nodes_.find(uuid);
    if (found == nodes_.end() || found->second.session.get() != &session) return;
  }
  switch (message.message_case()) {
    case v1::AgentMessage::kFacts:
      if (const absl::Status good = CheckFacts(message.facts().facts()); !good.ok())
        return listener_.OnFactsRefused(uuid, message.facts().request_id(), good);
      return listener_.OnFacts(uuid, message.facts());
    case v1::AgentMessage::kPlanReceipt:
      return listener_.OnPlanReceipt(uuid, message.plan_receipt());
    case v1::AgentMessage::kReports:
      return listener_.OnReports(
          uuid, std::make_shared<const v1::Reports>(std::move(*message.mutable_reports())));
    case v1::AgentMessage::kProgress:
      return listener_.OnProgress(uuid, message.progress());
    case v1::AgentMessage::kRebootRequest:
      return listener_.OnRebootRequest(uuid, message.reboot_request());
    case v1::AgentMessage::kCheckUpdate:
      return listener_.OnCheckUpdate(uuid, message.check_update());
    case v1::AgentMessage::kCheckReport:
      return listener_.OnCheckReport(uuid, message.check_report());
    case v1::AgentMessage::kSlurmAnswer:
      return listener_.OnSlurmAnswer(uuid, message.slurm_answer());
    case v1::AgentMessage::kCommandResult:
      return listener_.OnCommandResult(uuid, message.command_result());
    case v1::AgentMessage::kHealth:
      return listener_.OnHealth(uuid, message.health());
    case v1::AgentMessage::kReadings:
      return listener_.OnReadings(uuid, message.readings());
    case v1::AgentMessage::kHello:
    case v1::AgentMessage::kHeartbeat:
    case v1::AgentMessage::MESSAGE_NOT_SET:  // a newer agent's message, which we do not know
      return;
  }
}

void SessionRegistry::Remove(const AgentSession& session) {
  Retire(session);
  absl::MutexLock lock(&mutex_);
  if (all_.erase(&session) == 0) return;  // the session still holds itself
  --nodes_[session.node_uuid()].streams;
}

void SessionRegistry::Retire(const AgentSession& session) {
  const std::string& uuid = session.node_uuid();
  std::shared_ptr<AgentSession> held;  // released outside the locks
  absl::MutexLock order(&OrderOf(uuid));
  {
    absl::MutexLock lock(&mutex_);
    const auto found = nodes_.find(uuid);
    if (found == nodes_.end() || found->second.session.get() != &session) return;
    TouchNode(found->second, session);
    held = std::exchange(found->second.session, nullptr);
    --connected_;
  }
  listener_.OnDisconnected(uuid);
}

absl::StatusOr<std::shared_ptr<AgentSession>> SessionRegistry::SessionOf(
    absl::string_view node_uuid) const {
  absl::MutexLock lock(&mutex_);
  const auto found = nodes_.find(node_uuid);
  if (found == nodes_.end() || found->second.session == nullptr)
    return absl::UnavailableError("the node is not connected");
  return found->second.session;
}

absl::Status SessionRegistry::Send(absl::string_view node_uuid,
                                   const v1::ControllerMessage& message) {
  ASSIGN_OR_RETURN(const std::shared_ptr<AgentSession> session, SessionOf(node_uuid));
  return session->Send(message);
}

absl::Status SessionRegistry::SendPlan(absl::string_view node_uuid,
                                       std::shared_ptr<const std::string> message) {
  ASSIGN_OR_RETURN(const std::shared_ptr<AgentSession> session, SessionOf(node_uuid));
  return session->SendPlan(std::move(message));
}

bool SessionRegistry::IsConnected(absl::string_view node_uuid) const {
  absl::MutexLock lock(&mutex_);
  const auto found = nodes_.find(node_uuid);
  return found != nodes_.end() && found->second.session != nullptr;
}

std::vector<AgentSessionInfo> SessionRegistry::List() const {
  std::vector<AgentSessionInfo> infos;
  absl::MutexLock lock(&mutex_);
  infos.reserve(connected_);
  for (const auto& [uuid, entry] : nodes_) {
    if (const auto& session = entry.session; session != nullptr) {
      infos.push_back({uuid, session->peer(), session->agent_version(), session->connected_at(),
                       session->last_seen_at()});
    }
  }
  return infos;
}

void SessionRegistry::Disconnect(absl::string_view node_uuid, const absl::Status& why) {
  std::vector<std::shared_ptr<AgentSession>> sessions;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, session] : all_) {
      if (session->node_uuid() == node_uuid) sessions.push_back(session);
    }
  }
  if (!sessions.empty() && absl::IsResourceExhausted(why)) Misbehaved(*sessions.front(), why);
  for (const std::shared_ptr<AgentSession>& session : sessions) session->Close(why);
}

}  // namespace muster::controller
