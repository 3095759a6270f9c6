#include "controller/health/notices.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/health/health_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class NoticesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const Node& node : inventory_.nodes()) {
      nodes_.emplace_back();
      NodeView& view = situation_.nodes.emplace_back();
      view.uuid = view.name = node.name;
      view.health = &nodes_.back();
      view.rules = inventory_.health().RulesOf(node.name);
    }
    situation_.now = absl::FromUnixSeconds(1'900'000'000);
    situation_.limits = &inventory_.health().breakers();
    situation_.rules_of = [this](const std::string& uuid) {
      return inventory_.health().RulesOf(uuid);
    };
  }
  void Turn(int node, const std::vector<v1::Condition>& conditions) {
    nodes_[node - 1].Take(Report(conditions), sets_, situation_.now);
  }
  std::vector<std::string> Take() {
    std::vector<std::string> texts;
    for (const Notice& notice : notices_.Take(situation_, Decide(situation_)))
      texts.push_back(Line(notice));
    situation_.now += absl::Seconds(1);
    return texts;
  }

  const Inventory inventory_ = Workers(4);
  WatchedSets sets_;
  std::deque<NodeHealth> nodes_;
  Situation situation_;
  Notices notices_;
};

TEST_F(NoticesTest, EqualNewsAreOneNotice) {
  Turn(1, {Bad("disk_full", "/", "97 %")});
  Turn(3, {Bad("disk_full", "/", "99 %")});
  EXPECT_THAT(Take(), ElementsAre("c[1,3]: disk_full: 97 %"));
  EXPECT_THAT(Take(), IsEmpty());
  Turn(2, {Bad("disk_full", "/", "98 %"), Bad("oom_kill")});
  EXPECT_THAT(Take(), ElementsAre("c2: disk_full: 98 %")) << "oom_kill is only observed";
  Turn(1, {});
  Turn(3, {});
  EXPECT_THAT(Take(), ElementsAre("c[1,3]: disk_full: well again"));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(NoticesTest, AFlappingConditionIsToldOnceInItsCoolDown) {
  std::vector<std::string> all;
  for (int i = 0; i < 200; ++i) {
    Turn(1,
         i % 2 == 0 ? std::vector<v1::Condition>{Bad("disk_full")} : std::vector<v1::Condition>{});
    for (const std::string& text : Take()) all.push_back(text);
  }
  EXPECT_EQ(std::count(all.begin(), all.end(), "c1: disk_full: seen"), 1);
  situation_.now += absl::Minutes(31);
  Take();
  Turn(1, {Bad("disk_full")});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: seen"));
}

TEST_F(NoticesTest, WhatComesBackInItsCoolDownAndStaysIsTold) {
  Turn(1, {Bad("disk_full")});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: seen"));
  Turn(1, {});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: well again"));
  situation_.now += absl::Minutes(1);
  Turn(1, {Bad("disk_full")});
  EXPECT_THAT(Take(), IsEmpty());
  situation_.now += absl::Minutes(31);
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: seen"));
  EXPECT_THAT(Take(), IsEmpty());
  Turn(1, {});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: well again"));
  // The end of what was not told is not told either.
  Turn(1, {Bad("disk_full")});
  EXPECT_THAT(Take(), IsEmpty());
  Turn(1, {});
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(NoticesTest, ASecondPartOfTheNodeIsNews) {
  const v1::Condition root = Bad("disk_full", "/", "97 %"),
                      data = Bad("disk_full", "/data", "98 %");
  Turn(1, {root});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: 97 %"));
  Turn(1, {root, data});
  Turn(2, {data});
  EXPECT_THAT(Take(),
              UnorderedElementsAre("c1: disk_full: also /data: 98 %", "c2: disk_full: 98 %"));
  EXPECT_THAT(Take(), IsEmpty());
  Turn(1, {data});
  EXPECT_THAT(Take(), IsEmpty()) << "the condition is not over";
  Turn(1, {});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: well again"));
}

TEST_F(NoticesTest, APartThatFlapsIsToldOnceInItsCoolDown) {
  const v1::Condition root = Bad("disk_full", "/", "97 %"),
                      data = Bad("disk_full", "/data", "98 %");
  std::vector<std::string> all;
  for (int i = 0; i < 200; ++i) {
    Turn(1, i % 2 == 0 ? std::vector<v1::Condition>{root} : std::vector<v1::Condition>{root, data});
    for (const std::string& text : Take()) all.push_back(text);
  }
  EXPECT_THAT(all, ElementsAre("c1: disk_full: 97 %", "c1: disk_full: also /data: 98 %"));
  situation_.now += absl::Minutes(31);
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: also /data: 98 %"));
}

TEST_F(NoticesTest, PartsOfEverNewNamesAreBounded) {
  size_t told = 0;
  for (size_t i = 0; i < 10 * Notices::kMaxParts; ++i) {
    Turn(1, {Bad("disk_full", absl::StrCat("/", i))});
    told += Take().size();
  }
  EXPECT_EQ(told, Notices::kMaxParts);
}

TEST_F(NoticesTest, ARestartRepeatsNothing) {
  Turn(1, {Bad("disk_full")});
  notices_.Remember("c1", "c1", "disk_full");
  situation_.nodes[0].away_since = situation_.now;
  EXPECT_THAT(Take(), IsEmpty());
  situation_.nodes[0].away_since.reset();
  EXPECT_THAT(Take(), IsEmpty());
  Turn(1, {});
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: well again"));
}

TEST_F(NoticesTest, WorkOnANodeIsNoNews) {
  situation_.nodes[0].is_worked_on = true;
  Turn(1, {Bad("disk_full"), Bad("gpu_ecc")});
  EXPECT_THAT(Take(), IsEmpty());
  Turn(1, {Bad("disk_full")});
  EXPECT_THAT(Take(), IsEmpty()) << "nobody has heard of gpu_ecc";
  situation_.nodes[0].is_worked_on = false;
  EXPECT_THAT(Take(), ElementsAre("c1: disk_full: seen"));
}

TEST_F(NoticesTest, BreakersSpeakToo) {
  for (NodeView& view : situation_.nodes) view.can_drain = view.in_service = true;
  for (int i = 1; i <= 4; ++i) Turn(i, {Bad("gpu_lost")});
  EXPECT_THAT(Take(), UnorderedElementsAre(
                          "c[1-2]: gpu_lost: seen; drained",
                          "c[3-4]: gpu_lost: seen; not drained: too many nodes are bad "
                          "(muster health)",
                          "too many nodes of all are bad at once; no more are drained for their "
                          "health"));
}

}  // namespace
}  // namespace muster::controller::health
