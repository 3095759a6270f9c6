// What nodes boot from the network, as text for people. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::v1 {
class Boot;
class ListBootsResponse;
}  // namespace muster::v1

namespace muster::cli {

// How far a boot has come: "done", "root, 20s ago", "stopped after kernel".
std::string StateOfBoot(const v1::Boot& boot, absl::Time now);

// Whether the machine has reported something bad, or nothing for long.
bool HasGoneWrong(const v1::Boot& boot, absl::Time now);

// The last lines of consoles, by node.
using ConsoleEnds = std::map<std::string, std::vector<std::string>>;

// A row for each node, and below it a line for each boot that went wrong, and the console.
std::string RenderBoots(const v1::ListBootsResponse& response, const ConsoleEnds& consoles,
                        absl::Time now);

}  // namespace muster::cli
