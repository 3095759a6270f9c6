// What a mistyped option or command may have been meant to be.
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

// "unknown command 'nope' (did you mean 'node'?); see muster --help": for the first of `words` that
// stands where a command is needed and is none; options before it, with their values, are passed
// over. "": that is not what is wrong.
std::string UnknownCommand(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace muster::cli
