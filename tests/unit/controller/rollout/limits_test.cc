#include "controller/rollout/plan/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

v1::CreateRolloutRequest Waves(std::vector<std::string> waves, int canary = -1) {
  v1::CreateRolloutRequest request;
  if (canary >= 0) request.set_canary(canary);
  for (const std::string& wave : waves) request.add_waves(wave);
  return request;
}

uint32_t Unavailable(const std::string& text, uint32_t nodes) {
  v1::CreateRolloutRequest request;
  request.set_max_unavailable(text);
  const auto limits = ResolveLimits(request, nodes);
  EXPECT_TRUE(limits.ok()) << limits.status();
  return limits.ok() ? limits->max_unavailable : 0;
}

TEST(Limits, Defaults) {
  const auto limits = ResolveLimits({}, 100);
  ASSERT_TRUE(limits.ok());
  EXPECT_THAT(limits->wave_sizes, ElementsAre(1, 100));
  EXPECT_EQ(limits->max_unavailable, 5);
  EXPECT_EQ(limits->max_per_rack, 0);
  EXPECT_EQ(limits->max_per_switch, 0);
  EXPECT_EQ(limits->failure_budget, 0);
  EXPECT_FALSE(limits->rolls_back);
  EXPECT_EQ(limits->soak, absl::ZeroDuration());
  EXPECT_TRUE(limits->windows.empty());
  EXPECT_EQ(limits->drain_timeout, absl::InfiniteDuration());
  EXPECT_FALSE(limits->passes_over);
  EXPECT_FALSE(limits->requeues);
}

TEST(Limits, LoginNodesAreNotRebootedAlong) {
  v1::CreateRolloutRequest request;
  request.set_reboots(v1::REBOOT_MODE_ALWAYS);
  EXPECT_TRUE(ResolveLimits(request, 10).ok());
  request.set_login_and_storage(true);
  request.set_workers(8);
  EXPECT_THAT(ResolveLimits(request, 10), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  request.set_reboots(v1::REBOOT_MODE_NEVER);
  EXPECT_TRUE(ResolveLimits(request, 10).ok());
}

TEST(Limits, Waves) {
  EXPECT_THAT(ResolveLimits(Waves({"4", "25%", "50%"}), 100)->wave_sizes,
              ElementsAre(1, 4, 25, 50, 100));
  EXPECT_THAT(ResolveLimits(Waves({"100%"}), 10)->wave_sizes, ElementsAre(1, 10));
  EXPECT_THAT(ResolveLimits(Waves({"10"}), 10)->wave_sizes, ElementsAre(1, 10));
  EXPECT_THAT(ResolveLimits(Waves({}, 0), 10)->wave_sizes, ElementsAre(10));
  EXPECT_THAT(ResolveLimits(Waves({"50%"}, 0), 10)->wave_sizes, ElementsAre(5, 10));
  EXPECT_THAT(ResolveLimits(Waves({}, 3), 10)->wave_sizes, ElementsAre(3, 10));
  EXPECT_THAT(ResolveLimits(Waves({}, 10), 10)->wave_sizes, ElementsAre(10));
  EXPECT_THAT(ResolveLimits(Waves({"25%"}, 99), 10),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ResolveLimits(Waves({}, 99), 10)->wave_sizes, ElementsAre(10));
  EXPECT_THAT(ResolveLimits(Waves({}), 1)->wave_sizes, ElementsAre(1));
  // Rounded up, and what comes to the same is one wave.
  EXPECT_THAT(ResolveLimits(Waves({"10%", "25%", "50%"}), 4)->wave_sizes, ElementsAre(1, 2, 4));
  EXPECT_THAT(ResolveLimits(Waves({"34%"}), 3)->wave_sizes, ElementsAre(1, 2, 3));
  EXPECT_THAT(ResolveLimits(Waves({"4", "8"}), 3)->wave_sizes, ElementsAre(1, 3));
}

TEST(Limits, WavesThatDoNotRise) {
  for (const auto& waves : std::vector<std::vector<std::string>>{
           {"4", "4"}, {"8", "4"}, {"50%", "25%"}, {"30%", "2"}, {"8", "30%"}}) {
    EXPECT_THAT(ResolveLimits(Waves(waves), 10),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  EXPECT_THAT(ResolveLimits(Waves({"2"}, 3), 10),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ResolveLimits(Waves(std::vector<std::string>(101, "1")), 10),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(Limits, Unavailable) {
  EXPECT_EQ(Unavailable("3", 100), 3);
  EXPECT_EQ(Unavailable("300", 100), 100);
  EXPECT_EQ(Unavailable("10%", 100), 10);
  EXPECT_EQ(Unavailable("10%", 19), 1) << "a limit is rounded down";
  EXPECT_EQ(Unavailable("1%", 5), 1) << "but never to nothing";
  EXPECT_EQ(Unavailable("100%", 4'000'000'000u), 4'000'000'000u);
  EXPECT_EQ(Unavailable("", 39), 1);
  EXPECT_EQ(Unavailable("", 40), 2);
}

TEST(Limits, WordsThatAreNoShare) {
  for (const char* word : {"0", "0%", "101%", "-1", "+1", "1.5", "half", "%", "5 %", " 5",
                           "99999999999", "0x10", "5%%", "\x1b[31m5"}) {
    SCOPED_TRACE(word);
    v1::CreateRolloutRequest request;
    request.set_max_unavailable(word);
    EXPECT_THAT(ResolveLimits(request, 10), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
    EXPECT_FALSE(ResolveLimits(Waves({word}), 10).ok());
  }
}

TEST(Limits, TimesAndTheRest) {
  v1::CreateRolloutRequest request;
  request.set_max_per_rack(2);
  request.set_max_per_switch(3);
  request.set_failure_budget(4);
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  request.mutable_soak()->set_seconds(1800);
  request.mutable_drain_timeout()->set_seconds(3600);
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_SKIP);
  request.add_windows("Sat 22:00-06:00");
  request.add_windows("02:00-03:00");
  const auto limits = ResolveLimits(request, 10);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->max_per_rack, 2);
  EXPECT_EQ(limits->max_per_switch, 3);
  EXPECT_EQ(limits->failure_budget, 4);
  EXPECT_TRUE(limits->rolls_back);
  EXPECT_EQ(limits->soak, absl::Minutes(30));
  EXPECT_EQ(limits->drain_timeout, absl::Hours(1));
  EXPECT_TRUE(limits->passes_over);
  EXPECT_FALSE(limits->requeues);
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_REQUEUE);
  const auto requeuing = ResolveLimits(request, 10);
  ASSERT_OK(requeuing.status());
  EXPECT_FALSE(requeuing->passes_over);
  EXPECT_TRUE(requeuing->requeues);
  EXPECT_EQ(limits->windows.size(), 2);

  v1::CreateRolloutRequest wrong = request;
  wrong.mutable_soak()->set_seconds(-1);
  EXPECT_THAT(ResolveLimits(wrong, 10), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  wrong = request;
  wrong.mutable_drain_timeout()->set_seconds(-60);
  EXPECT_THAT(ResolveLimits(wrong, 10), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  wrong = request;
  wrong.add_windows("at night");
  EXPECT_THAT(ResolveLimits(wrong, 10), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  wrong = request;
  for (int i = 0; i < 100; ++i) wrong.add_windows("02:00-03:00");
  EXPECT_THAT(ResolveLimits(wrong, 10), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller::rollout
