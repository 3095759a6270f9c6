// Redfish over real TLS, by a service that behaves well, or badly.
#include "controller/power/redfish/redfish_bmc.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fakes/servers/redfish_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::RedfishFault;
using ::muster::testing::RedfishServer;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kPassword[] = "correct horse battery";
const HttpsLimits kQuick = {.connect = absl::Seconds(5), .total = absl::Seconds(10)};
const HttpsLimits kHasty = {.connect = absl::Seconds(5), .total = absl::Milliseconds(700)};

class RedfishBmcTest : public ::testing::Test {
 protected:
  BmcAccess Access() const {
    BmcAccess access;
    access.address = "127.0.0.1";
    access.port = static_cast<uint16_t>(server_.port());
    access.user = "muster";
    access.certificate = server_.pin();
    return access;
  }
  RedfishBmc Bmc(const std::string& password = kPassword, const HttpsLimits& limits = kQuick) {
    return Bmc(Access(), password, limits);
  }
  static RedfishBmc Bmc(BmcAccess access, const std::string& password = kPassword,
                        const HttpsLimits& limits = kQuick) {
    return RedfishBmc(std::move(access), SecretBuffer(password), nullptr, limits);
  }

  RedfishServer server_{"muster", kPassword};
};

TEST_F(RedfishBmcTest, AsksAndOrders) {
  RedfishBmc bmc = Bmc();
  EXPECT_EQ(*bmc.State(), PowerState::kOff);
  ASSERT_OK(bmc.BootOnce(BootDevice::kPxe));
  ASSERT_OK(bmc.Change(PowerChange::kOn));
  EXPECT_EQ(*bmc.State(), PowerState::kOn);
  ASSERT_OK(bmc.Change(PowerChange::kReset));
  ASSERT_OK(bmc.Change(PowerChange::kSoftOff));
  EXPECT_EQ(*bmc.State(), PowerState::kOff);
  ASSERT_OK(bmc.Identify(true));
  ASSERT_OK(bmc.Identify(false));
  EXPECT_THAT(server_.orders(), ElementsAre("boot Once Pxe", "On", "ForceRestart",
                                            "GracefulShutdown", "light on", "light off"));
}

// What each make of BMC wants to hear.
TEST_F(RedfishBmcTest, SetsTheBootDeviceInTheWayThatTheBmcTakes) {
  const struct {
    RedfishFault manner;
    const char* order;
  } kCases[] = {
      {RedfishFault::kWantsMode, "boot Once Pxe UEFI"},
      {RedfishFault::kFixedMode, "boot Once Pxe"},
      {RedfishFault::kLaterBoot, "boot Once Pxe UEFI"},
      {RedfishFault::kWantsEtag, "boot Once Pxe UEFI"},
      {RedfishFault::kMovingEtag, "boot Once Pxe UEFI"},
      {RedfishFault::kSystemBootOnly, "boot Once Pxe UEFI"},
      {RedfishFault::kHiddenLaterBoot, "boot Once Pxe UEFI"},
  };
  std::vector<std::string> orders;
  for (const auto& row : kCases) {
    server_.Set(row.manner);
    RedfishBmc bmc = Bmc();
    ASSERT_OK(bmc.BootOnce(BootDevice::kPxe));
    ASSERT_OK(bmc.Identify(true));
    orders.insert(orders.end(), {row.order, "light on"});
    EXPECT_EQ(server_.orders(), orders);
  }
}

TEST_F(RedfishBmcTest, TrustsTheNamedCertificateAlone) {
  BmcAccess access = Access();
  EXPECT_OK(Bmc(access).State());
  // One that nobody knows: the error has the fingerprint, to be compared.
  access.certificate.clear();
  EXPECT_THAT(Bmc(access).State(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(server_.pin())));
  EXPECT_THAT(server_.requests(), SizeIs(3)) << "the password went nowhere";
  access.ca = server_.ca();
  EXPECT_OK(Bmc(access).State());
  // Another one than it was, although its authority is known.
  access.certificate = std::string(64, 'a');
  EXPECT_THAT(Bmc(access).State(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(server_.pin())));
  // Of a known authority, for another address.
  access.certificate.clear();
  access.address = "localhost";
  EXPECT_EQ(Bmc(access).State().status().code(), absl::StatusCode::kFailedPrecondition);
  access.ca.clear();
  access.is_verified = false;
  EXPECT_OK(Bmc(access).State());
}

TEST_F(RedfishBmcTest, NamesAWrongPasswordAndNotThePasswordItself) {
  EXPECT_THAT(Bmc("wrong").State(), StatusIs(absl::StatusCode::kUnauthenticated, Said()));
  server_.Set(RedfishFault::kEchoes);
  EXPECT_THAT(Bmc().State(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("400"), Not(HasSubstr(kPassword)))));
}

TEST_F(RedfishBmcTest, GivesUpOneThatHangs) {
  server_.Set(RedfishFault::kHangs);
  const absl::Time began = absl::Now();
  EXPECT_EQ(Bmc(kPassword, kHasty).State().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - began, absl::Seconds(5));
}

TEST_F(RedfishBmcTest, CanBeCancelled) {
  server_.Set(RedfishFault::kHangs);
  RedfishBmc bmc(
      Access(), SecretBuffer(kPassword), [] { return true; }, kQuick);
  EXPECT_EQ(bmc.State().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RedfishBmcTest, TakesNoNonsense) {
  const struct {
    RedfishFault fault;
    absl::StatusCode code;
  } kCases[] = {
      {RedfishFault::kServerError, absl::StatusCode::kUnavailable},
      {RedfishFault::kGarbage, absl::StatusCode::kFailedPrecondition},
      {RedfishFault::kHuge, absl::StatusCode::kFailedPrecondition},
      {RedfishFault::kDeep, absl::StatusCode::kFailedPrecondition},
      {RedfishFault::kRedirects, absl::StatusCode::kFailedPrecondition},
      {RedfishFault::kForeignReset, absl::StatusCode::kFailedPrecondition},
  };
  for (const auto& row : kCases) {
    server_.Set(row.fault);
    EXPECT_THAT(Bmc().Change(PowerChange::kOff), StatusIs(row.code, Said()));
  }
  EXPECT_THAT(server_.orders(), IsEmpty());
}

TEST_F(RedfishBmcTest, NamesOneThatIsNotThere) {
  BmcAccess access = Access();
  access.port = 1;
  EXPECT_EQ(Bmc(access).State().status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::controller::power
