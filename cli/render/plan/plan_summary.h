// The summary of a plan. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::v1 {
class PlanFile;
}

namespace muster::cli {

// "restart units", "munge.service, slurmd.service", "c[001-016]".
struct SummaryLine {
  std::string deed;
  std::vector<std::string> things;  // sorted; empty when the deed says it all
  std::string nodes;                // a host list
  bool operator==(const SummaryLine&) const = default;
};

// Packages to install, upgrade or remove; units to restart and the like; reboots; files; and so on,
// in this order. One line for each set of nodes.
std::vector<SummaryLine> Summarize(const v1::PlanFile& plan);

// The nodes, with the number of steps that would change something there and whether they reboot:
// "yes", "no", or "perhaps" where a task reboots when packages ask for it, and packages change. ""
// without changes.
std::string RenderNodes(const v1::PlanFile& plan);

// An aligned table; long lists of things are cut and counted.
std::string RenderSummary(const v1::PlanFile& plan);

}  // namespace muster::cli
