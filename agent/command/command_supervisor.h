// The commands of administrators that this node is running.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::sys {
class ProcessControl;
}

namespace muster::agent {

// Runs each command in a thread of its own and holds its result ready for the session. A command
// lives no longer than the connection over which it came: nobody would read its result.
// Thread-safe.
class CommandSupervisor {
 public:
  // More commands at once are refused.
  static constexpr size_t kMaxRunning = 4;

  using Run = std::function<v1::CommandEnd(const v1::StartCommand&, sys::ProcessControl&)>;

  // `run` carries a command out and blocks until its end. `wake` is called when TakeDue() has
  // something new; it must not block or call the object.
  CommandSupervisor(Run run, std::function<void()> wake);
  // Stops all commands and waits for their end.
  ~CommandSupervisor();

  void Start(const v1::StartCommand& command);
  void Stop(const v1::StopCommand& stop);
  // The connection is over: its commands are stopped, and their results are dropped.
  void OnDisconnected();
  // The messages to send now.
  std::vector<v1::AgentMessage> TakeDue();
  // Stops all commands and waits for their end. None starts afterwards.
  void Shutdown();

 private:
  struct Running;

  void Add(const std::string& command_id, v1::CommandEnd end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Carry(const std::shared_ptr<Running>& running, const v1::StartCommand& command);
  void JoinEnded();
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_.empty(); }

  const Run run_;
  const std::function<void()> wake_;
  absl::Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Running>> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AgentMessage> due_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
