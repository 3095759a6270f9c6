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

// "ok=3 changed=2 failed=0 skipped=1"; "would change=2" when the run only checks.
std::string NodeTotals(const NodeView& node, bool check_only);

struct EventDetail {
  bool check_only = false;    // what is reported as changed would change
  bool quiet_steps = false;   // also steps that were ok or skipped
  bool values = false;        // values before and after a change, where a diff does not show them
  bool output = false;        // output of the step's programs
  size_t output_lines = 0;    // show the last lines of it; 0: all
  bool failure_told = false;  // a failed step of the node was shown before
};

// "changed munge: shared key" and its details, indented.
std::string RenderStep(const v1::StepResult& step, EventDetail detail);

// Events that deserve a line in a log: changes, failures and the ends of plays and nodes. Empty for
// others. Diffs and values follow, indented.
std::string RenderEventLine(const v1::RunEvent& event, EventDetail detail);

// A line per node with its totals, then the sum, then the first error of each node that failed, the
// nodes that were left out, and where to read more.
std::string RenderRecap(const RunView& view, absl::Time now);

// The exit code of the run (docs/cli.md). Nodes that were left out count as nodes that did not
// answer.
int RunExitCode(const RunView& view, bool detailed);

}  // namespace muster::cli
