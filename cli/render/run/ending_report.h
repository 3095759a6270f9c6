// The suites that a run ends with, as text. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class Run;
class RunValidation;
}  // namespace muster::v1

namespace muster::cli {

// "suite acceptance tests c[001-003]; c004 passed before", or that there is nothing to do.
std::string DescribePrediction(absl::string_view suite, absl::string_view nodes,
                               absl::string_view passed_nodes);

// One line: the outcome of the suite, and the reason.
std::string RenderEnding(const v1::RunValidation& validation);

// A line for each suite that the run ends with; empty: none.
std::string RenderEndings(const v1::Run& run);

// The exit code of a run that ended with `run_code` and whose suites ended with `validation_codes`
// (see ExitCodeOf()). The run's own failure counts first. With `detailed`, kExitChanges says that
// something changed and that nothing else happened, so a suite that not all nodes are known to have
// passed counts as failed.
int ExitCodeWithEndings(int run_code, const std::vector<int>& validation_codes, bool detailed);

}  // namespace muster::cli
