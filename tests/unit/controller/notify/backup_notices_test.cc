#include "controller/notify/backup_notices.h"

#include "common/base/proto_time.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BackupNoticesTest : public NotifyTest {
 protected:
  BackupNoticesTest() {
    EventRecord first;
    first.time = kNow;
    first.actor = "admin:ann";
    first.action = "inventory.apply";
    EXPECT_OK(store_->Update([&](Transaction& txn) { return txn.events().Append(first); }));
  }
  // What is told so long after the first entry of the audit log; it is recorded as the controller
  // does.
  std::vector<std::string> Tell(absl::Duration later, absl::Duration longest = absl::Hours(48)) {
    std::vector<std::string> told;
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<Notification> notices,
                       BackupNotices(txn, last_, longest, kNow + later));
      std::set<std::string> woken;
      for (const Notification& notice : notices) {
        told.push_back(absl::StrCat(notice.kind, notice.resolved ? " resolved" : ""));
        text_ = notice.text;
        RETURN_IF_ERROR(notify::Record(txn, notice, channels_, kNow + later, &woken));
      }
      return absl::OkStatus();
    }));
    return told;
  }
  void Made(absl::Duration later) {
    last_.Clear();
    *last_.mutable_made_at() = ToTimestamp(kNow + later);
    last_.set_file("/srv/b.tgz");
  }
  void Failed(absl::Duration later) {
    *last_.mutable_failed_at() = ToTimestamp(kNow + later);
    last_.set_error("no space left");
  }

  v1::BackupRecord last_;
  std::string text_;
};

TEST_F(BackupNoticesTest, AClusterWithoutABackupIsToldOnceAndUntilThereIsOne) {
  EXPECT_THAT(Tell(absl::Hours(47)), IsEmpty());
  EXPECT_THAT(Tell(absl::Hours(49)), ElementsAre("backup.overdue"));
  EXPECT_THAT(Tell(absl::Hours(60)), IsEmpty());
  Made(absl::Hours(61));
  EXPECT_THAT(Tell(absl::Hours(62)), ElementsAre("backup.overdue resolved"));
  EXPECT_THAT(Tell(absl::Hours(63)), IsEmpty());
  EXPECT_THAT(Tell(absl::Hours(110)), ElementsAre("backup.overdue"));
}

TEST_F(BackupNoticesTest, EachFailureIsToldOnceAndMakesNoBackup) {
  Made(absl::Hours(1));
  Failed(absl::Hours(25));
  EXPECT_THAT(Tell(absl::Hours(26)), ElementsAre("backup.failed"));
  EXPECT_THAT(text_, ::testing::HasSubstr("no space left"));
  EXPECT_THAT(Tell(absl::Hours(27)), IsEmpty());
  Failed(absl::Hours(49));
  EXPECT_THAT(Tell(absl::Hours(50)), ElementsAre("backup.failed", "backup.overdue"));
  Made(absl::Hours(51));
  EXPECT_THAT(Tell(absl::Hours(51)), ElementsAre("backup.overdue resolved"));
}

TEST_F(BackupNoticesTest, WhoWantsToHearOfNoneHearsOfFailuresAlone) {
  EXPECT_THAT(Tell(absl::Hours(10000), absl::InfiniteDuration()), IsEmpty());
  Failed(absl::Hours(10001));
  EXPECT_THAT(Tell(absl::Hours(10002), absl::InfiniteDuration()), ElementsAre("backup.failed"));
}

}  // namespace
}  // namespace muster::controller::notify
