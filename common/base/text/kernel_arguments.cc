#include "common/base/text/kernel_arguments.h"

#include <utility>

#include "absl/strings/str_split.h"

namespace muster {

std::map<std::string, std::string> ParseKernelArguments(absl::string_view command_line) {
  std::map<std::string, std::string> arguments;
  for (const absl::string_view word :
       absl::StrSplit(command_line, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    arguments[parts.first] = parts.second;
  }
  return arguments;
}

}  // namespace muster
