#include "cli/render/rollout/rollout_screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/output.h"
#include "cli/render/rollout/rollout_report.h"
#include "cli/render/rollout/rollout_words.h"
#include "cli/render/shorten.h"
#include "common/base/proto_time.h"
#include "common/base/text/human_duration.h"

namespace muster::cli {
namespace {

// The part of the line that names of nodes may take.
constexpr size_t kRolloutNameShare = 3;

std::string RolloutHeadline(const v1::Rollout& rollout, absl::Time now) {
  std::string text = absl::StrCat(
      "rollout ", rollout.rollout_id(), "  ", WaveName(rollout.request(), rollout.wave()), "  ",
      StateWord(rollout.state()), "  ", HumanDuration(now - ToTime(rollout.created_at())));
  if (!rollout.message().empty()) absl::StrAppend(&text, "  ", rollout.message());
  return text;
}

std::string NodeLine(const v1::RolloutNode& node, size_t name_width, absl::Time now) {
  std::string line = ShortenFront(node.node(), name_width);
  line.append(name_width - DisplayWidth(line) + 2, ' ');
  return absl::StrCat(
      line,
      absl::StrFormat("%-11s %8s", StepWord(node.step()),
                      node.has_since() ? HumanDuration(now - ToTime(node.since())) : ""),
      node.message().empty() ? "" : "  ", node.message());
}

}  // namespace

RolloutView::RolloutView(const v1::Rollout& rollout) : rollout_(rollout) {
  rollout_.set_state(v1::ROLLOUT_STATE_ROLLING);
  rollout_.clear_message();
  rollout_.clear_events();
  rollout_.set_wave(0);
  for (int place = 0; place < rollout_.nodes_size(); ++place) {
    v1::RolloutNode& node = *rollout_.mutable_nodes(place);
    places_[node.node()] = place;
    const std::string name = node.node();
    node.Clear();
    node.set_node(name);
    node.set_step(v1::ROLLOUT_STEP_PENDING);
  }
}

void RolloutView::Apply(const v1::RolloutEvent& event) {
  if (event.sequence() <= sequence_) return;
  sequence_ = event.sequence();
  if (event.node().empty()) {
    rollout_.set_state(event.state());
    rollout_.set_wave(event.wave());
    rollout_.set_message(event.message());
    return;
  }
  const auto place = places_.find(event.node());
  if (place == places_.end()) return;
  v1::RolloutNode& node = *rollout_.mutable_nodes(place->second);
  if (node.step() != event.step()) *node.mutable_since() = event.time();
  node.set_step(event.step());
  node.set_message(event.message());
}

bool RolloutView::finished() const { return HasEnded(rollout_.state()); }

bool StaysOnTerminal(const v1::RolloutEvent& event) {
  return event.node().empty() || IsOver(event.step());
}

std::vector<std::string> RenderRolloutScreen(const v1::Rollout& rollout, ScreenSize size,
                                             absl::Time now) {
  const auto columns = static_cast<size_t>(std::max(1, size.columns - 1));
  const auto room = static_cast<size_t>(std::max(1, size.rows - 4));
  std::vector<const v1::RolloutNode*> nodes;
  size_t name_width = 4;
  for (bool (*const is_wanted)(v1::RolloutStep) : {IsActive, IsFailure}) {
    for (const v1::RolloutNode& node : rollout.nodes()) {
      if (!is_wanted(node.step())) continue;
      nodes.push_back(&node);
      name_width = std::max(name_width, DisplayWidth(node.node()));
    }
  }
  name_width = std::min(name_width, std::max<size_t>(4, columns / kRolloutNameShare));
  std::vector<std::string> lines = {RolloutHeadline(rollout, now), WaveProgress(rollout)};
  for (size_t i = 0; i < std::min(room, nodes.size()); ++i)
    lines.push_back(NodeLine(*nodes[i], name_width, now));
  if (nodes.size() > room)
    lines.push_back(absl::StrCat("… and ", nodes.size() - room, " more nodes"));
  for (std::string& line : lines) line = Shorten(line, columns);
  return lines;
}

}  // namespace muster::cli
