// The program that a step runs, of which never two copies run.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/resources/types.h"
#include "common/sys/process/process.h"

namespace muster::agent {

// An agent that ends leaves the programs of its steps running (KillMode=process), and its next life
// carries the steps out again. So a record says which process it is for as long as the program
// runs.
class StepProgram {
 public:
  // `context` must outlive the object.
  StepProgram(std::string step_id, ResourceContext& context)
      : step_id_(std::move(step_id)), context_(context) {}

  // Kills what an earlier life of the agent has left running, with its process group, and waits for
  // its end. DeadlineExceeded: it has not ended.
  absl::Status EndEarlier();
  // EndEarlier(), then the program as ProcessRunner::Run() runs it.
  absl::StatusOr<sys::ProcessResult> Run(sys::ProcessSpec spec);

 private:
  const std::string step_id_;
  ResourceContext& context_;
};

}  // namespace muster::agent
