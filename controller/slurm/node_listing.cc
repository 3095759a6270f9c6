#include "controller/slurm/node_listing.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::controller::slurm {
namespace {

// Of a line of "Key=value" words, before free text begins; empty: absent.
absl::string_view Field(absl::string_view line, absl::string_view key) {
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    absl::string_view rest = word;
    if (absl::ConsumePrefix(&rest, key) && absl::ConsumePrefix(&rest, "=")) return rest;
  }
  return {};
}

// Slurm appends " [user@2026-11-21T08:00:00]".
void SplitReason(absl::string_view text, SlurmNode& node) {
  const size_t bracket = text.rfind(" [");
  if (bracket != absl::string_view::npos) {
    const absl::string_view stamp = text.substr(bracket + 2);
    const size_t at = stamp.find('@');
    const size_t end = stamp.find(']');
    if (at != absl::string_view::npos && end != absl::string_view::npos && at < end) {
      node.reason_user = std::string(stamp.substr(0, at));
      text = text.substr(0, bracket);
    }
  }
  node.reason = std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace

std::vector<SlurmNode> ParseNodes(absl::string_view text) {
  std::vector<SlurmNode> nodes;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::string_view fields = line, reason;
    const size_t begin = line.find(" Reason=");
    if (begin != absl::string_view::npos) {
      fields = line.substr(0, begin);
      reason = line.substr(begin + 8);
    }
    SlurmNode node;
    node.name = std::string(Field(fields, "NodeName"));
    const absl::string_view state = Field(fields, "State");
    if (node.name.empty() || state.empty()) continue;
    node.state = std::string(state);
    bool is_out = false;
    for (absl::string_view word : absl::StrSplit(state, '+')) {
      // "*": does not answer; others: powered down, in a reservation, …
      while (!word.empty() && !absl::ascii_isalpha(word.back())) word.remove_suffix(1);
      if (word == "DRAIN" || word == "DRAINED" || word == "DRAINING") node.is_drained = true;
      if (word == "DOWN" || word == "FAIL" || word == "FAILING" || word == "FUTURE" ||
          word == "UNKNOWN") {
        is_out = true;
      }
    }
    node.takes_jobs = !node.is_drained && !is_out;
    SplitReason(reason, node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace muster::controller::slurm
