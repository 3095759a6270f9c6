#include "controller/drift/package_comparison.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/drift/node_comparison.h"
#include "muster/v1/drift.pb.h"
#include "muster/v1/facts.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller::drift {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::PackageFacts Told(const std::vector<std::string>& lines) {
  v1::PackageFacts facts;
  facts.set_count(static_cast<uint32_t>(lines.size()));
  facts.set_digest("d");
  facts.mutable_lines()->Assign(lines.begin(), lines.end());
  return facts;
}

v1::PackageDifferences Compared(const v1::PackageFacts& own, const v1::PackageFacts& common) {
  v1::PackageDifferences differences;
  differences.set_node("c002");
  differences.set_common_node("c001");
  ComparePackages(own, common, differences);
  return differences;
}

// "NAME:ARCHITECTURE VERSION/COMMON VERSION".
std::vector<std::string> Named(const v1::PackageDifferences& differences) {
  std::vector<std::string> named;
  for (const v1::PackageDifference& each : differences.packages())
    named.push_back(absl::StrCat(each.name(), ":", each.architecture(), " ", each.version(), "/",
                                 each.common_version()));
  return named;
}

TEST(ComparePackages, NamesWhatIsMoreLessAndOfAnotherVersion) {
  const auto differences = Compared(
      Told({"bash amd64 5.2-1", "by-hand all 1", "libc6 amd64 2.36-9", "libc6 i386 2.36-9"}),
      Told({"bash amd64 5.2-2", "curl amd64 7.88", "libc6 amd64 2.36-9", "libc6 i386 2.36-8"}));
  EXPECT_THAT(Named(differences), ElementsAre("bash:amd64 5.2-1/5.2-2", "by-hand:all 1/",
                                              "curl:amd64 /7.88", "libc6:i386 2.36-9/2.36-8"));
  EXPECT_EQ(differences.message(), "");
}

TEST(ComparePackages, KernelsAreSeveralOfOneName) {
  EXPECT_THAT(Named(Compared(Told({"kernel x86_64 5.14.0-1", "kernel x86_64 5.14.0-3"}),
                             Told({"kernel x86_64 5.14.0-1", "kernel x86_64 5.14.0-2"}))),
              ElementsAre("kernel:x86_64 5.14.0-3/5.14.0-2"));
  EXPECT_THAT(
      Named(Compared(Told({"kernel x86_64 1", "kernel x86_64 2"}), Told({"kernel x86_64 1"}))),
      ElementsAre("kernel:x86_64 2/"));
}

TEST(ComparePackages, EqualOnesAreNoDifference) {
  const v1::PackageFacts facts = Told({"bash amd64 5.2-1"});
  EXPECT_THAT(Named(Compared(facts, facts)), IsEmpty());
}

TEST(ComparePackages, SaysWhoDoesNotTell) {
  const v1::PackageFacts good = Told({"bash amd64 5.2-1"});
  v1::PackageFacts older = Told({});
  older.set_count(1200);
  EXPECT_THAT(Compared(older, good).message(), Said());
  EXPECT_THAT(Compared(good, older).message(), Said());
  EXPECT_THAT(Compared({}, good).message(), Said());
  v1::PackageFacts cut = good;
  cut.set_count(2);
  EXPECT_THAT(Compared(cut, good).message(), Said());
  EXPECT_THAT(Named(Compared(cut, good)), IsEmpty());
}

TEST(ComparePackages, AStrangersListIsBounded) {
  std::vector<std::string> many;
  for (int i = 0; i < kMostPackageDifferences + 7; ++i)
    many.push_back(absl::StrCat("p", i, " a 1"));
  many.emplace_back("no package");
  const auto differences = Compared(Told(many), Told({"p1 a 1"}));
  EXPECT_EQ(differences.packages_size(), kMostPackageDifferences);
  EXPECT_EQ(differences.left_out(), 6u);
}

class NamePackagesTest : public ::testing::Test {
 protected:
  // A class of nodes with these values of the trait.
  void AddClass(const std::vector<std::pair<std::string, std::vector<std::string>>>& values) {
    v1::NodeTrait& trait = *response_.add_classes()->add_traits();
    trait.set_name(std::string(kPackagesTrait));
    for (const auto& [value, nodes] : values) {
      v1::TraitValue& each = *trait.add_values();
      each.set_value(value);
      each.mutable_nodes()->Assign(nodes.begin(), nodes.end());
    }
  }
  // "NODE/COMMON: message or the number of packages", class by class.
  std::vector<std::string> Name() {
    NamePackages(response_, [this](const std::string& node) -> absl::StatusOr<v1::PackageFacts> {
      if (away_.count(node) > 0) return absl::NotFoundError("away");
      if (static_cast<int>(asked_.size()) == most_) return absl::CancelledError("gone");
      asked_.push_back(node);
      if (hung_.count(node) > 0) return absl::DeadlineExceededError("no answer");
      return Told({absl::StrCat("of-", node, " all 1")});
    });
    std::vector<std::string> named;
    for (const v1::NodeClass& one : response_.classes()) {
      for (const v1::PackageDifferences& each : one.package_differences())
        named.push_back(absl::StrCat(
            each.node(), "/", each.common_node(), ": ",
            each.message().empty() ? absl::StrCat(each.packages_size()) : each.message()));
    }
    return named;
  }

  v1::CompareNodesResponse response_;
  std::set<std::string> away_, hung_;
  int most_ = 1000;
  std::vector<std::string> asked_;
};

TEST_F(NamePackagesTest, AsksOneNodeOfEachKind) {
  AddClass({{"a", {"c1", "c2"}}, {"b", {"c3"}}, {"c", {"c4"}}});
  AddClass({{"a", {}}});  // all are alike
  EXPECT_THAT(Name(), ElementsAre("c3/c1: 2", "c4/c1: 2"));
  EXPECT_THAT(asked_, ElementsAre("c1", "c3", "c4"));
}

TEST_F(NamePackagesTest, AnotherOfItsKindStandsInForANodeThatIsAway) {
  away_ = {"c1", "c4"};
  AddClass({{"a", {"c1", "c2"}}, {"b", {"c3"}}, {"c", {"c4"}}});
  EXPECT_THAT(Name(), ElementsAre("c3/c2: 2", "c4/c2: no node with these packages is connected"));
}

TEST_F(NamePackagesTest, WhatNodesDoNotTellIsNoKind) {
  AddClass({{"unknown", {"c1", "c2"}}, {"a", {"c3"}}});
  AddClass({{"unknown", {"c4", "c5"}}, {"a", {"c6"}}, {"b", {"c7"}}});
  EXPECT_THAT(Name(), ElementsAre("c7/c6: 2"));
}

TEST_F(NamePackagesTest, WithoutTheCommonOnesNobodyElseIsAsked) {
  hung_ = {"c1"};
  AddClass({{"a", {"c1", "c2"}}, {"b", {"c3"}}, {"c", {"c4"}}});
  EXPECT_THAT(Name(), ElementsAre("c1/: no answer"));
  EXPECT_THAT(asked_, ElementsAre("c1"));
}

TEST_F(NamePackagesTest, AsksABoundedNumberForAResponse) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (int i = 0; i < 3 * kMostNodesAsked; ++i)
    kinds.push_back({absl::StrCat("kind", i), {absl::StrCat("c", i)}});
  AddClass(kinds);
  AddClass(kinds);
  const std::vector<std::string> named = Name();
  EXPECT_EQ(asked_.size(), static_cast<size_t>(kMostNodesAsked));
  EXPECT_EQ(named.size(), static_cast<size_t>(kMostNodesAsked + 1));
  EXPECT_THAT(response_.classes(0).package_differences().rbegin()->message(), Said());
}

TEST_F(NamePackagesTest, StopsWhenNobodyWaits) {
  most_ = 2;
  AddClass({{"a", {"c1"}}, {"b", {"c2"}}, {"c", {"c3"}}});
  AddClass({{"a", {"c4"}}, {"b", {"c5"}}});
  EXPECT_THAT(Name(), ElementsAre("c2/c1: 2"));
  EXPECT_THAT(asked_, ElementsAre("c1", "c2"));
}

}  // namespace
}  // namespace muster::controller::drift
