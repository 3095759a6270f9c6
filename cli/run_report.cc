#include "cli/run_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/output.h"
#include "cli/plain_text.h"
#include "common/base/hostlist.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

constexpr int kBarWidth = 20;

// Cut to `columns`, never inside a UTF-8 character.
std::string Fit(const std::string& line, int columns) {
  int seen = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xc0) == 0x80) continue;
    if (++seen > columns) return line.substr(0, i);
  }
  return line;
}

std::string Bar(uint32_t done, uint32_t total) {
  const int filled =
      total == 0 ? 0 : static_cast<int>(uint64_t{std::min(done, total)} * kBarWidth / total);
  return absl::StrCat("[", std::string(static_cast<size_t>(filled), '#'),
                      std::string(static_cast<size_t>(kBarWidth - filled), '.'), "]");
}

std::string NodeLine(const NodeView& node, size_t name_width, absl::Time now) {
  const std::string name = absl::StrFormat("%-*s", static_cast<int>(name_width), node.name);
  if (node.state != "running") {
    std::string line =
        absl::StrFormat("%s  %-11s  ok=%d changed=%d failed=%d skipped=%d", name, node.state,
                        node.ok, node.changed, node.failed, node.skipped);
    if (!node.message.empty())
      absl::StrAppend(&line, "  ", node.message.substr(0, node.message.find('\n')));
    return line;
  }
  std::string line =
      absl::StrFormat("%s  %s %3d/%-3d ", name, Bar(node.steps_done, node.steps_total),
                      node.steps_done, node.steps_total);
  if (node.step.empty()) return absl::StrCat(line, "starting");
  // The numbers stand before the words: a narrow terminal cuts the end.
  absl::StrAppend(&line, absl::StrFormat("%7s  ", HumanDuration(now - node.step_since)));
  if (node.percent >= 0) absl::StrAppend(&line, absl::StrFormat("%.0f%% ", node.percent));
  absl::StrAppend(&line, node.role, ": ", node.step);
  if (!node.activity.empty()) absl::StrAppend(&line, " - ", node.activity);
  return line;
}

const char* StatusWord(v1::StepStatus status) {
  switch (status) {
    case v1::STEP_STATUS_OK:
      return "ok";
    case v1::STEP_STATUS_CHANGED:
      return "changed";
    case v1::STEP_STATUS_FAILED:
      return "failed";
    case v1::STEP_STATUS_SKIPPED:
      return "skipped";
    default:
      return "?";
  }
}

std::string TotalsLine(const std::string& name, size_t width, const NodeView& totals,
                       uint32_t unreachable) {
  return absl::StrFormat("%-*s  ok=%-4d changed=%-4d failed=%-4d skipped=%-4d unreachable=%d\n",
                         static_cast<int>(width), name, totals.ok, totals.changed, totals.failed,
                         totals.skipped, unreachable);
}

}  // namespace

std::vector<std::string> RenderScreen(const RunView& view, ScreenSize size, absl::Time now) {
  std::vector<std::string> lines;
  lines.push_back(absl::StrFormat("run %s  play %d/%d %s  %s", view.run_id(), view.play_index() + 1,
                                  view.play_count(), view.play(),
                                  HumanDuration(now - view.started())));
  std::vector<const NodeView*> nodes;
  size_t name_width = 4;
  for (const auto& [name, node] : view.nodes()) {
    nodes.push_back(&node);
    name_width = std::max(name_width, name.size());
  }
  const size_t room = static_cast<size_t>(std::max(1, size.rows - 3));
  if (nodes.size() > room) {
    std::stable_partition(nodes.begin(), nodes.end(),
                          [](const NodeView* node) { return node->state == "running"; });
  }
  for (size_t i = 0; i < std::min(room, nodes.size()); ++i)
    lines.push_back(NodeLine(*nodes[i], name_width, now));
  if (nodes.size() > room) {
    std::map<std::string, int> rest;
    for (size_t i = room; i < nodes.size(); ++i) ++rest[nodes[i]->state];
    lines.push_back(
        absl::StrCat("… and ", absl::StrJoin(rest, ", ", [](std::string* out, const auto& entry) {
                       absl::StrAppend(out, entry.second, " ", entry.first);
                     })));
  }
  for (std::string& line : lines) {
    line = Tame(line);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    line = Fit(line, size.columns - 1);
  }
  return lines;
}

std::string RenderStep(const v1::StepResult& step, EventDetail detail) {
  std::string text = absl::StrFormat("%-7s %s: %s%s\n", StatusWord(step.status()), step.role(),
                                     step.name(), step.handler() ? " (handler)" : "");
  if (!step.message().empty()) absl::StrAppend(&text, Indent(step.message()));
  for (const v1::Change& change : step.changes()) {
    if (!change.diff().empty()) {
      absl::StrAppend(&text, Indent(change.diff()));
    } else if (detail.values) {
      absl::StrAppend(&text, "    ", change.field(), ": ", change.before(), " -> ", change.after(),
                      "\n");
    }
  }
  const bool told = absl::StrContains(step.message(), absl::StripAsciiWhitespace(step.output()));
  if (detail.output && step.status() == v1::STEP_STATUS_FAILED && !told)
    absl::StrAppend(&text, Indent(step.output()));
  return text;
}

std::string RenderEventLine(const v1::RunEvent& event, EventDetail detail) {
  switch (event.event_case()) {
    case v1::RunEvent::kPlayStarted:
      return absl::StrCat("play ", event.play_started().play_index() + 1, ": ",
                          event.play_started().name(), " (", event.play_started().nodes_size(),
                          event.play_started().nodes_size() == 1 ? " node)\n" : " nodes)\n");
    case v1::RunEvent::kStep: {
      const v1::StepStatus status = event.step().status();
      const bool quiet = status == v1::STEP_STATUS_OK || status == v1::STEP_STATUS_SKIPPED;
      if (quiet && !detail.quiet_steps) return "";
      return absl::StrCat(event.node(), ": ", RenderStep(event.step(), detail));
    }
    case v1::RunEvent::kNodeFinished: {
      const v1::NodeRecap& recap = event.node_finished();
      if (recap.state() == "done" && !detail.quiet_steps) return "";
      const bool told =
          recap.message().empty() || detail.failure_told || recap.message() == recap.state();
      return absl::StrCat(recap.node(), ": ", recap.state(), "\n",
                          told ? "" : Indent(recap.message()));
    }
    default:
      return "";
  }
}

std::string RenderRecap(const RunView& view, absl::Time now) {
  size_t width = 5;
  for (const auto& [name, node] : view.nodes()) width = std::max(width, name.size());
  NodeView total;
  uint32_t unreachable = 0;
  std::string text, errors;
  // A thousand nodes with one mistake make one entry; in the order of the first node of each.
  std::vector<std::pair<std::string, std::vector<std::string>>> causes;
  for (const auto& [name, node] : view.nodes()) {
    text += TotalsLine(name, width, node, node.unreachable ? 1 : 0);
    total.ok += node.ok;
    total.changed += node.changed;
    total.failed += node.failed;
    total.skipped += node.skipped;
    unreachable += node.unreachable ? 1 : 0;
    if (node.message.empty() || node.message == node.state) continue;
    const auto same = std::find_if(
        causes.begin(), causes.end(),
        [&message = node.message](const auto& cause) { return cause.first == message; });
    if (same == causes.end()) {
      causes.push_back({node.message, {name}});
    } else {
      same->second.push_back(name);
    }
  }
  for (const auto& [message, names] : causes)
    absl::StrAppend(&errors, FoldHostlist(names), ":\n", Indent(message));
  if (view.nodes().size() != 1) text += TotalsLine("total", width, total, unreachable);
  if (!view.message().empty()) absl::StrAppend(&errors, view.message(), "\n");
  if (total.failed > 0)
    absl::StrAppend(&errors, "all that failed steps printed: muster run show ", view.run_id(),
                    " --failed\n");
  return absl::StrCat("\nrun ", view.run_id(), view.cancelled() ? " was cancelled" : "", " in ",
                      HumanDuration(now - view.started()), "\n", text, errors.empty() ? "" : "\n",
                      errors);
}

int RunExitCode(const RunView& view, bool detailed) {
  bool failed = view.cancelled(), unreachable = false, changed = false;
  for (const auto& [name, node] : view.nodes()) {
    unreachable |= node.unreachable;
    failed |= node.state == "failed" || node.failed > 0;
    changed |= node.changed > 0;
  }
  if (failed || (!view.message().empty() && !unreachable)) return kExitFailed;
  if (unreachable) return kExitUnreachable;
  return detailed && changed ? kExitChanges : kExitClean;
}

}  // namespace muster::cli
