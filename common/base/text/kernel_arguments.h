// The command line of a kernel, as /proc/cmdline and the boot loader's entries have it.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Its words NAME=VALUE, or NAME with an empty value; a later one wins.
std::map<std::string, std::string> ParseKernelArguments(absl::string_view command_line);

}  // namespace muster
