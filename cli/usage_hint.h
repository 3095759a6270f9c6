// What a mistyped option may have been meant to be.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace muster::cli {

// " (did you mean '--yes'?)" for the first of `words` that looks like an option and is none of
// `command` or the verbs above it; "" when nothing is near.
std::string OptionHint(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace muster::cli
