// The live view of a run, which is redrawn in place on a terminal. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/render/run/run_view.h"

namespace muster::cli {

struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

// A headline and a line per node, each shorter than the screen is wide. When there are more nodes
// than rows, running nodes come first and the rest are counted. A narrow screen loses the bars
// first, then the roles' names, then words from the end: never a number, nor the name of the step.
std::vector<std::string> RenderScreen(const RunView& view, ScreenSize size, absl::Time now);

}  // namespace muster::cli
