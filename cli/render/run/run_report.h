// A run as text: plain lines, recap. Pure: state and time in, lines out.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "cli/render/run/run_view.h"

namespace muster::v1 {
class RunEvent;
class StepResult;
}  // namespace muster::v1

namespace muster::cli {

// "ok=3 changed=2 failed=0 skipped=1"; where the run only checks, "would change=2".
std::string NodeTotals(const NodeView& node, bool check_only);

struct EventDetail {
  bool check_only = false;    // what is told of as changed would change
  bool quiet_steps = false;   // also steps that were ok or skipped
  bool values = false;        // before and after of what changed, where a diff does not show it
  bool output = false;        // what its programs printed
  size_t output_lines = 0;    // of that the last; 0: all
  bool failure_told = false;  // a failed step of the node was shown before
};

// "changed munge: shared key" and what belongs to it, indented.
std::string RenderStep(const v1::StepResult& step, EventDetail detail);

// What is worth a line in a log: changes, failures and the ends of plays and nodes. Empty: nothing.
// Diffs and values follow, indented.
std::string RenderEventLine(const v1::RunEvent& event, EventDetail detail);

// A line per node with its totals, then the sum, then the first error of each node that failed, the
// nodes that were left out and where to read more.
std::string RenderRecap(const RunView& view, absl::Time now);

// The exit code that the run ends with (docs/cli.md). Nodes that were left out count as those that
// did not answer.
int RunExitCode(const RunView& view, bool detailed);

}  // namespace muster::cli
