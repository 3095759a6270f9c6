// What machines write to their consoles, as text for a terminal. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class ReadConsoleResponse;
}

namespace muster::cli {

// A line for each row, after the time at which it came.
std::string RenderConsole(const v1::ReadConsoleResponse& response, absl::TimeZone zone);

// How far the reading is: "the console of c001 is read", or why it is not.
std::string StateOfConsole(const std::string& node, const v1::ReadConsoleResponse& response);

}  // namespace muster::cli
