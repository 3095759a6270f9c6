// IPMI 2.0 in real packets, by ipmi_sim.
#include "controller/power/ipmi_bmc.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/ipmi_sim.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::IpmiSim;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

const IpmiLimits kIpmiQuick = {.session = absl::Seconds(5),
                               .retransmission = absl::Milliseconds(300)};
const IpmiLimits kIpmiHasty = {.session = absl::Seconds(3),
                               .retransmission = absl::Milliseconds(200)};

class IpmiBmcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // It takes a moment to listen.
    absl::Status answered;
    for (int i = 0; i < 300; ++i) {
      answered = Bmc("labsecret", kIpmiHasty).State().status();
      if (answered.ok()) return;
      absl::SleepFor(absl::Milliseconds(100));
    }
    FAIL() << "ipmi_sim does not answer (./dev deps installs openipmi): " << answered << "\n"
           << sim_.output();
  }
  IpmiBmc Bmc(const std::string& password = "labsecret", const IpmiLimits& limits = kIpmiQuick) {
    BmcAccess access;
    access.protocol = BmcProtocol::kIpmi;
    access.address = "127.0.0.1";
    access.port = sim_.port();
    access.user = "admin";
    access.cipher_suite = 3;
    return IpmiBmc(std::move(access), SecretBuffer(password), clock_, limits);
  }

  FakeClock clock_;
  IpmiSim sim_;
};

TEST_F(IpmiBmcTest, AsksAndOrders) {
  IpmiBmc bmc = Bmc();
  EXPECT_EQ(*bmc.State(), PowerState::kOff);
  ASSERT_OK(bmc.Change(PowerChange::kOn));
  EXPECT_EQ(*bmc.State(), PowerState::kOn);
  EXPECT_TRUE(sim_.is_on());
  ASSERT_OK(bmc.BootOnce(BootDevice::kPxe));
  ASSERT_OK(bmc.Change(PowerChange::kReset));
  ASSERT_OK(bmc.Change(PowerChange::kSoftOff));
  EXPECT_EQ(*bmc.State(), PowerState::kOff);
  ASSERT_OK(bmc.Change(PowerChange::kOn));
  ASSERT_OK(bmc.Change(PowerChange::kOff));
  EXPECT_FALSE(sim_.is_on());
  for (const char* order : {"power 1", "boot pxe", "reset 1", "shutdown", "power 0"})
    EXPECT_THAT(sim_.orders(), HasSubstr(order));
}

// ipmi_sim 2.0.33 carries this order out, and answers with as many bytes of its memory as happen to
// be meant.
TEST_F(IpmiBmcTest, AnAnswerOfAnyLengthHarmsNothing) {
  IpmiBmc bmc = Bmc("labsecret", kIpmiHasty);
  bmc.Identify(true).IgnoreError();
  EXPECT_THAT(sim_.orders(), HasSubstr("identify"));
  absl::StatusOr<PowerState> state = bmc.State();
  for (int i = 0; i < 10 && !state.ok(); ++i) state = bmc.State();
  ASSERT_OK(state);
  EXPECT_EQ(*state, PowerState::kOff);
}

TEST_F(IpmiBmcTest, NamesAWrongPassword) {
  EXPECT_THAT(Bmc("wrong").State(), StatusIs(absl::StatusCode::kUnauthenticated, Said()));
  EXPECT_THAT(Bmc(std::string(21, 'x')).State(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(IpmiBmcTest, GivesUpOneThatHangsAndFindsItAgain) {
  IpmiBmc bmc = Bmc("labsecret", kIpmiHasty);
  ASSERT_OK(bmc.State());
  sim_.Freeze();
  absl::Time began = absl::Now();
  EXPECT_EQ(bmc.State().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Bmc("labsecret", kIpmiHasty).State().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - began, absl::Seconds(60));
  sim_.Thaw();
  // The same object begins a new session.
  absl::Status again;
  for (int i = 0; i < 20 && !(again = bmc.State().status()).ok(); ++i)
    absl::SleepFor(absl::Milliseconds(100));
  EXPECT_OK(again);
}

// A machine that waits for its rack's turn. The simulator forgets its sessions when it starts anew.
TEST_F(IpmiBmcTest, AfterAPauseAnOrderIsGivenInANewSession) {
  IpmiBmc waiting = Bmc("labsecret", kIpmiHasty), hasty = Bmc("labsecret", kIpmiHasty);
  for (IpmiBmc* bmc : {&waiting, &hasty}) ASSERT_OK(bmc->State());
  sim_.Stop();
  sim_.Start();
  SetUp();
  EXPECT_FALSE(hasty.Change(PowerChange::kOn).ok());
  EXPECT_FALSE(sim_.is_on());
  clock_.Advance(absl::Minutes(1));
  ASSERT_OK(waiting.Change(PowerChange::kOn));
  EXPECT_TRUE(sim_.is_on());
}

TEST_F(IpmiBmcTest, NamesOneThatIsNotThere) {
  sim_.Stop();
  EXPECT_THAT(Bmc("labsecret", kIpmiHasty).State(),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

}  // namespace
}  // namespace muster::controller::power
