// Suggestions for mistyped options and commands.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace muster::cli {

// " (did you mean '--yes'?)" for the first of `words` that looks like an option but belongs neither
// to `command` nor to the verbs above it; "" when nothing is near.
std::string OptionHint(const CLI::App& command, const std::vector<std::string>& words);

// "unknown command 'nope' (did you mean 'node'?); see muster --help": for the first of `words` that
// stands where a command is needed but is not one; skips options before it, with their values. "":
// no word is an unknown command.
std::string UnknownCommand(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace muster::cli
