// Diffs of several nodes as one. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::cli {

// A text of some nodes, of several lines.
struct TextOfNodes {
  std::vector<std::string> nodes;
  std::string text;
};

// Lines that all texts have stand once; between them the lines of each node behind its name:
//
//   +search hpc1
//   c001: +name c001
//   c[002-003]: +name none
//
// Of many differing texts the first are shown, and the others are counted.
std::string FoldTexts(const std::vector<TextOfNodes>& texts);

}  // namespace muster::cli
