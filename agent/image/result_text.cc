#include "agent/image/result_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/text/plain_text.h"

namespace muster::agent {
namespace {

constexpr size_t kMostOutputLines = 30;
constexpr size_t kMostChanges = 5;
constexpr size_t kLongestLine = 500;
constexpr size_t kLongestValue = 60;  // of a value before or after a change

std::string OneLine(absl::string_view text) { return PlainText(text, Lines::kOne, kLongestLine); }

std::string Describe(const v1::Change& change) {
  const auto shown = [](const std::string& value) { return PlainText(value, Lines::kOne); };
  const std::string before = shown(change.before()), after = shown(change.after());
  const bool is_short = before.size() <= kLongestValue && after.size() <= kLongestValue;
  // Equal: both are secret.
  if (after.empty() || after == before || !is_short) return OneLine(change.field());
  return absl::StrCat(OneLine(change.field()), " ", before, before.empty() ? "" : " ", "-> ",
                      after);
}

std::string DescribeChanges(const v1::StepResult& result) {
  std::vector<std::string> changes;
  for (const v1::Change& change : result.changes()) {
    if (changes.size() == kMostChanges) {
      changes.push_back(absl::StrCat(result.changes_size() - kMostChanges, " more"));
      break;
    }
    changes.push_back(Describe(change));
  }
  return absl::StrJoin(changes, ", ");
}

// The last lines, each below the step.
std::string Indented(absl::string_view text) {
  const std::string plain = PlainText(text, Lines::kMany);
  const std::vector<absl::string_view> lines = absl::StrSplit(plain, '\n', absl::SkipEmpty());
  std::string shown;
  const size_t first = lines.size() > kMostOutputLines ? lines.size() - kMostOutputLines : 0;
  for (size_t i = first; i < lines.size(); ++i)
    absl::StrAppend(&shown, "    ", OneLine(lines[i]), "\n");
  return shown;
}

}  // namespace

std::string DescribeResult(const v1::StepResult& result) {
  const bool changed = result.status() == v1::STEP_STATUS_CHANGED;
  if (!changed && result.status() != v1::STEP_STATUS_FAILED) return "";
  std::string text = absl::StrCat(changed ? "changed  " : "failed   ", OneLine(result.step_id()));
  if (!result.resource().empty()) absl::StrAppend(&text, "  ", OneLine(result.resource()));
  if (changed) return absl::StrCat(text, ": ", DescribeChanges(result), "\n");
  const absl::string_view output = absl::StripAsciiWhitespace(result.output());
  // A short output is a part of the message.
  const bool is_told = absl::StrContains(result.message(), output);
  return absl::StrCat(text, "\n", Indented(result.message()), is_told ? "" : Indented(output));
}

}  // namespace muster::agent
