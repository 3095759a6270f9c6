#include "cli/validation_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster::cli {

absl::string_view OutcomeWord(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_PASS:
      return "pass";
    case v1::OUTCOME_FAIL:
      return "fail";
    case v1::OUTCOME_UNKNOWN:
      return "unknown";
    case v1::OUTCOME_SKIPPED:
      return "skipped";
    default:
      return "running";
  }
}

absl::string_view OutcomeWord(const v1::NodeVerdict& node) {
  return node.is_witness() ? "witness" : OutcomeWord(node.outcome());
}

bool IsFine(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_PASS || outcome == v1::OUTCOME_SKIPPED;
}

std::string MetricWords(absl::string_view metric, absl::string_view variant) {
  const std::string words = absl::StrReplaceAll(metric, {{"_", " "}});
  return variant.empty() ? words : absl::StrCat(words, ", ", variant);
}

}  // namespace muster::cli
