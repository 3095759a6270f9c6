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

// Returns the user of a stamp such as "root@2026-11-21T08:00:00]" at the beginning of `text`;
// empty: `text` begins with something else. Without a time Slurm writes "root@Unknown]".
absl::string_view UserOfStamp(absl::string_view text) {
  const absl::string_view stamp = text.substr(0, text.find_first_of(" ]"));
  const absl::string_view user = stamp.substr(0, stamp.find('@'));
  if (user.size() == stamp.size() || text.substr(stamp.size(), 1) != "]") return {};
  const absl::string_view time = stamp.substr(user.size() + 1);
  const bool is_time = time == "Unknown" || (!time.empty() && absl::ascii_isdigit(time.front()));
  return is_time ? user : absl::string_view();
}

// Slurm appends " [root@2026-11-21T08:00:00]", and after it the node's Comment= and Extra=, which
// are no part of the reason.
void SplitReason(absl::string_view text, v1::SlurmNode& node) {
  for (size_t at = text.find(" ["); at != absl::string_view::npos; at = text.find(" [", at + 1)) {
    const absl::string_view user = UserOfStamp(text.substr(at + 2));
    if (user.empty()) continue;
    node.set_reason_user(std::string(user));
    text = text.substr(0, at);
    break;
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
    node.set_is_drained(IsDrainedInSlurm(state));
    const bool is_out = IsOutInSlurm(state);
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
