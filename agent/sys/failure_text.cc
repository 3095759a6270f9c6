#include "agent/sys/failure_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxCauses = 4;

}  // namespace

std::string DescribeFailure(const std::vector<std::string>& causes, absl::string_view hint,
                            const std::vector<std::string>& said) {
  if (causes.empty()) return "";
  const size_t shown = std::min(causes.size(), kMaxCauses);
  std::string text =
      absl::StrJoin(causes.begin(), causes.begin() + static_cast<std::ptrdiff_t>(shown), "\n");
  if (shown < causes.size()) absl::StrAppend(&text, "\n… and ", causes.size() - shown, " more");
  if (absl::EndsWith(text, ".")) text.pop_back();
  if (!hint.empty()) absl::StrAppend(&text, "; ", hint);
  if (!said.empty()) absl::StrAppend(&text, "\n", absl::StrJoin(said, "\n"));
  return text;
}

}  // namespace muster::agent
