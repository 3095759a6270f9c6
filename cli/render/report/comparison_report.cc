#include "cli/render/report/comparison_report.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
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

std::string Version(const std::string& version) {
  return version.empty() ? "-" : PlainText(version, Lines::kOne);
}

std::string RenderPackages(const v1::PackageDifferences& differences) {
  const std::string node = PlainText(differences.node(), Lines::kOne);
  const std::string common = PlainText(differences.common_node(), Lines::kOne);
  if (const std::string message = PlainText(differences.message(), Lines::kOne); !message.empty()) {
    // "c003 does not name its 900 packages"
    if (!node.empty() && absl::StartsWith(message, node + " ")) return message + "\n";
    return absl::StrCat("packages", node.empty() ? "" : " of ", node, ": ", message, "\n");
  }
  if (differences.packages().empty())
    return absl::StrCat("packages of ", node, ": now the same as on ", common, "\n");
  Table table({"PACKAGE", "ARCHITECTURE", node, common});
  for (const v1::PackageDifference& package : differences.packages())
    table.AddRow({PlainText(package.name(), Lines::kOne),
                  PlainText(package.architecture(), Lines::kOne), Version(package.version()),
                  Version(package.common_version())});
  return absl::StrCat(
      table.ToString(),
      differences.left_out() == 0 ? "" : absl::StrCat("and ", differences.left_out(), " more\n"));
}

// The traits of the controller's table (controller/drift/node_comparison.cc) that change with the
// machine.
constexpr const char* kHardware[] = {"processors", "memory", "GPUs"};
constexpr char kUntold[] = "unknown";

// The firmware takes some of the memory for itself, not always as much: "2015 GiB" is "2014 GiB".
bool AreNearly(absl::string_view a, absl::string_view b) {
  constexpr absl::string_view kUnit = " GiB";
  int first = 0, second = 0;
  if (!absl::ConsumeSuffix(&a, kUnit) || !absl::ConsumeSuffix(&b, kUnit) ||
      !absl::SimpleAtoi(a, &first) || !absl::SimpleAtoi(b, &second))
    return false;
  constexpr int kParts = 50;  // 2 %
  return std::abs(first - second) <= std::max(1, std::max(first, second) / kParts);
}

const v1::NodeClass* ClassOf(const v1::CompareNodesResponse& response, const std::string& node) {
  for (const v1::NodeClass& one : response.classes()) {
    if (std::find(one.nodes().begin(), one.nodes().end(), node) != one.nodes().end()) return &one;
  }
  return nullptr;
}

// "": it does not tell.
std::string ValueOf(const v1::NodeClass& one, absl::string_view trait, const std::string& node) {
  for (const v1::NodeTrait& each : one.traits()) {
    if (each.name() != trait) continue;
    for (const v1::TraitValue& value : each.values()) {
      const bool has_it =
          value.nodes().empty() ||
          std::find(value.nodes().begin(), value.nodes().end(), node) != value.nodes().end();
      if (has_it && value.value() != kUntold) return PlainText(value.value(), Lines::kOne);
    }
  }
  return "";
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
    for (const v1::PackageDifferences& differences : one.package_differences())
      absl::StrAppend(&text, RenderPackages(differences));
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

std::vector<std::string> HardwareDifferences(const v1::CompareNodesResponse& response,
                                             const std::string& node, const std::string& like) {
  const v1::NodeClass* const own = ClassOf(response, node);
  const v1::NodeClass* const other = ClassOf(response, like);
  std::vector<std::string> differences;
  if (own == nullptr || other == nullptr) return differences;
  const auto compare = [&](absl::string_view name, const std::string& is,
                           const std::string& wanted) {
    if (!is.empty() && !wanted.empty() && is != wanted && !AreNearly(is, wanted))
      differences.push_back(absl::StrCat(name, ": ", is, ", not ", wanted));
  };
  compare("machine", PlainText(own->machine(), Lines::kOne),
          PlainText(other->machine(), Lines::kOne));
  for (const char* name : kHardware)
    compare(name, ValueOf(*own, name, node), ValueOf(*other, name, like));
  return differences;
}

}  // namespace muster::cli
