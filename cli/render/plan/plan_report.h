// A plan as text. Pure.
#pragma once

#include <string>

namespace muster::v1 {
class PlanFile;
class PlannedOutcome;
class PlannedStep;
}  // namespace muster::v1

namespace muster::cli {

// "munge: shared key", with "(handler)" when it is one.
std::string StepTitle(const v1::PlannedStep& step);

// Describes the outcome in a few words: "unchanged", "skipped (when: …)", "mode 0400 -> 0644".
std::string DescribeOutcome(const v1::PlannedOutcome& outcome);

// The changes, equal ones of several nodes once, then the nodes without changes and those left out,
// then the summary: packages, units, reboots, files. REQUIRES: the host lists can be read.
std::string RenderPlan(const v1::PlanFile& plan);

// Whether any node would change.
bool HasChanges(const v1::PlanFile& plan);

}  // namespace muster::cli
