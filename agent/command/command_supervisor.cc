#include "agent/command/command_supervisor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/process/process_control.h"

namespace muster::agent {

struct CommandSupervisor::Running {
  sys::ProcessControl control;
  // Guarded by the supervisor's lock.
  std::thread thread;
  bool is_forgotten = false;  // its connection is over
};

CommandSupervisor::CommandSupervisor(Run run, std::function<void()> wake)
    : run_(std::move(run)), wake_(std::move(wake)) {}

CommandSupervisor::~CommandSupervisor() { Shutdown(); }

void CommandSupervisor::Add(const std::string& command_id, v1::CommandEnd end) {
  v1::CommandResult& result = *due_.emplace_back().mutable_command_result();
  result.set_command_id(command_id);
  *result.mutable_end() = std::move(end);
}

void CommandSupervisor::Start(const v1::StartCommand& command) {
  JoinEnded();
  {
    absl::MutexLock lock(&mutex_);
    const auto refuse = [&](std::string why) {
      v1::CommandEnd end;
      end.set_outcome(v1::COMMAND_OUTCOME_NOT_RUN);
      end.set_message(std::move(why));
      mutex_.AssertHeld();
      Add(command.command_id(), std::move(end));
    };
    if (running_.count(command.command_id()) > 0) return;  // the controller makes each id once
    if (is_shut_down_) {
      refuse("the agent is stopping");
    } else if (running_.size() >= kMaxRunning) {
      refuse(absl::StrCat(kMaxRunning, " commands are running on this node already"));
    } else {
      auto running = std::make_shared<Running>();
      running_[command.command_id()] = running;
      running->thread = std::thread([this, running, command] { Carry(running, command); });
      return;
    }
  }
  wake_();
}

void CommandSupervisor::Carry(const std::shared_ptr<Running>& running,
                              const v1::StartCommand& command) {
  v1::CommandEnd end = run_(command, running->control);
  {
    absl::MutexLock lock(&mutex_);
    if (!running->is_forgotten) Add(command.command_id(), std::move(end));
    ended_.push_back(std::move(running->thread));
    running_.erase(command.command_id());
    // Under the lock: Shutdown() waits for an empty list, and then nobody must use the object.
    wake_();
  }
}

void CommandSupervisor::Stop(const v1::StopCommand& stop) {
  absl::MutexLock lock(&mutex_);
  const auto found = running_.find(stop.command_id());
  if (found != running_.end()) found->second->control.Stop();
}

void CommandSupervisor::OnDisconnected() {
  absl::MutexLock lock(&mutex_);
  due_.clear();
  for (auto& [id, running] : running_) {
    running->is_forgotten = true;
    running->control.Stop();
  }
}

std::vector<v1::AgentMessage> CommandSupervisor::TakeDue() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(due_, {});
}

void CommandSupervisor::JoinEnded() {
  std::vector<std::thread> ended;
  {
    absl::MutexLock lock(&mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

void CommandSupervisor::Shutdown() {
  {
    absl::MutexLock lock(&mutex_);
    is_shut_down_ = true;
    for (auto& [id, running] : running_) running->control.Stop();
    mutex_.Await(absl::Condition(this, &CommandSupervisor::IsIdle));
  }
  JoinEnded();
}

}  // namespace muster::agent
