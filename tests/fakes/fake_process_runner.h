// Programs that answer as the test says. Unknown programs do not exist, as on a bare machine.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_output.h"

namespace muster::testing {

class FakeProcessRunner final : public sys::ProcessRunner {
 public:
  using Behaviour = std::function<sys::ProcessResult(const sys::ProcessSpec&)>;

  // Commands whose joined argv begins with `prefix` behave like this; the longest prefix wins.
  void On(const std::string& prefix, Behaviour behaviour) {
    behaviours_[prefix] = std::move(behaviour);
  }
  void On(const std::string& prefix, sys::ProcessResult result) {
    On(prefix, [result](const sys::ProcessSpec&) { return result; });
  }
  // As on a bare machine again.
  void RemovePrograms() { behaviours_.clear(); }
  static sys::ProcessResult Prints(std::string text, int exit_code = 0) {
    return {.exit_code = exit_code, .out = text, .output = text};
  }

  absl::StatusOr<sys::ProcessResult> Run(const sys::ProcessSpec& spec) override {
    const std::string line = absl::StrJoin(spec.argv, " ");
    {
      absl::MutexLock lock(&mutex_);
      commands_.push_back(line);
      specs_.push_back(spec);
    }
    const Behaviour* best = nullptr;
    for (const auto& [prefix, behaviour] : behaviours_)
      if (absl::StartsWith(line, prefix)) best = &behaviour;  // sorted: the longest comes last
    if (best == nullptr)
      return absl::NotFoundError(absl::StrCat("no program '", spec.argv.front(), "'"));
    sys::ProcessResult result = (*best)(spec);
    sys::LineSplitter lines(spec.on_line);
    lines.Append(result.output);
    lines.Finish();
    return result;
  }

  // The commands that were run, each as its joined argv; read when none runs.
  const std::vector<std::string>& commands() const { return commands_; }
  const std::vector<sys::ProcessSpec>& specs() const { return specs_; }
  void ClearLog() {
    commands_.clear();
    specs_.clear();
  }

 private:
  std::map<std::string, Behaviour> behaviours_;
  absl::Mutex mutex_;  // for calls from several threads at once
  std::vector<std::string> commands_;
  std::vector<sys::ProcessSpec> specs_;
};

}  // namespace muster::testing
