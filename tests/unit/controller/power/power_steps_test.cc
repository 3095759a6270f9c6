#include "controller/power/power_steps.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/fakes/fake_bmc.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::FakeBmc;
using ::muster::testing::FakeClock;
using ::muster::testing::FakeMachinePower;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PowerStepsTest : public ::testing::Test {
 protected:
  PowerOutcome Do(PowerVerb verb, bool is_soft = false, BootDevice boot = BootDevice::kDefault) {
    FakeBmc bmc(machine_);
    return CarryOut(bmc, {verb, is_soft, boot}, {},
                    {.clock = clock_,
                     .await_turn =
                         [this](bool in_cycle) {
                           turns_.push_back(in_cycle);
                           orders_at_turn_ = machine_.Orders().size();
                           return in_cycle ? absl::OkStatus() : turn_;
                         },
                     .on_off = [this] { ++offs_; },
                     .on_asked = [this](absl::string_view words) { asked_.emplace_back(words); },
                     .is_hurried = [this] { return is_hurried_; }});
  }

  FakeClock clock_;
  FakeMachinePower machine_;
  absl::Status turn_;
  bool is_hurried_ = false;
  int offs_ = 0;
  std::vector<bool> turns_;
  size_t orders_at_turn_ = 0;  // that the BMC had taken
  std::vector<std::string> asked_;
};

TEST_F(PowerStepsTest, SwitchesOnWhatIsOff) {
  const PowerOutcome outcome = Do(PowerVerb::kOn, false, BootDevice::kPxe);
  ASSERT_OK(outcome.status);
  EXPECT_EQ(outcome.state, PowerState::kOn);
  EXPECT_THAT(machine_.Orders(), ElementsAre("boot pxe", "on"));
  EXPECT_THAT(turns_, ElementsAre(false));
  EXPECT_EQ(orders_at_turn_, 0u) << "a BMC forgets the boot device while a machine waits";
}

TEST_F(PowerStepsTest, AMachineWhoseBootDeviceIsNotSetStaysOff) {
  for (const PowerVerb verb : {PowerVerb::kOn, PowerVerb::kCycle}) {
    {
      absl::MutexLock lock(&machine_.mutex);
      machine_.next = {absl::OkStatus(), absl::FailedPreconditionError("no boot device")};
    }
    offs_ = 0;
    EXPECT_EQ(Do(verb, false, BootDevice::kPxe).status.code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(offs_, 1) << "its turn is for others";
  }
  EXPECT_THAT(machine_.Orders(), IsEmpty());
}

TEST_F(PowerStepsTest, LeavesAloneWhatIsSoAlready) {
  machine_.Set(PowerState::kOn);
  EXPECT_EQ(Do(PowerVerb::kOn).note, "it was on already");
  machine_.Set(PowerState::kOff);
  EXPECT_EQ(Do(PowerVerb::kOff).note, "it was off already");
  EXPECT_THAT(machine_.Orders(), IsEmpty());
  EXPECT_THAT(turns_, IsEmpty());
}

TEST_F(PowerStepsTest, WhatHasNoTurnStaysOff) {
  turn_ = absl::FailedPreconditionError("the rack is full");
  EXPECT_EQ(Do(PowerVerb::kOn).status, turn_);
  EXPECT_THAT(machine_.Orders(), IsEmpty());
}

TEST_F(PowerStepsTest, CyclesBothHalves) {
  machine_.Set(PowerState::kOn);
  const absl::Time began = clock_.Now();
  const PowerOutcome outcome = Do(PowerVerb::kCycle, false, BootDevice::kBios);
  ASSERT_OK(outcome.status);
  EXPECT_EQ(outcome.state, PowerState::kOn);
  // The boot device comes first: without it nothing is switched off.
  EXPECT_THAT(machine_.Orders(), ElementsAre("boot bios", "off", "boot bios", "on"));
  EXPECT_THAT(turns_, ElementsAre(true));
  EXPECT_EQ(orders_at_turn_, 2u) << "a BMC forgets the boot device while a machine waits";
  EXPECT_EQ(offs_, 1);
  EXPECT_GE(clock_.Now() - began, PowerPatience{}.off);
}

TEST_F(PowerStepsTest, ACycleThatSwitchedOffAlwaysSwitchesOn) {
  machine_.Set(PowerState::kOn);
  turn_ = absl::CancelledError("nobody waits");
  ASSERT_OK(Do(PowerVerb::kCycle).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));

  // The BMC goes away for as long as anybody waits, right after it has taken the order.
  FakeMachinePower lost;
  FakeBmc bmc(lost);
  lost.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&lost.mutex);
    lost.next = {absl::OkStatus(), absl::OkStatus()};
    for (int i = 0; i < 31; ++i) lost.next.push_back(absl::UnavailableError("away"));
  }
  const PowerOutcome outcome = CarryOut(bmc, {PowerVerb::kCycle}, {},
                                        {.clock = clock_,
                                         .await_turn = [](bool) { return absl::OkStatus(); },
                                         .on_off = [] {},
                                         .on_asked = [](absl::string_view) {},
                                         .is_hurried = [] { return false; }});
  EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_EQ(outcome.state, PowerState::kOn);
  EXPECT_THAT(lost.Orders(), ElementsAre("off", "on"));
}

TEST_F(PowerStepsTest, AlsoWithoutItsBootDevice) {
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), absl::OkStatus(), absl::OkStatus(), absl::OkStatus(),
                     absl::FailedPreconditionError("no boot device")};
  }
  const PowerOutcome outcome = Do(PowerVerb::kCycle, false, BootDevice::kPxe);
  ASSERT_OK(outcome.status);
  EXPECT_NE(outcome.note, "");
  EXPECT_THAT(machine_.Orders(), ElementsAre("boot pxe", "off", "on"));
}

// Neither on nor off: it may be off for good.
TEST_F(PowerStepsTest, ACycleSwitchesOnWhatItCannotSeeGoOff) {
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.lies = true;
  }
  clock_.on_sleep = [&] { machine_.Set(PowerState::kUnknown); };
  const PowerOutcome outcome = Do(PowerVerb::kCycle);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(outcome.state, PowerState::kUnknown);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
}

TEST_F(PowerStepsTest, ACycleGivesALostOrderToSwitchOnAgain) {
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(),
                     absl::OkStatus(),
                     absl::OkStatus(),  // off, as is seen
                     absl::UnavailableError("busy"),
                     absl::UnavailableError("away"),
                     absl::OkStatus(),
                     absl::FailedPreconditionError("not in this state")};
  }
  const PowerOutcome outcome = Do(PowerVerb::kCycle);
  ASSERT_OK(outcome.status);
  EXPECT_EQ(outcome.state, PowerState::kOn);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  EXPECT_THAT(turns_, ElementsAre(true));
}

TEST_F(PowerStepsTest, ButNotOneOfWhichOnlyTheAnswerWasLost) {
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), absl::OkStatus(), absl::OkStatus(),
                     absl::DeadlineExceededError("no answer")};
  }
  int sleeps = 0;  // the first one is before the order
  clock_.on_sleep = [&] {
    if (++sleeps == 2) machine_.Set(PowerState::kOn);
  };
  ASSERT_OK(Do(PowerVerb::kCycle).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off"));
}

TEST_F(PowerStepsTest, AndForNoLongerThanAChangeMayTake) {
  for (const bool is_hurried : {false, true}) {
    machine_.Set(PowerState::kOn);
    {
      absl::MutexLock lock(&machine_.mutex);
      machine_.next = {absl::OkStatus(), absl::OkStatus(), absl::OkStatus()};
      machine_.failure = absl::UnavailableError("away");
    }
    is_hurried_ = is_hurried;
    offs_ = 0;
    const absl::Time began = clock_.Now();
    const PowerOutcome outcome = Do(PowerVerb::kCycle);
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(outcome.state, PowerState::kOff);
    EXPECT_EQ(offs_, 2) << "when it is off, and when it stays so";
    const absl::Duration took = clock_.Now() - began;
    EXPECT_GE(took, is_hurried ? PowerPatience{}.hurried : PowerPatience{}.change);
    EXPECT_LE(took, is_hurried ? absl::Seconds(10) : absl::Seconds(36));
  }
}

TEST_F(PowerStepsTest, ACycleThatMayHaveSwitchedOffIsNotLeftForAPassword) {
  machine_.Set(PowerState::kOn);
  const absl::Status refused = absl::UnauthenticatedError("the session was lost");
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), absl::OkStatus(), refused};
  }
  ASSERT_OK(Do(PowerVerb::kCycle).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  // Refused for as long as anybody waits for its end.
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), absl::OkStatus()};
    for (int i = 0; i < 31; ++i) machine_.next.push_back(refused);
  }
  const PowerOutcome outcome = Do(PowerVerb::kCycle);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(outcome.state, PowerState::kOn);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on", "off", "on"));
  // The order itself was refused.
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), refused};
  }
  EXPECT_EQ(Do(PowerVerb::kCycle).status, refused);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on", "off", "on"));
}

TEST_F(PowerStepsTest, ACycleOfWhatIsOffSwitchesOn) {
  EXPECT_EQ(Do(PowerVerb::kCycle).note, "it was off before");
  EXPECT_THAT(machine_.Orders(), ElementsAre("on"));
  EXPECT_THAT(turns_, ElementsAre(false));
}

// A BMC that takes orders and does not carry them out.
TEST_F(PowerStepsTest, SeesThroughALie) {
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.lies = true;
  }
  const absl::Time began = clock_.Now();
  const PowerOutcome on = Do(PowerVerb::kOn);
  EXPECT_THAT(on.status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(on.state, PowerState::kOff);
  EXPECT_LE(clock_.Now() - began, absl::Seconds(32));
  machine_.Set(PowerState::kOn);
  EXPECT_THAT(Do(PowerVerb::kOff).status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(Do(PowerVerb::kCycle).state, PowerState::kOn);
  EXPECT_THAT(machine_.Orders(), ElementsAre("on", "off", "off"));
}

TEST_F(PowerStepsTest, AsksTheOperatingSystem) {
  machine_.Set(PowerState::kOn);
  ASSERT_OK(Do(PowerVerb::kOff, /*is_soft=*/true).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("soft"));
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.ignores_soft = true;
  }
  const absl::Time began = clock_.Now();
  EXPECT_THAT(Do(PowerVerb::kOff, /*is_soft=*/true).status,
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_GE(clock_.Now() - began, PowerPatience{}.soft);
  EXPECT_THAT(machine_.Orders(), ElementsAre("soft", "soft"));
}

TEST_F(PowerStepsTest, ASoftCycleSwitchesOnWhatEndsLate) {
  const auto end_after = [&](absl::Duration patience) {
    machine_.Set(PowerState::kOn);
    const absl::Time end = clock_.Now() + patience;
    clock_.on_sleep = [this, end] {
      if (clock_.Now() >= end && machine_.Orders().back() == "soft") machine_.Set(PowerState::kOff);
    };
    return Do(PowerVerb::kCycle, /*is_soft=*/true);
  };
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.ignores_soft = true;
  }
  const PowerOutcome late = end_after(2 * PowerPatience{}.soft);
  ASSERT_OK(late.status);
  EXPECT_EQ(late.state, PowerState::kOn);
  EXPECT_THAT(machine_.Orders(), ElementsAre("soft", "on"));
  const PowerOutcome never = end_after(absl::InfiniteDuration());
  EXPECT_THAT(never.status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(never.state, PowerState::kOn);
  EXPECT_THAT(machine_.Orders(), ElementsAre("soft", "on", "soft"));
}

// A BMC that shows what its machine does much later.
TEST_F(PowerStepsTest, ACycleSwitchesOnWhatGoesOffLate) {
  const auto shows_off_after = [&](absl::Duration patience) {
    {
      absl::MutexLock lock(&machine_.mutex);
      machine_.state = PowerState::kOn;
      machine_.lies = true;
    }
    const absl::Time off = clock_.Now() + patience;
    clock_.on_sleep = [this, off] {
      absl::MutexLock lock(&machine_.mutex);
      if (clock_.Now() < off || !machine_.lies) return;
      machine_.state = PowerState::kOff;
      machine_.lies = false;
    };
    return Do(PowerVerb::kCycle);
  };
  const PowerOutcome late = shows_off_after(absl::Seconds(45));
  ASSERT_OK(late.status);
  EXPECT_EQ(late.state, PowerState::kOn);
  EXPECT_EQ(offs_, 1);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  const absl::Time began = clock_.Now();
  const PowerOutcome never = shows_off_after(absl::Hours(1));
  EXPECT_THAT(never.status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_GE(clock_.Now() - began, PowerPatience{}.change + PowerPatience{}.late_cycle);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on", "off"));
  // One that refuses the order has not taken it.
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), absl::FailedPreconditionError("no such reset")};
  }
  const absl::Time refused = clock_.Now();
  EXPECT_EQ(Do(PowerVerb::kCycle).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(clock_.Now(), refused);
}

TEST_F(PowerStepsTest, AStoppingControllerStillEndsACycle) {
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.ignores_soft = true;
  }
  is_hurried_ = true;
  ASSERT_OK(Do(PowerVerb::kCycle, /*is_soft=*/true).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("soft", "off", "on"));
}

TEST_F(PowerStepsTest, ResetsOnlyWhatIsOn) {
  EXPECT_THAT(Do(PowerVerb::kReset).status,
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  machine_.Set(PowerState::kOn);
  ASSERT_OK(Do(PowerVerb::kReset, false, BootDevice::kDisk).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("boot disk", "reset"));
}

TEST_F(PowerStepsTest, WhatFailsBeforeTheOrderChangesNothing) {
  machine_.Set(PowerState::kOn);
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.next = {absl::OkStatus(), absl::FailedPreconditionError("no boot device")};
  }
  EXPECT_THAT(Do(PowerVerb::kCycle, false, BootDevice::kPxe).status,
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  machine_.FailWith(absl::UnauthenticatedError("wrong password"));
  EXPECT_EQ(Do(PowerVerb::kOff).status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(machine_.Orders(), IsEmpty());
}

TEST_F(PowerStepsTest, Identifies) {
  ASSERT_OK(Do(PowerVerb::kIdentify).status);
  ASSERT_OK(Do(PowerVerb::kEndIdentify).status);
  EXPECT_THAT(machine_.Orders(), ElementsAre("light on", "light off"));
}

}  // namespace
}  // namespace muster::controller::power
