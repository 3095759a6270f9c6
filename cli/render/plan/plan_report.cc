#include "cli/render/plan/plan_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/plain_text.h"
#include "cli/render/plan/diff_fold.h"
#include "cli/render/plan/plan_summary.h"
#include "cli/render/run/ending_report.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/plan_file.pb.h"

namespace muster::cli {
namespace {

// Longer values are cut: the plan file has them in full.
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

// A step that would change something, and which fields; the values are each node's own.
struct Deed {
  const v1::PlannedPlay* play = nullptr;
  const v1::PlannedStep* step = nullptr;
  const v1::PlannedOutcome* outcome = nullptr;  // one of them
};

// A key that is equal where the same fields change, to whatever values.
std::string ShapeOf(const v1::PlannedPlay& play, const v1::PlannedStep& step,
                    const v1::PlannedOutcome& outcome) {
  return absl::StrCat(
      play.play_index(), "\n", step.step_id(), "\n", outcome.resource(), "\n",
      absl::StrJoin(outcome.changes(), "\n", [](std::string* out, const v1::Change& change) {
        absl::StrAppend(out, change.field(), "/", change.diff().empty());
      }));
}

// The outcomes of a deed with their nodes, in the order of their first node.
using Variants = std::vector<std::pair<const v1::PlannedOutcome*, std::vector<std::string>>>;

void Add(const v1::PlannedOutcome* outcome, const std::string& node, Variants* variants) {
  auto at = std::find_if(variants->begin(), variants->end(),
                         [&](const auto& each) { return each.first == outcome; });
  if (at == variants->end()) at = variants->insert(at, {outcome, {}});
  at->second.push_back(node);
}

std::string DeedText(const Deed& deed, const Variants& variants) {
  std::string text = absl::StrCat("    ", Tame(StepTitle(*deed.step)));
  if (!deed.outcome->resource().empty()) {
    absl::StrAppend(&text, "  ", Shown(deed.outcome->resource()));
  }
  absl::StrAppend(&text, "\n");
  for (int i = 0; i < deed.outcome->changes_size(); ++i) {
    std::vector<TextOfNodes> texts;
    for (const auto& [outcome, nodes] : variants) {
      const v1::Change& change = outcome->changes(i);
      std::string own = change.diff().empty() ? ChangeText(change) : change.diff();
      const auto same = std::find_if(texts.begin(), texts.end(),
                                     [&](const TextOfNodes& each) { return each.text == own; });
      if (same == texts.end()) {
        texts.push_back({nodes, std::move(own)});
      } else {
        same->nodes.insert(same->nodes.end(), nodes.begin(), nodes.end());
      }
    }
    absl::StrAppend(&text, Indent(FoldTexts(texts), 8));
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
  // The deeds of each node, by index: nodes with equal lists are shown together.
  std::vector<Deed> deeds;
  std::map<std::string, size_t> deed_of_shape;
  std::map<std::string, std::vector<size_t>> by_node;
  std::map<std::pair<std::string, size_t>, const v1::PlannedOutcome*> outcomes;  // node and deed
  for (const v1::PlannedPlay& play : plan.plays()) {
    for (const v1::PlannedNodes& nodes : play.nodes()) {
      const auto names = ExpandHostlist(nodes.nodes());
      for (const std::string& name : *names) by_node.try_emplace(name);
    }
    for (const v1::PlannedStep& step : play.steps()) {
      for (const v1::PlannedOutcome& outcome : step.outcomes()) {
        if (outcome.status() != v1::STEP_STATUS_CHANGED) continue;
        const auto [deed, is_new] =
            deed_of_shape.try_emplace(ShapeOf(play, step, outcome), deeds.size());
        if (is_new) deeds.push_back({&play, &step, &outcome});
        const auto names = ExpandHostlist(outcome.nodes());
        for (const std::string& name : *names) {
          by_node[name].push_back(deed->second);
          outcomes[{name, deed->second}] = &outcome;
        }
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
      Variants variants;
      for (const std::string& name : names) Add(outcomes[{name, index}], name, &variants);
      text += DeedText(deed, variants);
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
                  "\n", RenderNodes(plan), RenderSummary(plan));
  for (const v1::PlannedValidation& validation : plan.validations()) {
    absl::StrAppend(
        &text, "\nthen ",
        DescribePrediction(validation.suite(), validation.nodes(), validation.passed_nodes()),
        "\n");
  }
  if (plan.reboot_with_jobs())
    text +=
        "\nReboots do not wait: nodes reboot even while Slurm jobs run on them, and the jobs "
        "die.\n";
  return text;
}

}  // namespace muster::cli
