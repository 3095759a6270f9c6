#include "agent/session/renewal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
const CertificateLife kDay = {kStart, kStart + absl::Hours(24)};

TEST(RenewalTest, RenewsAfterHalfADayHoweverLongTheLife) {
  const CertificateLife month = {kStart, kStart + absl::Hours(24 * 30)};
  for (const CertificateLife& life : {kDay, month}) {
    EXPECT_EQ(RenewAt(life, 0), kStart + absl::Hours(12));
    EXPECT_EQ(RenewAt(life, 0.5), kStart + absl::Hours(12) + absl::Minutes(72));
  }
  const CertificateLife hour = {kStart, kStart + absl::Hours(1)};
  EXPECT_EQ(RenewAt(hour, 0), kStart + absl::Minutes(30));
  EXPECT_EQ(RenewAt(hour, 0.5), kStart + absl::Minutes(33));
}

TEST(RenewalTest, TriesAgainMoreOftenTowardsTheEnd) {
  EXPECT_EQ(RetryRenewAt(kDay, kStart + absl::Hours(12)),
            kStart + absl::Hours(12) + absl::Minutes(10));
  const absl::Time late = kDay.not_after - absl::Minutes(20);
  EXPECT_EQ(RetryRenewAt(kDay, late), late + absl::Minutes(1));
  EXPECT_EQ(RetryRenewAt(kDay, kDay.not_after), kDay.not_after + absl::Seconds(15));
}

TEST(RenewalTest, TriesAgainWithinAMinuteWhenItWasTold) {
  EXPECT_EQ(RetryToldRenewalAt(kStart, 0), kStart + absl::Seconds(15));
  EXPECT_LT(RetryToldRenewalAt(kStart, 0.999), kStart + absl::Minutes(1));
}

TEST(RenewalTest, SaysWhatToDoAboutAnExpiredCertificate) {
  EXPECT_EQ(ValidityRemedy(kDay, kDay.not_after - absl::Seconds(1), "c001"), "");
  EXPECT_THAT(ValidityRemedy(kDay, kDay.not_after + absl::Hours(3), "c001"),
              ::testing::AllOf(HasSubstr("expired 3h ago"), HasSubstr("--nodes c001")));
}

// A machine whose battery is empty was told to give up its membership.
TEST(RenewalTest, AClockThatIsBehindIsToBeSet) {
  EXPECT_EQ(ValidityRemedy(kDay, kDay.not_before, "c001"), "");
  EXPECT_THAT(
      ValidityRemedy(kDay, absl::UnixEpoch() + absl::Seconds(30), "c001"),
      ::testing::AllOf(HasSubstr("clock (1970-01-01 00:00:30Z)"), HasSubstr("timedatectl set-time"),
                       ::testing::Not(HasSubstr("token"))));
}

TEST(RenewalTest, SaysWhatToDoWhenTheConnectionIsRefused) {
  EXPECT_EQ(RefusalRemedy("last error: Connection refused"), "");
  EXPECT_THAT(RefusalRemedy("UNAVAILABLE: ipv4:10.0.0.1:7443: Socket closed"),
              ::testing::ContainsRegex("timedatectl.*join --force"));
  EXPECT_THAT(RefusalRemedy("SSL_ERROR_SSL: certificate verify failed"),
              ::testing::AllOf(::testing::ContainsRegex("timedatectl.*join --force"),
                               HasSubstr("certificate has expired"),
                               HasSubstr("muster ca renew-controller")));
}

}  // namespace
}  // namespace muster::agent
