#include "cli/render/comparison_report.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/drift.pb.h"

namespace muster::cli {
namespace {

using ComparedNodes = google::protobuf::RepeatedPtrField<std::string>;

std::string Folded(const ComparedNodes& nodes) {
  return FoldHostlist({nodes.begin(), nodes.end()});
}

bool AreAlike(const v1::NodeTrait& trait) { return trait.values_size() == 1; }

std::string TitleOf(const v1::NodeClass& one) {
  const std::string machine = PlainText(one.machine(), Lines::kOne);
  return absl::StrCat(one.role(), machine.empty() ? "" : ", ", machine);
}

void AddTrait(const v1::NodeTrait& trait, Table& table) {
  std::string name = PlainText(trait.name(), Lines::kOne);
  for (const v1::TraitValue& value : trait.values()) {
    table.AddRow({name, PlainText(value.value(), Lines::kOne),
                  AreAlike(trait) ? "all" : Folded(value.nodes())});
    name.clear();
  }
}

}  // namespace

bool HasDifferences(const v1::CompareNodesResponse& response) {
  return std::any_of(response.classes().begin(), response.classes().end(), [](const auto& one) {
    return !std::all_of(one.traits().begin(), one.traits().end(), AreAlike);
  });
}

std::string RenderComparison(const v1::CompareNodesResponse& response, bool all) {
  std::string text;
  for (const v1::NodeClass& one : response.classes()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", TitleOf(one), ": ", Folded(one.nodes()), "\n");
    Table table({"TRAIT", "VALUE", "NODES"});
    std::vector<std::string> alike;
    for (const v1::NodeTrait& trait : one.traits()) {
      if (all || !AreAlike(trait)) AddTrait(trait, table);
      if (AreAlike(trait)) alike.push_back(PlainText(trait.name(), Lines::kOne));
    }
    if (all || static_cast<int>(alike.size()) < one.traits_size())
      absl::StrAppend(&text, table.ToString());
    if (!all && one.nodes_size() == 1) {
      absl::StrAppend(&text, "the only one of its kind\n");
    } else if (!all && !alike.empty()) {
      absl::StrAppend(&text, "the same on all: ", absl::StrJoin(alike, ", "), "\n");
    }
  }
  if (response.without_facts_size() > 0) {
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    "without facts: ", Folded(response.without_facts()), "\n");
  }
  return text;
}

std::string RenderDifferences(const v1::CompareNodesResponse& response) {
  std::string text;
  for (const v1::NodeClass& one : response.classes()) {
    std::set<std::string> unlike;
    std::vector<std::string> traits;
    for (const v1::NodeTrait& trait : one.traits()) {
      if (AreAlike(trait)) continue;
      traits.push_back(PlainText(trait.name(), Lines::kOne));
      // All but those with the value of the most nodes.
      for (int i = 1; i < trait.values_size(); ++i)
        unlike.insert(trait.values(i).nodes().begin(), trait.values(i).nodes().end());
    }
    if (traits.empty()) continue;
    absl::StrAppend(&text, FoldHostlist({unlike.begin(), unlike.end()}), " unlike other ",
                    one.role(), " nodes: ", absl::StrJoin(traits, ", "),
                    " (muster node compare)\n");
  }
  return text;
}

}  // namespace muster::cli
