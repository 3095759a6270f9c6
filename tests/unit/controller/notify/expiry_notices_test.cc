#include "controller/notify/expiry_notices.h"

#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ExpiryNoticesTest : public NotifyTest {
 protected:
  void Certify(const std::string& serial, const std::string& user, absl::Duration lasts,
               bool is_revoked = false) {
    CertificateRecord certificate;
    certificate.serial = serial;
    certificate.user = user;
    certificate.role = "operator";
    certificate.not_before = kNow;
    certificate.not_after = kNow + lasts;
    if (is_revoked) certificate.revoked_at = kNow;
    ASSERT_OK(
        store_->Update([&](Transaction& txn) { return txn.certificates().Insert(certificate); }));
  }
  // Keys of what is told now; it is recorded as the controller does.
  std::vector<std::string> Tell(absl::Duration later, const CertificateEnds& ends = {}) {
    std::vector<std::string> keys;
    told_.clear();
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<Notification> notices,
                       ExpiryNotices(txn, ends, kNow + later));
      std::set<std::string> woken;
      for (const Notification& notice : notices) {
        keys.push_back(notice.key);
        told_.push_back(notice);
        RETURN_IF_ERROR(notify::Record(txn, notice, channels_, kNow + later, &woken));
      }
      return absl::OkStatus();
    }));
    return keys;
  }
  static absl::Duration Days(int days) { return absl::Hours(24 * days); }

  std::vector<Notification> told_;
};

TEST_F(ExpiryNoticesTest, APersonIsToldOfOnceAndNotAfterTheRenewal) {
  Certify("1", "ann", Days(30));
  Certify("2", "bob", Days(300));
  Certify("3", "eve", Days(20), /*is_revoked=*/true);
  EXPECT_THAT(Tell(Days(1)), IsEmpty());
  EXPECT_THAT(Tell(Days(17)), ElementsAre("user ann"));
  EXPECT_THAT(Tell(Days(20)), IsEmpty()) << "it was told";
  Certify("4", "ann", Days(33));  // a renewal that is short, too
  EXPECT_THAT(Tell(Days(21)), ElementsAre("user ann"));
  Certify("5", "ann", Days(400));
  EXPECT_THAT(Tell(Days(22)), IsEmpty());
  EXPECT_THAT(Tell(Days(1000)), IsEmpty()) << "what has ended is no news";
}

TEST_F(ExpiryNoticesTest, TheAuthorityIsToldOfInTime) {
  const CertificateEnds ends = {.authority = kNow + Days(91)};
  EXPECT_THAT(Tell(Days(0), ends), IsEmpty());
  EXPECT_THAT(Tell(Days(2), ends), ElementsAre("authority"));
  EXPECT_THAT(Tell(Days(3), ends), IsEmpty());
  EXPECT_THAT(Tell(Days(80), ends), IsEmpty());
}

TEST_F(ExpiryNoticesTest, TheControllersCertificateIsToldOfTwice) {
  const CertificateEnds ends = {.controller = kNow + Days(100)};
  EXPECT_THAT(Tell(Days(9), ends), IsEmpty());
  EXPECT_THAT(Tell(Days(11), ends), ElementsAre("controller"));
  EXPECT_EQ(told_[0].severity, Severity::kWarning);
  EXPECT_THAT(Tell(Days(80), ends), IsEmpty());
  EXPECT_THAT(Tell(Days(87), ends), ElementsAre("controller"));
  EXPECT_EQ(told_[0].severity, Severity::kCritical);
  EXPECT_THAT(Tell(Days(88), ends), IsEmpty());
  EXPECT_THAT(Tell(Days(101), ends), IsEmpty());
}

TEST_F(ExpiryNoticesTest, TheLogHasWhatEndsSoonAndWhatHasEnded) {
  const CertificateEnds ends = {.authority = kNow + Days(1000), .controller = kNow + Days(100)};
  EXPECT_THAT(OwnEndings(ends, kNow + Days(9)), IsEmpty());
  EXPECT_THAT(OwnEndings(ends, kNow + Days(11)), ElementsAre(Said()));
  EXPECT_THAT(OwnEndings(ends, kNow + Days(101)), ElementsAre(Said()));
}

// One of 90 days must not be told of on its first day.
TEST_F(ExpiryNoticesTest, ThePagesCertificateIsToldOfShortlyBeforeItsEnd) {
  const CertificateEnds ends = {.web = kNow + Days(90)};
  EXPECT_THAT(Tell(Days(1), ends), IsEmpty());
  EXPECT_THAT(Tell(Days(77), ends), ElementsAre("web_certificate"));
  EXPECT_EQ(told_[0].severity, Severity::kCritical);
  EXPECT_THAT(Tell(Days(78), ends), IsEmpty());
}

}  // namespace
}  // namespace muster::controller::notify
