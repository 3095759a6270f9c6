// Commands of administrators on nodes, over their agents' sessions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/audit/audit.h"
#include "controller/command/command_round.h"
#include "controller/feed/event_feed.h"
#include "controller/session/agent_sessions.h"

namespace muster::controller {

class Store;

struct CommandOrder {
  std::vector<CommandNode> nodes;  // at least one
  std::vector<std::string> argv;   // within the limits of muster/v1/command.proto
  absl::Duration time_limit;
  size_t at_once = 1;
};

using CommandWatch = EventWatch<v1::RunCommandResponse>;

// A command is in the audit log before it starts anywhere, and once more when it has ended. It
// lives as long as its watch: nobody else learns its results. Thread-safe.
class NodeCommands final : public AgentSessionListener {
 public:
  // How long the end may take after the time limit: the agent has to kill what the program started.
  static constexpr absl::Duration kEndPatience = absl::Seconds(20);

  // The references must outlive the object. `warn` writes to the log.
  NodeCommands(Store& store, AgentSessions& sessions, Clock& clock,
               std::function<void(absl::string_view)> warn);
  ~NodeCommands() override;

  void Start();
  // Breaks all watches, which ends their commands; none begins afterwards.
  void Stop();

  // Begins the command. `on_ready` as of EventFeed::Watch(). Cancelling the watch ends the command
  // on the nodes where it is running. Unavailable: the store does not answer, and nothing begins.
  absl::StatusOr<std::shared_ptr<CommandWatch>> Begin(CommandOrder order, const Actor& actor,
                                                      std::function<void()> on_ready);

  // AgentSessionListener
  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnCommandResult(absl::string_view node_uuid, const v1::CommandResult& result) override;

 private:
  class Execution;

  // Everything that is due: deadlines, ends for the audit log, news for watches.
  absl::Time Step();
  // Starts what may start now.
  void Advance(Execution& execution) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendStop(const Execution& execution, const std::string& uuid)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnGone(absl::string_view node_uuid);
  absl::Status AuditEnd(const Execution& execution, const std::string& detail);

  Store& store_;
  AgentSessions& sessions_;
  Clock& clock_;
  const std::function<void(absl::string_view)> warn_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // By command id, until the end is in the audit log.
  std::map<std::string, std::shared_ptr<Execution>, std::less<>> executions_
      ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace muster::controller
