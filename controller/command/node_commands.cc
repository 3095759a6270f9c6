#include "controller/command/node_commands.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/feed/ready_callback.h"
#include "controller/store/store.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

// JSON, so that nothing in an argument is mistaken for its end.
std::string Quoted(const std::vector<std::string>& argv) {
  return nlohmann::json(argv).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

// A command, and the place of its one watcher. The fields without a comment on their lock are
// constant; the rest is guarded by the lock of NodeCommands, which outlives the calls that use
// them.
class NodeCommands::Execution final : public CommandWatch {
 public:
  Execution(NodeCommands& commands, std::string id, CommandOrder order, Actor actor,
            std::function<void()> on_ready)
      : commands_(commands),
        id(std::move(id)),
        argv(std::move(order.argv)),
        time_limit(order.time_limit),
        actor(std::move(actor)),
        round(order.nodes, order.at_once, order.time_limit + kEndPatience),
        ready_(std::move(on_ready)) {
    for (const CommandNode& node : order.nodes) names.push_back(node.name);
  }

  std::shared_ptr<const v1::RunCommandResponse> Next() override {
    absl::MutexLock lock(&commands_.mutex_);
    if (is_broken) return nullptr;
    auto event = std::make_shared<v1::RunCommandResponse>();
    if (!std::exchange(has_begun_, true)) {
      event->mutable_begun()->set_command_id(id);
      event->mutable_begun()->mutable_nodes()->Assign(names.begin(), names.end());
      return event;
    }
    commands_.Advance(*this);
    if (std::optional<v1::NodeCommandEnd> end = round.TakeEnd()) {
      *event->mutable_node_ended() = *std::move(end);
      // Its place is free, and perhaps all are done now.
      commands_.worker_.Wake();
      return event;
    }
    if (!is_audited || std::exchange(has_ended_, true)) return nullptr;
    event->mutable_done()->set_output_sha256(round.OutputDigest());
    return event;
  }
  bool AtEnd() override {
    absl::MutexLock lock(&commands_.mutex_);
    return has_ended_;
  }
  bool IsBroken() override {
    absl::MutexLock lock(&commands_.mutex_);
    return is_broken;
  }
  void Cancel() override {
    ready_.Drop();
    absl::MutexLock lock(&commands_.mutex_);
    is_left = true;
    commands_.worker_.Wake();
  }

  void Notify() { ready_.Call(); }

 private:
  NodeCommands& commands_;

 public:
  const std::string id;
  const std::vector<std::string> argv;
  const absl::Duration time_limit;
  const Actor actor;
  std::vector<std::string> names;
  CommandRound round;
  bool is_left = false;     // the watcher is gone
  bool is_audited = false;  // its end is in the audit log
  bool is_broken = false;

 private:
  bool has_begun_ = false;  // the watcher has the first event
  bool has_ended_ = false;  // and the last
  ReadyCallback ready_;     // never called under the lock of NodeCommands
};

NodeCommands::NodeCommands(Store& store, AgentSessions& sessions, Clock& clock,
                           std::function<void(absl::string_view)> warn)
    : store_(store),
      sessions_(sessions),
      clock_(clock),
      warn_(std::move(warn)),
      worker_(clock, [this] { return Step(); }) {}

NodeCommands::~NodeCommands() { Stop(); }

void NodeCommands::Start() { worker_.Start(); }

void NodeCommands::Stop() {
  std::vector<std::shared_ptr<Execution>> open;
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    for (const auto& [id, execution] : executions_) {
      execution->is_broken = true;
      open.push_back(execution);
    }
  }
  for (const auto& execution : open) execution->Notify();
  worker_.Stop();
  Step();  // ends what the watches have left
}

absl::StatusOr<std::shared_ptr<CommandWatch>> NodeCommands::Begin(CommandOrder order,
                                                                  const Actor& actor,
                                                                  std::function<void()> on_ready) {
  const auto execution = std::make_shared<Execution>(*this, NewShortId("x"), std::move(order),
                                                     actor, std::move(on_ready));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return Audit(txn, clock_.Now(), actor, "exec.start", FoldHostlist(execution->names),
                 absl::StrCat(execution->id, ": ", Quoted(execution->argv), ", for at most ",
                              absl::FormatDuration(execution->time_limit)));
  }));
  absl::MutexLock lock(&mutex_);
  if (is_stopping_) return absl::UnavailableError("the controller is stopping");
  executions_[execution->id] = execution;
  return std::shared_ptr<CommandWatch>(execution);
}

void NodeCommands::Advance(Execution& execution) {
  if (execution.is_left || execution.is_broken) return;
  while (execution.round.CanStart()) {
    for (const CommandNode& node : execution.round.TakeStarts(clock_.Now())) {
      v1::ControllerMessage message;
      v1::StartCommand& start = *message.mutable_start_command();
      start.set_command_id(execution.id);
      start.mutable_argv()->Assign(execution.argv.begin(), execution.argv.end());
      *start.mutable_time_limit() = ToProtoDuration(execution.time_limit);
      const absl::Status sent = sessions_.Send(node.uuid, message);
      if (sent.ok()) continue;
      const bool is_away = absl::IsUnavailable(sent);
      execution.round.OnLost(
          node.uuid, is_away ? v1::COMMAND_OUTCOME_NOT_CONNECTED : v1::COMMAND_OUTCOME_NOT_RUN,
          is_away ? absl::string_view() : absl::string_view(sent.message()));
    }
  }
}

void NodeCommands::SendStop(const Execution& execution, const std::string& uuid) {
  v1::ControllerMessage message;
  message.mutable_stop_command()->set_command_id(execution.id);
  sessions_.Send(uuid, message).IgnoreError();  // away: the command ends with its connection
}

void NodeCommands::OnGone(absl::string_view node_uuid) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, execution] : executions_)
    execution->round.OnLost(node_uuid, v1::COMMAND_OUTCOME_LOST,
                            "the connection to its agent broke, and so the command was killed");
  if (!executions_.empty()) worker_.Wake();
}

void NodeCommands::OnConnected(absl::string_view node_uuid, const v1::Hello&) { OnGone(node_uuid); }

void NodeCommands::OnDisconnected(absl::string_view node_uuid) { OnGone(node_uuid); }

void NodeCommands::OnCommandResult(absl::string_view node_uuid, const v1::CommandResult& result) {
  absl::MutexLock lock(&mutex_);
  const auto found = executions_.find(result.command_id());
  if (found == executions_.end()) return;  // its caller has left
  found->second->round.OnEnd(node_uuid, result.end());
  worker_.Wake();
}

absl::Status NodeCommands::AuditEnd(const Execution& execution, const std::string& detail) {
  return store_.Update([&](Transaction& txn) {
    return Audit(txn, clock_.Now(), execution.actor, "exec.end", FoldHostlist(execution.names),
                 detail);
  });
}

absl::Time NodeCommands::Step() {
  const absl::Time now = clock_.Now();
  absl::Time next = absl::InfiniteFuture();
  std::vector<std::shared_ptr<Execution>> ready;
  std::vector<std::pair<std::shared_ptr<Execution>, std::string>> over;  // and what to audit
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = executions_.begin(); it != executions_.end();) {
      Execution& execution = *it->second;
      CommandRound& round = execution.round;
      const bool is_cut = execution.is_left || execution.is_broken;
      if (is_cut) {
        for (const std::string& uuid : round.Running()) SendStop(execution, uuid);
      } else {
        for (const std::string& uuid : round.Expire(now)) SendStop(execution, uuid);
        Advance(execution);
        next = std::min(next, round.NextDeadline());
      }
      if (!is_cut && round.HasEnds()) ready.push_back(it->second);
      if (!is_cut && !round.IsOver()) {
        ++it;
        continue;
      }
      over.emplace_back(it->second,
                        absl::StrCat(execution.id, is_cut ? ": its caller left; " : ": ",
                                     round.Summary(), "; output sha256 ", round.OutputDigest()));
      it = executions_.erase(it);
    }
  }
  for (const auto& [execution, detail] : over) {
    const absl::Status audited = AuditEnd(*execution, detail);
    if (!audited.ok())
      warn_(absl::StrCat("the end of a command is not in the audit log: ", detail, ": ",
                         audited.message()));
    {
      absl::MutexLock lock(&mutex_);
      execution->is_audited = audited.ok();
      execution->is_broken = execution->is_broken || !audited.ok();
    }
    ready.push_back(execution);
  }
  for (const auto& execution : ready) execution->Notify();
  return next;
}

}  // namespace muster::controller
