// What nodes boot from the network, as text for people. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class Boot;
class ListBootsResponse;
}  // namespace muster::v1

namespace muster::cli {

// How far a boot has come: "done", "root, 20s ago", "stopped after kernel".
std::string StateOfBoot(const v1::Boot& boot, absl::Time now);

// A row for each node, and below it a line for each boot that went wrong.
std::string RenderBoots(const v1::ListBootsResponse& response, absl::Time now);

}  // namespace muster::cli
