#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

const absl::Time kRebootsNow = absl::FromUnixMicros(1700000000123456);

class StoreRebootsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenStore(":memory:");
    ASSERT_OK(store);
    store_ = *std::move(store);
    for (const char* run_id : {"r-1", "r-2"}) {
      RunRecord run;
      run.run_id = run_id;
      run.created_at = kRebootsNow;
      ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.runs().Put(run); }));
    }
  }
  static RebootRecord Permit(const std::string& permit_id, const std::string& node) {
    return {.permit_id = permit_id,
            .run_id = "r-1",
            .node = node,
            .node_uuid = "u" + node,
            .step_id = "role/reboot",
            .request_id = "q1",
            .boot_id = "boot-1",
            .granted_at = kRebootsNow,
            .expires_at = kRebootsNow + absl::Minutes(5),
            .back_by = kRebootsNow + absl::Minutes(15)};
  }
  absl::Status Put(const RebootRecord& reboot) {
    return store_->Update([&](Transaction& txn) { return txn.reboots().Put(reboot); });
  }
  std::vector<RebootRecord> Open(const std::string& run_id) {
    std::vector<RebootRecord> open;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(open, txn.reboots().ListOpen(run_id));
      return absl::OkStatus();
    }));
    return open;
  }
  std::vector<std::string> OpenIds(const std::string& run_id) {
    std::vector<std::string> ids;
    for (const RebootRecord& reboot : Open(run_id)) ids.push_back(reboot.permit_id);
    return ids;
  }

  std::unique_ptr<Store> store_;
};

TEST_F(StoreRebootsTest, APermitComesBackAsItWasPut) {
  const RebootRecord want = Permit("p1", "c001");
  ASSERT_OK(Put(want));
  const std::vector<RebootRecord> open = Open("r-1");
  ASSERT_EQ(open.size(), 1u);
  const RebootRecord& got = open[0];
  EXPECT_EQ(got.permit_id, want.permit_id);
  EXPECT_EQ(got.run_id, want.run_id);
  EXPECT_EQ(got.node, want.node);
  EXPECT_EQ(got.node_uuid, want.node_uuid);
  EXPECT_EQ(got.step_id, want.step_id);
  EXPECT_EQ(got.request_id, want.request_id);
  EXPECT_EQ(got.boot_id, want.boot_id);
  EXPECT_EQ(got.granted_at, want.granted_at);
  EXPECT_EQ(got.expires_at, want.expires_at);
  EXPECT_EQ(got.back_by, want.back_by);
  EXPECT_EQ(got.ended_at, std::nullopt);
}

TEST_F(StoreRebootsTest, OpenOnesOfARunAreListedOldestFirst) {
  // Neither their ids nor their nodes are in the order in which they were added.
  for (const char* permit_id : {"p3", "p1", "p2"}) ASSERT_OK(Put(Permit(permit_id, "c002")));
  RebootRecord other = Permit("p0", "c001");
  other.run_id = "r-2";
  ASSERT_OK(Put(other));
  EXPECT_THAT(OpenIds("r-1"), ElementsAre("p3", "p1", "p2"));
  EXPECT_THAT(OpenIds("r-2"), ElementsAre("p0"));
  RebootRecord ended = Permit("p1", "c002");
  ended.ended_at = kRebootsNow + absl::Minutes(1);
  ASSERT_OK(Put(ended));
  EXPECT_THAT(OpenIds("r-1"), ElementsAre("p3", "p2"));
  std::vector<std::string> all;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto permits, txn.reboots().List("r-1"));
    for (const RebootRecord& permit : permits) all.push_back(permit.permit_id);
    return absl::OkStatus();
  }));
  EXPECT_THAT(all, ElementsAre("p3", "p1", "p2"));
}

class PendingRebootsTest : public StoreRebootsTest {
 protected:
  void Boot(const std::string& uuid, const std::string& boot_id) {
    NodeRecord node;
    node.uuid = uuid;
    node.name = "n" + uuid;
    node.boot_id = boot_id;
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
  }
  absl::Status PutOff(const std::string& uuid, const std::string& boot_id,
                      const std::string& reason) {
    return store_->Update([&](Transaction& txn) {
      return txn.reboots().PutPending({uuid, boot_id, reason, "r-1", kRebootsNow});
    });
  }
  std::vector<std::string> Pending() {
    std::vector<std::string> found;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto pending, txn.reboots().ListPending());
      for (const PendingRebootRecord& each : pending) {
        EXPECT_EQ(each.run_id, "r-1");
        EXPECT_EQ(each.since, kRebootsNow);
        found.push_back(each.node_uuid + ": " + each.reason);
      }
      return absl::OkStatus();
    }));
    return found;
  }
};

TEST_F(PendingRebootsTest, ArePendingWhileTheNodeIsInThatBoot) {
  Boot("u1", "boot-1");
  Boot("u2", "boot-1");
  ASSERT_OK(PutOff("u2", "boot-1", "new driver"));
  ASSERT_OK(PutOff("u1", "boot-1", "kernel 2"));
  EXPECT_THAT(Pending(), ElementsAre("u2: new driver", "u1: kernel 2"));
  ASSERT_OK(PutOff("u1", "boot-1", "kernel 3"));
  EXPECT_THAT(Pending(), ElementsAre("u2: new driver", "u1: kernel 3"));
  Boot("u2", "boot-2");
  EXPECT_THAT(Pending(), ElementsAre("u1: kernel 3"));
  ASSERT_OK(PutOff("u2", "boot-2", "again"));
  EXPECT_THAT(Pending(), ElementsAre("u2: again", "u1: kernel 3"));
}

TEST_F(PendingRebootsTest, OneOfNoNodeIsRefused) {
  EXPECT_THAT(PutOff("u9", "boot-1", "kernel 2"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(StoreRebootsTest, PuttingAgainChangesTheEndAlone) {
  ASSERT_OK(Put(Permit("p1", "c001")));
  RebootRecord forged = Permit("p1", "c002");
  forged.boot_id = "boot-2";
  forged.expires_at = kRebootsNow + absl::Hours(5);
  ASSERT_OK(Put(forged));
  const std::vector<RebootRecord> open = Open("r-1");
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].node, "c001");
  EXPECT_EQ(open[0].boot_id, "boot-1");
  EXPECT_EQ(open[0].expires_at, kRebootsNow + absl::Minutes(5));
}

TEST_F(StoreRebootsTest, APermitOfNoRunIsRefused) {
  RebootRecord stray = Permit("p1", "c001");
  stray.run_id = "r-9";
  EXPECT_THAT(Put(stray), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller
