// The live view of a run: what is redrawn in place on a terminal. Pure.
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

// A headline and a line per node, none as long as the screen is wide; when there are more nodes
// than rows, those that run come first and the rest is counted. A narrow screen loses the bars
// first, then the roles' names, then words from the end: never a number, nor the name of the step.
std::vector<std::string> RenderScreen(const RunView& view, ScreenSize size, absl::Time now);

}  // namespace muster::cli
