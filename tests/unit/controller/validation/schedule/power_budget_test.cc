#include "controller/validation/schedule/power_budget.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::controller::validation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using checks::Load;

const absl::Time kBudgetStart = absl::FromUnixSeconds(1700000000);
constexpr PowerRamp kNoRamp = {1, absl::ZeroDuration()};

// Six nodes of 1.6 kW in two racks.
PowerBudget UniversityBudget(double limit, PowerRamp ramp) {
  PowerBudget budget({{"r1", limit, 0}, {"r2", limit, 0}}, ramp);
  const NodePower power = PredictPower({1600, std::nullopt, {250, 250, 250, 250}});
  for (int i = 1; i <= 6; ++i) {
    budget.AddNode(absl::StrCat("c", i), i <= 3 ? "r1" : "r2", power);
  }
  return budget;
}

std::set<int> StartAll(PowerBudget& budget, const std::set<int>& nodes, absl::Time now) {
  std::set<int> started;
  for (const int i : nodes) {
    const std::string name = absl::StrCat("c", i);
    if (budget.TryStart(name, {{name, Load::kGpu}}, now)) started.insert(i);
  }
  return started;
}

TEST(PredictPower, TakesWhatIsKnown) {
  const NodePower nothing = PredictPower({});
  EXPECT_DOUBLE_EQ(nothing.full, kDefaultCpuWatts);
  EXPECT_DOUBLE_EQ(nothing.idle, kDefaultIdleWatts);
  const NodePower gpus = PredictPower({std::nullopt, 300, {250, 250}});
  EXPECT_DOUBLE_EQ(gpus.full, kDefaultCpuWatts + 500);
  EXPECT_DOUBLE_EQ(gpus.cpu, kDefaultCpuWatts);
  EXPECT_DOUBLE_EQ(gpus.idle, 300);
  const NodePower whole = PredictPower({1600, std::nullopt, {}});
  EXPECT_DOUBLE_EQ(whole.full, 1600);
  EXPECT_DOUBLE_EQ(whole.cpu, 1600);
  EXPECT_DOUBLE_EQ(whole.Of(Load::kNetwork), 1600);
  const NodePower small = PredictPower({100, std::nullopt, {}});
  EXPECT_DOUBLE_EQ(small.idle, 100);
  const NodePower hot = PredictPower({700, 200, {400, 400}});
  EXPECT_DOUBLE_EQ(hot.cpu, 200);
}

TEST(PowerBudget, ThreeOfTheUniversitysNodesARackAtOnce) {
  PowerBudget budget = UniversityBudget(6000, kNoRamp);
  EXPECT_EQ(StartAll(budget, {1, 2, 3, 4, 5, 6}, kBudgetStart).size(), 6u);
  EXPECT_DOUBLE_EQ(budget.RackWatts("r1"), 4800);
}

TEST(PowerBudget, TwoAtOnceWhereNoMoreFit) {
  PowerBudget budget = UniversityBudget(4000, kNoRamp);
  EXPECT_EQ(StartAll(budget, {1, 2, 3, 4, 5, 6}, kBudgetStart), (std::set<int>{1, 2, 4, 5}));
  budget.Finish("c1");
  EXPECT_EQ(StartAll(budget, {3, 6}, kBudgetStart), (std::set<int>{3}));
  budget.Finish("c5");
  EXPECT_EQ(StartAll(budget, {6}, kBudgetStart), (std::set<int>{6}));
}

TEST(PowerBudget, AddsLoadInSteps) {
  PowerBudget budget = UniversityBudget(6000, {0.34, absl::Seconds(5)});
  EXPECT_EQ(StartAll(budget, {1, 2, 3, 4, 5, 6}, kBudgetStart), (std::set<int>{1, 4}));
  EXPECT_THAT(StartAll(budget, {2, 3}, kBudgetStart + absl::Seconds(4)), IsEmpty());
  EXPECT_EQ(StartAll(budget, {2, 3}, kBudgetStart + absl::Seconds(5)), (std::set<int>{2}));
}

// Two adjacent steps would be one jump of twice the size.
TEST(PowerBudget, StepsAreApartWhateverWasAddedWhen) {
  PowerBudget budget({{"r1", 3000, 0}}, {1.0 / 3, absl::Seconds(5)});
  for (const char* node : {"c1", "c2", "c3"}) {
    budget.AddNode(node, "r1", PredictPower({600, 100, {}}));
  }
  ASSERT_TRUE(budget.TryStart("1", {{"c1", Load::kGpu}}, kBudgetStart));
  ASSERT_TRUE(budget.TryStart("2", {{"c2", Load::kGpu}}, kBudgetStart + absl::Seconds(4)));
  EXPECT_FALSE(budget.TryStart("3", {{"c3", Load::kGpu}}, kBudgetStart + absl::Seconds(6)));
  EXPECT_TRUE(budget.TryStart("3", {{"c3", Load::kGpu}}, kBudgetStart + absl::Seconds(9)));
}

TEST(PowerBudget, SideBySideOnANodeIsNotCountedTwice) {
  PowerBudget budget = UniversityBudget(2200, kNoRamp);
  EXPECT_TRUE(budget.TryStart("gpu", {{"c1", Load::kGpu}}, kBudgetStart));
  const double watts = budget.RackWatts("r1");
  EXPECT_TRUE(budget.TryStart("cpu", {{"c1", Load::kCpu}}, kBudgetStart));
  EXPECT_DOUBLE_EQ(budget.RackWatts("r1"), watts);
  budget.Finish("gpu");
  EXPECT_DOUBLE_EQ(budget.RackWatts("r1"), 600 + 250 + 250);
  budget.Finish("cpu");
  EXPECT_DOUBLE_EQ(budget.RackWatts("r1"), 750);
}

TEST(PowerBudget, SaysWhatCanNeverStart) {
  PowerBudget budget({{"r1", 1000, 200}}, kNoRamp);
  budget.AddNode("c1", "r1", PredictPower({1600, 250, {}}));
  EXPECT_THAT(budget.WhyNever({{"c1", Load::kGpu}}),
              HasSubstr("needs 1350 W on top of the 250 W that the nodes under test in rack r1 "
                        "draw idle, and the rack carries 1000 W"));
  EXPECT_EQ(budget.WhyNever({{"c1", Load::kIdle}}), "");
  EXPECT_EQ(budget.WhyNever({{"unknown", Load::kGpu}}), "");
}

// Six nodes of 1.6 kW on one feed of 6 kW. Four run jobs, the other two are repaired.
TEST(PowerBudget, BesideOthersAboveTheLimitOneCheckRunsAtATime) {
  PowerBudget budget({{"r1", 6000, 4 * 1600}}, kNoRamp);
  for (const char* node : {"c1", "c2"})
    budget.AddNode(node, "r1", PredictPower({1600, 250, {1000}}));
  EXPECT_EQ(budget.WhyNever({{"c1", Load::kGpu}}), "");
  ASSERT_TRUE(budget.TryStart("c1", {{"c1", Load::kGpu}}, kBudgetStart));
  EXPECT_TRUE(budget.TryStart("beside", {{"c1", Load::kCpu}}, kBudgetStart)) << "on the same node";
  EXPECT_FALSE(budget.TryStart("c2", {{"c2", Load::kGpu}}, kBudgetStart));
  EXPECT_TRUE(budget.TryStart("look", {{"c2", Load::kIdle}}, kBudgetStart));
  // Stopping it would gain nothing: nothing else has load.
  EXPECT_THAT(budget.Measured("c1", 1900), IsEmpty());
  budget.Finish("c1");
  budget.Finish("beside");
  EXPECT_TRUE(budget.TryStart("c2", {{"c2", Load::kGpu}}, kBudgetStart));
  budget.Finish("c2");
  // The sides of a pair are one check.
  EXPECT_TRUE(
      budget.TryStart("pair", {{"c1", Load::kNetwork}, {"c2", Load::kNetwork}}, kBudgetStart));
  EXPECT_FALSE(budget.TryStart("c1", {{"c1", Load::kGpu}}, kBudgetStart));
}

TEST(PowerBudget, AnIdleNodeThatDrawsMoreThanPredictedIsNotLoad) {
  PowerBudget budget({{"r1", 12'000, 20'000}}, kNoRamp);
  for (const char* node : {"c1", "c2"}) budget.AddNode(node, "r1", PredictPower({6000, 250, {}}));
  ASSERT_TRUE(budget.TryStart("gpu", {{"c1", Load::kGpu}}, kBudgetStart));
  ASSERT_TRUE(budget.TryStart("look", {{"c2", Load::kIdle}}, kBudgetStart));
  EXPECT_THAT(budget.Measured("c2", 1500), IsEmpty());
  budget.Finish("gpu");
  EXPECT_TRUE(budget.TryStart("again", {{"c1", Load::kGpu}}, kBudgetStart));
}

TEST(PowerBudget, BesideOthersAboveTheLimitNoOtherValidationLoadsTheRack) {
  PowerBudget budget({{"full", 6000, 9000}, {"half", 6000, 1000}}, kNoRamp);
  budget.AddNode("c1", "full", PredictPower({1600, 250, {}}));
  budget.AddNode("c2", "half", PredictPower({1600, 250, {}}));
  bool is_loaded = true;
  budget.SetOthersLoad([&](const std::string&, bool) { return is_loaded; });
  EXPECT_EQ(budget.WhyNever({{"c1", Load::kGpu}}), "");
  EXPECT_FALSE(budget.TryStart("c1", {{"c1", Load::kGpu}}, kBudgetStart));
  EXPECT_TRUE(budget.TryStart("look", {{"c1", Load::kIdle}}, kBudgetStart));
  EXPECT_TRUE(budget.TryStart("c2", {{"c2", Load::kGpu}}, kBudgetStart));
  EXPECT_FALSE(budget.HasLoad("full", /*with_stopping=*/true));
  EXPECT_TRUE(budget.HasLoad("half", /*with_stopping=*/true));
  is_loaded = false;
  EXPECT_TRUE(budget.TryStart("c1", {{"c1", Load::kGpu}}, kBudgetStart));
}

TEST(PowerBudget, BesideOthersAboveTheLimitTheTestedNodesKeepIt) {
  PowerBudget budget({{"r1", 3000, 9000}}, kNoRamp);
  for (const char* node : {"c1", "c2"}) budget.AddNode(node, "r1", PredictPower({1600, 250, {}}));
  const std::vector<PowerBudget::Member> both = {{"c1", Load::kGpu}, {"c2", Load::kGpu}};
  EXPECT_THAT(budget.WhyNever(both), HasSubstr("test fewer nodes at once"));
  EXPECT_FALSE(budget.TryStart("both", both, kBudgetStart));
  ASSERT_TRUE(budget.TryStart("c1", {{"c1", Load::kGpu}}, kBudgetStart));
  EXPECT_THAT(budget.Measured("c1", 2700), IsEmpty());
  EXPECT_THAT(budget.Measured("c1", 2800), ElementsAre("c1"));
}

TEST(PowerBudget, StopsTheNewestWhenMoreIsDrawnThanPredicted) {
  PowerBudget budget = UniversityBudget(5000, kNoRamp);
  ASSERT_EQ(StartAll(budget, {1, 2, 3}, kBudgetStart).size(), 3u);
  EXPECT_THAT(budget.Measured("c1", 1700), IsEmpty());
  EXPECT_THAT(budget.Measured("c1", 1900), ElementsAre("c3"));
  EXPECT_THAT(budget.Measured("c2", 1650), IsEmpty());  // c3 is being stopped
  budget.Finish("c3");
  EXPECT_FALSE(budget.TryStart("again", {{"c3", Load::kGpu}}, kBudgetStart));
  budget.Finish("c1");
  budget.Finish("c2");
  // Its measured draw becomes its prediction from now on.
  ASSERT_TRUE(budget.TryStart("c1", {{"c1", Load::kGpu}}, kBudgetStart));
  EXPECT_DOUBLE_EQ(budget.RackWatts("r1"), 1900 + 500);
  EXPECT_THAT(budget.Measured("nobody", 99999), IsEmpty());
}

// With the nodes that are not tested, unless a single check loads the rack.
TEST(PowerBudget, AlwaysUnderTheLimit) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    std::vector<RackPower> racks;
    for (int i = 0; i < 3; ++i) {
      racks.push_back({absl::StrCat("r", i), 3000.0 + random() % 6000, 1.0 * (random() % 500)});
    }
    PowerBudget budget(racks, {0.1 * (1 + random() % 10), absl::Seconds(random() % 5)});
    std::vector<std::string> nodes;
    for (int i = 0; i < 12; ++i) {
      nodes.push_back(absl::StrCat("c", i));
      budget.AddNode(nodes.back(), racks[i % 3].name,
                     PredictPower({300.0 + random() % 2500, 100, {}}));
    }
    std::vector<std::string> running;
    std::map<std::string, std::set<std::string>> loaded;  // nodes by id
    absl::Time now = kBudgetStart;
    for (int turn = 0; turn < 300; ++turn) {
      now += absl::Milliseconds(random() % 2000);
      if (!running.empty() && random() % 3 == 0) {
        const size_t which = random() % running.size();
        budget.Finish(running[which]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        std::vector<PowerBudget::Member> members;
        for (unsigned i = 0; i <= random() % 2; ++i) {
          members.push_back(
              {nodes[(turn + 5 * i) % nodes.size()], random() % 2 == 0 ? Load::kGpu : Load::kCpu});
        }
        const std::string id = absl::StrCat(turn);
        if (budget.TryStart(id, members, now)) {
          EXPECT_EQ(budget.WhyNever(members), "");
          running.push_back(id);
          for (const PowerBudget::Member& member : members) loaded[id].insert(member.node);
        }
      }
      for (size_t i = 0; i < racks.size(); ++i) {
        const double watts = budget.RackWatts(racks[i].name);
        ASSERT_LE(watts - racks[i].others_watts, racks[i].limit_watts + 1e-3) << seed;
        if (watts <= racks[i].limit_watts + 1e-3) continue;
        std::set<std::string> all;
        size_t most = 0;
        for (const std::string& id : running) {
          std::set<std::string> here;
          for (size_t node = i; node < nodes.size(); node += 3)
            if (loaded[id].count(nodes[node]) > 0) here.insert(nodes[node]);
          all.insert(here.begin(), here.end());
          most = std::max(most, here.size());
        }
        EXPECT_EQ(all.size(), most) << seed;
      }
    }
    for (const std::string& id : running) budget.Finish(id);
    for (const RackPower& rack : racks) {
      EXPECT_NEAR(budget.RackWatts(rack.name), rack.others_watts + 400, 1e-3);
    }
  }
}

}  // namespace
}  // namespace muster::controller::validation
