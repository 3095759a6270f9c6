#include "controller/drift/package_comparison.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "controller/drift/node_comparison.h"
#include "muster/v1/drift.pb.h"

namespace muster::controller::drift {
namespace {

// Several kernels, and some packages of EL, are installed in more than one version.
using Versions = std::set<std::string>;
using Package = std::pair<std::string, std::string>;  // name, architecture

std::map<Package, Versions> PackagesOf(const v1::PackageFacts& facts) {
  std::map<Package, Versions> packages;
  for (const std::string& line : facts.lines()) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 3) packages[{words[0], words[1]}].insert(words[2]);
  }
  return packages;
}

std::vector<std::string> Without(const Versions& a, const Versions& b) {
  std::vector<std::string> rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

// "": it does.
std::string WhyUntold(const v1::PackageFacts& facts, absl::string_view who) {
  if (facts.digest().empty()) return absl::StrCat(who, " had no answer about its packages");
  if (static_cast<uint32_t>(facts.lines_size()) == facts.count()) return "";
  return absl::StrCat(who, " does not name its ", facts.count(),
                      " packages: its agent is older, or they are too many");
}

// At most so many nodes of one kind are tried: all of them may be away.
constexpr int kMostNodesTried = 64;

// One node for each kind, within the limit of a response.
class Question {
 public:
  explicit Question(AskForPackages ask) : ask_(ask) {}

  bool MayAsk() const { return asked_ < kMostNodesAsked; }
  // *who: the node that has answered or failed. Cancelled: as of AskForPackages.
  absl::StatusOr<v1::PackageFacts> Ask(const v1::TraitValue& kind, std::string* who) {
    *who = kind.nodes(0);
    for (int i = 0; i < std::min(kind.nodes_size(), kMostNodesTried); ++i) {
      absl::StatusOr<v1::PackageFacts> packages = ask_(kind.nodes(i));
      if (absl::IsNotFound(packages.status())) continue;
      ++asked_;
      *who = kind.nodes(i);
      return packages;
    }
    return absl::UnavailableError("no node with these packages is connected");
  }

 private:
  AskForPackages ask_;
  int asked_ = 0;
};

// The values that nodes tell, that of the most nodes first.
std::vector<const v1::TraitValue*> KindsOf(const v1::NodeClass& one) {
  std::vector<const v1::TraitValue*> kinds;
  for (const v1::NodeTrait& trait : one.traits()) {
    if (trait.name() != kPackagesTrait) continue;
    for (const v1::TraitValue& value : trait.values()) {
      if (value.value() != kUnknownTrait) kinds.push_back(&value);
    }
  }
  return kinds;
}

// Cancelled: as of AskForPackages.
absl::Status NamePackagesOf(v1::NodeClass& one, Question& question) {
  const std::vector<const v1::TraitValue*> kinds = KindsOf(one);
  if (kinds.size() < 2) return absl::OkStatus();
  std::string common_node;
  absl::StatusOr<v1::PackageFacts> common = absl::UnavailableError("no node was asked");
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!question.MayAsk()) {
      one.add_package_differences()->set_message(
          absl::StrCat("nobody of ", kinds.size() - i, " further kinds of nodes was asked, as ",
                       kMostNodesAsked, " nodes were: name fewer nodes"));
      return absl::OkStatus();
    }
    std::string node;
    absl::StatusOr<v1::PackageFacts> told = question.Ask(*kinds[i], &node);
    if (absl::IsCancelled(told.status())) return told.status();
    if (i == 0 && told.ok()) {
      common_node = node;
      common = std::move(told);
      continue;
    }
    v1::PackageDifferences& differences = *one.add_package_differences();
    differences.set_node(node);
    differences.set_common_node(common_node);
    if (told.ok()) {
      ComparePackages(*told, *common, differences);
    } else {
      differences.set_message(std::string(told.status().message()));
    }
    // Nothing can be compared with it.
    if (i == 0) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

void ComparePackages(const v1::PackageFacts& own, const v1::PackageFacts& common,
                     v1::PackageDifferences& differences) {
  for (const auto& [facts, node] :
       {std::pair(&own, &differences.node()), std::pair(&common, &differences.common_node())}) {
    const std::string why = WhyUntold(*facts, *node);
    if (why.empty()) continue;
    differences.set_message(why);
    return;
  }
  std::map<Package, std::pair<Versions, Versions>> both;
  for (auto& [package, versions] : PackagesOf(own)) both[package].first = std::move(versions);
  for (auto& [package, versions] : PackagesOf(common)) both[package].second = std::move(versions);
  for (const auto& [package, versions] : both) {
    const std::vector<std::string> here = Without(versions.first, versions.second);
    const std::vector<std::string> there = Without(versions.second, versions.first);
    for (size_t i = 0; i < std::max(here.size(), there.size()); ++i) {
      if (differences.packages_size() >= kMostPackageDifferences) {
        differences.set_left_out(differences.left_out() + 1);
        continue;
      }
      v1::PackageDifference& each = *differences.add_packages();
      each.set_name(package.first);
      each.set_architecture(package.second);
      if (i < here.size()) each.set_version(here[i]);
      if (i < there.size()) each.set_common_version(there[i]);
    }
  }
}

void NamePackages(v1::CompareNodesResponse& response, AskForPackages ask) {
  Question question(ask);
  for (v1::NodeClass& one : *response.mutable_classes()) {
    if (!NamePackagesOf(one, question).ok()) return;
  }
}

}  // namespace muster::controller::drift
