#include "cli/plan_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/ending_report.h"
#include "cli/plain_text.h"
#include "cli/plan_summary.h"
#include "common/base/counted.h"
#include "common/base/hostlist.h"
#include "muster/v1/plan_file.pb.h"

namespace muster::cli {
namespace {

// Values above this are cut: the plan file has them whole.
constexpr size_t kShownValue = 200;

std::string Shown(absl::string_view value) {
  std::string text = Tame(value);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() <= kShownValue) return text;
  size_t end = kShownValue;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "…");
}

std::string ChangeText(const v1::Change& change) {
  if (change.before().empty()) return absl::StrCat(change.field(), ": ", Shown(change.after()));
  return absl::StrCat(change.field(), ": ", Shown(change.before()), " -> ", Shown(change.after()));
}

// A step that would change something, and how.
struct Deed {
  const v1::PlannedPlay* play = nullptr;
  const v1::PlannedStep* step = nullptr;
  const v1::PlannedOutcome* outcome = nullptr;
};

std::string DeedText(const Deed& deed) {
  std::string text = absl::StrCat("    ", Tame(StepTitle(*deed.step)));
  if (!deed.outcome->resource().empty()) {
    absl::StrAppend(&text, "  ", Shown(deed.outcome->resource()));
  }
  absl::StrAppend(&text, "\n");
  for (const v1::Change& change : deed.outcome->changes()) {
    absl::StrAppend(
        &text, change.diff().empty() ? Indent(ChangeText(change), 8) : Indent(change.diff(), 8));
  }
  return text;
}

}  // namespace

std::string StepTitle(const v1::PlannedStep& step) {
  return absl::StrCat(step.role(), ": ", step.name().empty() ? step.step_id() : step.name(),
                      step.handler() ? " (handler)" : "");
}

std::string DescribeOutcome(const v1::PlannedOutcome& outcome) {
  if (outcome.status() == v1::STEP_STATUS_SKIPPED) {
    return absl::StrCat("skipped (", outcome.message(), ")");
  }
  if (outcome.status() != v1::STEP_STATUS_CHANGED) return "unchanged";
  return absl::StrJoin(outcome.changes(), ", ", [](std::string* out, const v1::Change& change) {
    out->append(ChangeText(change));
  });
}

bool HasChanges(const v1::PlanFile& plan) {
  for (const v1::PlannedPlay& play : plan.plays()) {
    for (const v1::PlannedStep& step : play.steps()) {
      for (const v1::PlannedOutcome& outcome : step.outcomes()) {
        if (outcome.status() == v1::STEP_STATUS_CHANGED) return true;
      }
    }
  }
  return false;
}

std::string RenderPlan(const v1::PlanFile& plan) {
  // What each node would do, as numbers of deeds: nodes with equal lists are shown together.
  std::vector<Deed> deeds;
  std::map<std::string, std::vector<size_t>> by_node;
  for (const v1::PlannedPlay& play : plan.plays()) {
    for (const v1::PlannedNodes& nodes : play.nodes()) {
      const auto names = ExpandHostlist(nodes.nodes());
      for (const std::string& name : *names) by_node.try_emplace(name);
    }
    for (const v1::PlannedStep& step : play.steps()) {
      for (const v1::PlannedOutcome& outcome : step.outcomes()) {
        if (outcome.status() != v1::STEP_STATUS_CHANGED) continue;
        const auto names = ExpandHostlist(outcome.nodes());
        for (const std::string& name : *names) by_node[name].push_back(deeds.size());
        deeds.push_back({&play, &step, &outcome});
      }
    }
  }
  std::map<std::vector<size_t>, std::vector<std::string>> groups;
  for (const auto& [name, list] : by_node) groups[list].push_back(name);

  std::string text;
  size_t unchanged = 0;
  for (const auto& [list, names] : groups) {
    const std::string nodes = FoldHostlist(names);
    if (list.empty()) {
      unchanged = names.size();
      continue;
    }
    absl::StrAppend(&text, nodes, "  (", Counted(names.size(), "node"), ")\n");
    const v1::PlannedPlay* play = nullptr;
    for (const size_t index : list) {
      const Deed& deed = deeds[index];
      if (deed.play != play) {
        play = deed.play;
        absl::StrAppend(&text, "  play ", play->play_index() + 1, ": ", Tame(play->name()), "\n");
      }
      text += DeedText(deed);
    }
    text += "\n";
  }
  if (unchanged > 0) {
    absl::StrAppend(&text, FoldHostlist(groups[{}]), "  (", Counted(unchanged, "node"),
                    ")\n  nothing to change\n\n");
  }
  for (const v1::LeftOut& left_out : plan.left_out()) {
    absl::StrAppend(&text, left_out.nodes(), "  ", left_out.state(), ", not planned\n",
                    left_out.message().empty() ? "" : Indent(left_out.message()), "\n");
  }
  size_t out = 0;
  for (const v1::LeftOut& left_out : plan.left_out()) {
    out += ExpandHostlist(left_out.nodes())->size();
  }
  absl::StrAppend(&text, Counted(by_node.size() - unchanged, "node"), " to change, ", unchanged,
                  " as they should be", out == 0 ? "" : absl::StrCat(", ", out, " not planned"),
                  "\n", RenderSummary(plan));
  for (const v1::PlannedValidation& validation : plan.validations()) {
    absl::StrAppend(
        &text, "\nthen ",
        DescribePrediction(validation.suite(), validation.nodes(), validation.passed_nodes()),
        "\n");
  }
  if (plan.reboot_with_jobs())
    text +=
        "\nReboots do not wait: nodes reboot also while Slurm jobs run on them; the jobs die.\n";
  return text;
}

}  // namespace muster::cli
