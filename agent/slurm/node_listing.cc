#include "agent/slurm/node_listing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/slurm_state.h"
#include "common/base/text/utf8.h"

namespace muster::agent {
namespace {

// Slurm itself takes down nodes that do not answer; all other users do it on purpose.
constexpr absl::string_view kSlurmUser = "slurm";
constexpr size_t kMaxListedNodes = 4000;
constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxText = 255;

// A field of a line of "Key=value" words, before free text begins; empty: absent.
absl::string_view Field(absl::string_view line, absl::string_view key) {
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    absl::string_view rest = word;
    if (absl::ConsumePrefix(&rest, key) && absl::ConsumePrefix(&rest, "=")) return rest;
  }
  return {};
}

// Slurm appends " [user@2026-11-21T08:00:00]".
void SplitReason(absl::string_view text, v1::SlurmNode& node) {
  const size_t bracket = text.rfind(" [");
  if (bracket != absl::string_view::npos) {
    const absl::string_view stamp = text.substr(bracket + 2);
    const size_t at = stamp.find('@');
    const size_t end = stamp.find(']');
    if (at != absl::string_view::npos && end != absl::string_view::npos && at < end) {
      node.set_reason_user(std::string(stamp.substr(0, at)));
      text = text.substr(0, bracket);
    }
  }
  node.set_reason(std::string(absl::StripAsciiWhitespace(text)));
}

}  // namespace

std::vector<v1::SlurmNode> ParseSlurmNodes(absl::string_view text) {
  std::vector<v1::SlurmNode> nodes;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::string_view fields = line, reason;
    const size_t begin = line.find(" Reason=");
    if (begin != absl::string_view::npos) {
      fields = line.substr(0, begin);
      reason = line.substr(begin + 8);
    }
    const absl::string_view name = Field(fields, "NodeName");
    const absl::string_view state = Field(fields, "State");
    if (name.empty() || state.empty()) continue;
    v1::SlurmNode node;
    node.set_name(std::string(name));
    node.set_state(std::string(state));
    bool is_out = false;
    for (absl::string_view word : absl::StrSplit(state, '+')) {
      // "*": does not answer; others: powered down, in a reservation, …
      while (!word.empty() && !absl::ascii_isalpha(word.back())) word.remove_suffix(1);
      if (word == "DRAIN" || word == "DRAINED" || word == "DRAINING") node.set_is_drained(true);
      if (word == "DOWN" || word == "FAIL" || word == "FAILING" || word == "FUTURE" ||
          word == "UNKNOWN") {
        is_out = true;
      }
    }
    node.set_takes_jobs(!node.is_drained() && !is_out);
    SplitReason(reason, node);
    // A node that is down after a drain by Muster was removed keeps the reason.
    node.set_is_held(node.is_drained() ||
                     (is_out && !node.reason().empty() && node.reason_user() != kSlurmUser &&
                      !absl::StartsWith(node.reason(), kOwnReasonPrefix)));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string HeldBecause(const v1::SlurmNode& node) {
  if (!node.is_held()) return "";
  const std::string& user = node.reason_user();
  return absl::StrCat(node.is_drained() ? "drained" : "taken down", " by ",
                      user.empty() ? "somebody" : user, node.reason().empty() ? "" : ": ",
                      node.reason());
}

bool IsDownButAnswers(const v1::SlurmNode& node) {
  return IsDownInSlurm(node.state()) && !IsSilentInSlurm(node.state());
}

v1::SlurmNodes SlurmNodesAfter(std::vector<v1::SlurmNode> nodes, absl::string_view after) {
  std::sort(nodes.begin(), nodes.end(),
            [](const v1::SlurmNode& a, const v1::SlurmNode& b) { return a.name() < b.name(); });
  v1::SlurmNodes part;
  size_t bytes = 0;
  for (v1::SlurmNode& node : nodes) {
    if (absl::string_view(node.name()) <= after) continue;
    for (std::string* text : {node.mutable_name(), node.mutable_state(), node.mutable_reason(),
                              node.mutable_reason_user()}) {
      *text = ValidUtf8(*text, kMaxText);
    }
    bytes += node.ByteSizeLong();
    if (part.nodes_size() == kMaxListedNodes || bytes > kMaxBytes) {
      part.set_has_more(true);
      break;
    }
    *part.add_nodes() = std::move(node);
  }
  return part;
}

}  // namespace muster::agent
