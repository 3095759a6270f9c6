#include "cli/render/run/run_screen.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/run/run_report.h"
#include "cli/render/shorten.h"
#include "common/base/text/human_duration.h"

namespace muster::cli {
namespace {

// The parts that a line of that many columns has room for: the widest row that fits is used.
struct Layout {
  size_t columns;
  int bar;
  int elapsed;
};
constexpr Layout kLayouts[] = {{96, 20, 7}, {76, 10, 7}, {0, 0, 6}};
// The part of the line that names of nodes may take.
constexpr size_t kNameShare = 3;

const Layout& LayoutOf(size_t columns) {
  return *std::find_if(std::begin(kLayouts), std::end(kLayouts),
                       [columns](const Layout& layout) { return columns >= layout.columns; });
}

std::string StepBar(const NodeView& node, int width) {
  const uint32_t total = node.steps_total;
  const auto filled =
      static_cast<size_t>(total == 0 ? 0 : uint64_t{node.steps_done} * width / total);
  return absl::StrCat("[", std::string(filled, '#'),
                      std::string(static_cast<size_t>(width) - filled, '.'), "] ");
}

// "  5/31 ", or "  5/?  " while the total is not known.
std::string Steps(const NodeView& node) {
  return absl::StrFormat("%3d/%-3s ", node.steps_done,
                         node.steps_total == 0 ? std::string("?") : absl::StrCat(node.steps_total));
}

// As much of role, step and activity as fits into `room`.
std::string Doing(const NodeView& node, size_t room) {
  std::string text = absl::StrCat(node.step, node.activity.empty() ? "" : " - ", node.activity);
  const std::string whole = absl::StrCat(node.role, ": ", text);
  return Shorten(DisplayWidth(whole) <= room ? whole : text, room);
}

std::string RunningLine(const NodeView& node, const Layout& layout, size_t room, absl::Time now) {
  std::string line = layout.bar == 0 ? "" : StepBar(node, layout.bar);
  absl::StrAppend(&line, Steps(node));
  if (node.step.empty()) return absl::StrCat(line, "starting");
  absl::StrAppend(&line,
                  absl::StrFormat("%*s  ", layout.elapsed, HumanDuration(now - node.step_since)));
  if (node.percent >= 0) absl::StrAppend(&line, absl::StrFormat("%.0f%% ", node.percent));
  const size_t taken = DisplayWidth(line);
  return absl::StrCat(line, Doing(node, room > taken ? room - taken : 0));
}

std::string RestingLine(const NodeView& node, bool check_only) {
  std::string line = absl::StrFormat("%-11s  %s", node.state, NodeTotals(node, check_only));
  if (!node.message.empty()) absl::StrAppend(&line, "  ", node.message);
  return line;
}

std::string Headline(const RunView& view, size_t columns, absl::Time now) {
  const std::string begin =
      absl::StrFormat("run %s  play %d/%d ", view.run_id(), view.play_index() + 1,
                      std::max(view.play_count(), view.play_index() + 1));
  const std::string end = absl::StrCat("  ", HumanDuration(view.Elapsed(now)));
  const size_t taken = DisplayWidth(begin) + DisplayWidth(end);
  return absl::StrCat(begin, Shorten(view.play(), columns > taken ? columns - taken : 0), end);
}

}  // namespace

std::vector<std::string> RenderScreen(const RunView& view, ScreenSize size, absl::Time now) {
  const auto columns = static_cast<size_t>(std::max(1, size.columns - 1));
  const Layout& layout = LayoutOf(columns);
  std::vector<const NodeView*> nodes;
  size_t name_width = 4;
  for (const auto& [name, node] : view.nodes()) {
    nodes.push_back(&node);
    name_width = std::max(name_width, DisplayWidth(name));
  }
  name_width = std::min(name_width, std::max<size_t>(4, columns / kNameShare));
  const auto room = static_cast<size_t>(std::max(1, size.rows - 3));
  if (nodes.size() > room) {
    std::stable_partition(nodes.begin(), nodes.end(),
                          [](const NodeView* node) { return node->state == "running"; });
  }
  std::vector<std::string> lines = {Headline(view, columns, now)};
  for (size_t i = 0; i < std::min(room, nodes.size()); ++i) {
    const NodeView& node = *nodes[i];
    std::string line = ShortenFront(node.name, name_width);
    line.append(name_width - DisplayWidth(line) + 2, ' ');
    const size_t left = columns > name_width + 2 ? columns - name_width - 2 : 0;
    lines.push_back(absl::StrCat(line, node.state == "running"
                                           ? RunningLine(node, layout, left, now)
                                           : RestingLine(node, view.check_only())));
  }
  if (nodes.size() > room) {
    std::map<std::string, int> rest;
    for (size_t i = room; i < nodes.size(); ++i) ++rest[nodes[i]->state];
    lines.push_back(
        absl::StrCat("… and ", absl::StrJoin(rest, ", ", [](std::string* out, const auto& entry) {
                       absl::StrAppend(out, entry.second, " ", entry.first);
                     })));
  }
  for (std::string& line : lines) line = Shorten(line, columns);
  return lines;
}

}  // namespace muster::cli
