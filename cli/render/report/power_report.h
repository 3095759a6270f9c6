// What BMCs say and do, as text for a terminal. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class ChangePowerRequest;
class ListNodeJobsResponse;
class NodePower;
}  // namespace muster::v1

namespace muster::cli {

// "Power off 3 nodes of cluster lab, c[001-003]?", with the jobs that die where `jobs` has some.
std::string PowerQuestion(const v1::ChangePowerRequest& request, absl::string_view cluster,
                          const std::vector<std::string>& nodes,
                          const v1::ListNodeJobsResponse& jobs);

// "off, 12 of 16 done, 3 asked, 1 waits: the last machine of rack r1 was …": one line.
std::string DescribePowerProgress(size_t all, const std::vector<v1::NodePower>& nodes);

// A row for nodes with the same state and message, in the order of `nodes`.
std::string RenderPower(const std::vector<v1::NodePower>& nodes);

// kExitClean: all are done. kExitFailed: some are not.
int ExitCodeOfPower(const std::vector<v1::NodePower>& nodes);

}  // namespace muster::cli
