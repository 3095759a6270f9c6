// Numbers of things, in words.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster {

// "1 node", "0 nodes", "1.5 times": `thing` is a noun whose plural ends in a mere "s".
std::string Counted(const absl::AlphaNum& count, absl::string_view thing);

// "1 node is", "2 nodes are".
std::string CountedAre(const absl::AlphaNum& count, absl::string_view thing);

}  // namespace muster
