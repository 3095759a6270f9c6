#include "cli/render/run/failure_report.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/render/plain_text.h"
#include "cli/render/run/run_report.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {

void EndReport::Add(const v1::NodeRecap& recap) {
  std::string text = absl::StrCat(recap.state(), "\n",
                                  recap.message() == recap.state() ? "" : Indent(recap.message()));
  auto end = std::find_if(ends_.begin(), ends_.end(),
                          [&](const auto& each) { return each.first == text; });
  if (end == ends_.end()) end = ends_.insert(end, {std::move(text), {}});
  end->second.push_back(recap.node());
}

std::string EndReport::Take() {
  std::string text;
  for (const auto& [end, nodes] : ends_) absl::StrAppend(&text, FoldHostlist(nodes), ": ", end);
  ends_.clear();
  return text;
}

void FailureReport::Add(const v1::NodeStepResult& result) {
  const v1::StepResult& step = result.result();
  if (step.status() != v1::STEP_STATUS_FAILED) return;
  const std::string text = RenderStep(step, {.quiet_steps = true, .values = true});
  const auto [it, inserted] = known_.try_emplace(
      absl::StrCat(result.play_index(), "/", step.step_id(), "\n", text), failures_.size());
  if (inserted) {
    Failure& failure = failures_.emplace_back();
    failure.text = text;
    // The message may already contain all of it.
    failure.told = absl::StrContains(step.message(), absl::StripAsciiWhitespace(step.output()));
    if (failures_.size() <= kMaxKept) failure.output = step.output();
  }
  Failure& failure = failures_[it->second];
  failure.nodes.push_back(result.node());
  failure.outputs_differ |= it->second < kMaxKept && failure.output != step.output();
}

std::string FailureReport::Printed(const Failure& failure) const {
  if (failure.output.empty() || failure.told) return "";
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::StripTrailingAsciiWhitespace(failure.output), '\n');
  std::string text;
  if (failure.outputs_differ) {
    absl::StrAppend(&text, "    printed on ", failure.nodes.front(), " (elsewhere it differs):\n");
  }
  if (lines_ > 0 && lines.size() > lines_) {
    absl::StrAppend(&text, "    … ", Counted(lines.size() - lines_, "line"),
                    " before; all: --node ", failure.nodes.front(), "\n");
    lines.erase(lines.begin(), lines.end() - static_cast<ptrdiff_t>(lines_));
  }
  return absl::StrCat(text, Indent(absl::StrJoin(lines, "\n")));
}

std::string FailureReport::Render() const {
  std::string text;
  for (const Failure& failure : failures_) {
    absl::StrAppend(&text, FoldHostlist(failure.nodes), ": ", failure.text, Printed(failure));
  }
  return text;
}

}  // namespace muster::cli
