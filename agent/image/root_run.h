// Runs one plan in a root, from its first step to its end, without a controller.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "agent/engine/role_run.h"
#include "common/base/clock.h"
#include "muster/v1/image.pb.h"

namespace muster::agent {

struct RootRun {
  // For the journal; exists and is empty.
  std::string journal_directory;
  ResourceFactory factory;
  // Called with each result soon after its step has ended, in the caller's thread.
  std::function<void(const v1::StepResult&)> on_result;
  // True: no further step begins. Asked often, from several threads.
  std::function<bool()> stopping;
};

// The rules of plans hold, except that a root has no identity of its own: it takes the plan's.
// Blocks. The report is complete whatever happens: its outcome says why a plan was refused, was
// stopped or could not be continued.
v1::ImageApplyReport RunInRoot(const v1::Plan& plan, const RootRun& run, Clock& clock);

}  // namespace muster::agent
