// The real muster-burnin as a child, controlled as by an agent.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/sys/unique_fd.h"

namespace muster::testing {

// The destructor ends it, by its own id.
class WorkerProcess {
 public:
  explicit WorkerProcess(std::vector<std::string> argv) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<char*> words;
    for (std::string& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    if (posix_spawnp(&pid_, words[0], &actions, nullptr, words.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = sys::UniqueFd(in[1]);
    from_ = sys::UniqueFd(out[0]);
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() { Kill(); }

  // Waits for it, too.
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  void Say(const nlohmann::json& line) {
    const std::string text = line.dump() + "\n";
    if (write(to_.get(), text.data(), text.size()) < 0) return;  // shows in its output
  }

  // The next line of `kind`, "progress" or "result", that has `member`; nullopt: none came in time,
  // or the process ended.
  std::optional<nlohmann::json> Await(const std::string& kind, const std::string& member,
                                      std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
      const size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        const nlohmann::json line =
            nlohmann::json::parse(buffer_.substr(0, end), nullptr, /*allow_exceptions=*/false);
        buffer_.erase(0, end + 1);
        if (line.is_object() && line.contains(kind) && line[kind].contains(member))
          return line[kind];
        continue;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      pollfd wait = {.fd = from_.get(), .events = POLLIN, .revents = 0};
      if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) <= 0)
        return std::nullopt;
      char chunk[65536];
      const ssize_t count = read(from_.get(), chunk, sizeof chunk);
      if (count <= 0) return std::nullopt;
      buffer_.append(chunk, static_cast<size_t>(count));
    }
  }
  // The result.
  std::optional<nlohmann::json> Result(std::chrono::seconds limit = std::chrono::seconds(60)) {
    return Await("result", "outcome", limit);
  }
  // True: it reports this phase.
  bool AwaitPhase(const std::string& beginning,
                  std::chrono::seconds limit = std::chrono::seconds(30)) {
    for (;;) {
      const auto progress = Await("progress", "phase", limit);
      if (!progress) return false;
      if (absl::StartsWith((*progress)["phase"].get<std::string>(), beginning)) return true;
    }
  }

 private:
  pid_t pid_ = -1;
  sys::UniqueFd to_;
  sys::UniqueFd from_;
  std::string buffer_;
};

}  // namespace muster::testing
