#include "controller/health/node_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/health/health_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kReported = absl::FromUnixSeconds(1'900'000'000);

// "bad gpu_lost GPU-1"
std::vector<std::string> Words(const std::vector<v1::Condition>& conditions) {
  std::vector<std::string> words;
  for (const v1::Condition& condition : conditions) {
    const char* status = condition.status() == v1::CONDITION_STATUS_BAD  ? "bad"
                         : condition.status() == v1::CONDITION_STATUS_OK ? "ok"
                                                                         : "unknown";
    words.push_back(absl::StrCat(status, " ", condition.name(),
                                 condition.object().empty() ? "" : " ", condition.object()));
  }
  return words;
}

TEST(NodeHealth, OnlyChangesAreNews) {
  WatchedSets sets;
  NodeHealth node;
  EXPECT_THAT(Words(node.Take(Report({Bad("gpu_lost", "b"), Unknown("gpu_ecc")}), sets, kReported)),
              ElementsAre("unknown gpu_ecc", "bad gpu_lost b"));
  EXPECT_THAT(
      node.Take(Report({Unknown("gpu_ecc"), Bad("gpu_lost", "b", "other")}), sets, kReported),
      IsEmpty())
      << "neither the order nor new words of the same are news";
  EXPECT_THAT(Words(node.Take(Report({Bad("gpu_ecc"), Bad("gpu_lost", "a")}), sets, kReported)),
              ElementsAre("bad gpu_ecc", "bad gpu_lost a", "ok gpu_lost b"));
  EXPECT_THAT(Words(node.Take(Report(), sets, kReported)),
              ElementsAre("ok gpu_ecc", "ok gpu_lost a"));
}

TEST(NodeHealth, AConditionIsOkOnlyWhereItIsWatched) {
  WatchedSets sets;
  NodeHealth node;
  EXPECT_EQ(node.StandingOf("gpu_lost"), Standing::kUnknown) << "no report yet";
  node.Take(Report({Bad("gpu_lost", "b"), Unknown("gpu_ecc")}), sets, kReported);
  EXPECT_EQ(node.StandingOf("gpu_lost"), Standing::kBad);
  EXPECT_EQ(node.StandingOf("gpu_ecc"), Standing::kUnknown);
  EXPECT_EQ(node.StandingOf("disk_full"), Standing::kOk);
  EXPECT_EQ(node.StandingOf("scratch_quota"), Standing::kUnknown);
}

// A hostile node: what it says twice, of the future or in no status counts once, now, or not.
TEST(NodeHealth, NonsenseIsLeftOut) {
  WatchedSets sets;
  NodeHealth node;
  v1::Condition future = Bad("gpu_lost");
  *future.mutable_since() = ToTimestamp(kReported + absl::Hours(1000));
  v1::Condition ok = Bad("disk_full");
  ok.set_status(v1::CONDITION_STATUS_OK);
  v1::Condition nothing = Bad("oom_kill");
  nothing.clear_status();
  node.Take(Report({future, future, ok, nothing}), sets, kReported);
  ASSERT_THAT(node.conditions(), SizeIs(1));
  EXPECT_EQ(ToTime(node.conditions()[0].since()), kReported);
}

TEST(NodeHealth, EqualNodesShareWhatTheyWatch) {
  WatchedSets sets;
  NodeHealth one, other;
  one.Take(Report(), sets, kReported);
  other.Take(Report({Bad("gpu_lost")}), sets, kReported);
  EXPECT_EQ(&one.watched(), &other.watched());
}

}  // namespace
}  // namespace muster::controller::health
