#include "controller/notify/expiry_notices.h"

#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

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
  std::vector<std::string> Tell(absl::Duration later,
                                absl::Duration authority = absl::InfiniteDuration()) {
    std::vector<std::string> keys;
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<Notification> notices,
                       ExpiryNotices(txn, kNow + authority, kNow + later));
      std::set<std::string> woken;
      for (const Notification& notice : notices) {
        keys.push_back(notice.key);
        RETURN_IF_ERROR(notify::Record(txn, notice, channels_, kNow + later, &woken));
      }
      return absl::OkStatus();
    }));
    return keys;
  }
  static absl::Duration Days(int days) { return absl::Hours(24 * days); }
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
  EXPECT_THAT(Tell(Days(0), Days(91)), IsEmpty());
  EXPECT_THAT(Tell(Days(2), Days(91)), ElementsAre("authority"));
  EXPECT_THAT(Tell(Days(3), Days(91)), IsEmpty());
}

}  // namespace
}  // namespace muster::controller::notify
