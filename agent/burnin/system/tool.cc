#include "agent/burnin/system/tool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::burnin {

absl::StatusOr<sys::ProcessResult> RunTool(CheckContext& context, std::vector<std::string> argv,
                                           absl::Duration timeout, const std::string& package) {
  const std::string program = argv.front();
  const sys::ProcessSpec spec = {
      .argv = std::move(argv), .timeout = timeout, .max_output = size_t{1} << 20};
  absl::StatusOr<sys::ProcessResult> result = context.processes.Run(spec);
  if (absl::IsNotFound(result.status()))
    return absl::NotFoundError(
        absl::StrCat("there is no program ", program, ": install the package ", package));
  return result;
}

std::vector<std::string> LastLines(const std::string& output, size_t count) {
  std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipWhitespace());
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

}  // namespace muster::burnin
