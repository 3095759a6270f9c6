// Folds the diffs of several nodes into one. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::cli {

// A text of several lines that some nodes have in common.
struct TextOfNodes {
  std::vector<std::string> nodes;
  std::string text;
};

// Lines that all texts share appear once; between them come the lines of each node, after its name:
//
//   +search hpc1
//   c001: +name c001
//   c[002-003]: +name none
//
// When many texts differ, the first are shown and the others are counted.
std::string FoldTexts(const std::vector<TextOfNodes>& texts);

}  // namespace muster::cli
