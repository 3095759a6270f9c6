#include "cli/render/run/run_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/value/step_status.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

const char* StatusWord(v1::StepStatus status, bool check_only) {
  switch (status) {
    case v1::STEP_STATUS_OK:
      return "ok";
    case v1::STEP_STATUS_CHANGED:
      return check_only ? "would change" : "changed";
    case v1::STEP_STATUS_FAILED:
      return "failed";
    case v1::STEP_STATUS_SKIPPED:
      return "skipped";
    default:
      return "?";
  }
}

// The word under which totals count changes.
const char* ChangedWord(bool check_only) { return check_only ? "would change" : "changed"; }

std::string TotalsLine(const std::string& name, size_t width, const NodeView& totals,
                       uint32_t unreachable, bool check_only) {
  return absl::StrFormat("%-*s  ok=%-4d %s=%-4d failed=%-4d skipped=%-4d unreachable=%d\n",
                         static_cast<int>(width), name, totals.ok, ChangedWord(check_only),
                         totals.changed, totals.failed, totals.skipped, unreachable);
}

// Indented; begins with the number of lines that were left out.
std::string LastLines(absl::string_view output, size_t most) {
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::StripTrailingAsciiWhitespace(output), '\n');
  if (most == 0 || lines.size() <= most) return Indent(output);
  const size_t before = lines.size() - most;
  lines.erase(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(before));
  return absl::StrCat("    … ", Counted(before, "line"), " before\n",
                      Indent(absl::StrJoin(lines, "\n")));
}

}  // namespace

std::string NodeTotals(const NodeView& node, bool check_only) {
  return absl::StrFormat("ok=%d %s=%d failed=%d skipped=%d", node.ok, ChangedWord(check_only),
                         node.changed, node.failed, node.skipped);
}

std::string RenderStep(const v1::StepResult& step, EventDetail detail) {
  std::string text =
      absl::StrFormat("%-7s %s: %s%s\n", StatusWord(step.status(), detail.check_only), step.role(),
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
  if (detail.output && !told) absl::StrAppend(&text, LastLines(step.output(), detail.output_lines));
  return text;
}

std::string RenderEventLine(const v1::RunEvent& event, EventDetail detail) {
  switch (event.event_case()) {
    case v1::RunEvent::kPlayStarted:
      return absl::StrCat("play ", event.play_started().play_index() + 1, ": ",
                          event.play_started().name(), " (",
                          Counted(event.play_started().nodes_size(), "node"), ")\n");
    case v1::RunEvent::kStep: {
      if (IsUnchanged(event.step().status()) && !detail.quiet_steps) return "";
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
  // A mistake that a thousand nodes share makes one entry; ordered by the first node of each.
  std::vector<std::pair<std::string, std::vector<std::string>>> causes;
  for (const auto& [name, node] : view.nodes()) {
    text += TotalsLine(name, width, node, node.unreachable ? 1 : 0, view.check_only());
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
  for (const NodesLeftOut& left_out : view.left_out())
    absl::StrAppend(&errors, left_out.nodes, " left out:\n", Indent(left_out.reason));
  if (view.nodes().size() != 1)
    text += TotalsLine("total", width, total, unreachable, view.check_only());
  if (!view.message().empty()) absl::StrAppend(&errors, view.message(), "\n");
  if (total.failed > 0)
    absl::StrAppend(&errors, "full output of failed steps: muster run show ", view.run_id(),
                    " --failed\n");
  return absl::StrCat("\nrun ", view.run_id(), view.cancelled() ? " was cancelled" : "", " in ",
                      HumanDuration(view.Elapsed(now)), "\n", text, errors.empty() ? "" : "\n",
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
  if (unreachable || !view.left_out().empty()) return kExitUnreachable;
  return detailed && changed ? kExitChanges : kExitClean;
}

}  // namespace muster::cli
