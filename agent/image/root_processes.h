// Programs that run in a root whose system is not running.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/sys/process/process.h"

namespace muster::agent {

// Adds variables to each program's environment, which win over none of its own. Thread-safe.
class RootProcesses final : public sys::ProcessRunner {
 public:
  RootProcesses(sys::ProcessRunner& processes, std::map<std::string, std::string> variables)
      : processes_(processes), variables_(std::move(variables)) {}

  absl::StatusOr<sys::ProcessResult> Run(const sys::ProcessSpec& spec) override {
    sys::ProcessSpec with_variables = spec;
    with_variables.environment.insert(variables_.begin(), variables_.end());
    return processes_.Run(with_variables);
  }

 private:
  sys::ProcessRunner& processes_;
  const std::map<std::string, std::string> variables_;
};

}  // namespace muster::agent
