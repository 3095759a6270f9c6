#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

class StoreHealthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    NodeRecord node;
    node.uuid = "u1";
    node.name = "c1";
    ASSERT_OK(store_->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
  }
  std::vector<HealthDrainRecord> Drains() {
    std::vector<HealthDrainRecord> drains;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(drains, txn.health().ListDrains());
      return absl::OkStatus();
    }));
    return drains;
  }

  const std::unique_ptr<Store> store_ = OpenStore(":memory:").value();
};

TEST_F(StoreHealthTest, ADrainKeepsItsRebootAndItsQuarantine) {
  HealthDrainRecord plain;
  plain.node_uuid = "u1";
  plain.condition = "disk_full";
  plain.drained_at = kNow;
  HealthDrainRecord full = plain;
  full.condition = "gpu_lost";
  full.good_since = kNow + absl::Seconds(1);
  full.was_in_service = true;
  full.relapses = 2;
  full.validation_id = "v-1";
  full.is_quarantine = true;
  full.is_cleared = true;
  full.reboot = HealthDrainRecord::kInVain;
  full.rollout_id = "u-1";
  full.rebooted_at = kNow + absl::Seconds(2);
  full.reboot_trouble = "a reboot did not help";
  full.known_parts = {"", "GPU-5c1f", "/a b"};
  HealthDrainRecord well = plain;
  well.condition = "mount_hung";
  well.known_parts.emplace();
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.health().PutDrain(full));
    RETURN_IF_ERROR(txn.health().PutDrain(well));
    return txn.health().PutDrain(plain);
  }));
  EXPECT_THAT(Drains(), ::testing::UnorderedElementsAre(plain, full, well));
  full.rebooted_at.reset();
  full.is_cleared = false;
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.health().RemoveDrain("u1", "disk_full"));
    RETURN_IF_ERROR(txn.health().RemoveDrain("u1", "mount_hung"));
    return txn.health().PutDrain(full);
  }));
  EXPECT_THAT(Drains(), ElementsAre(full));
}

// A sequence that came a second time would be a change that a watcher has seen already.
TEST_F(StoreHealthTest, ChangesAreReadInBothDirectionsAndTheNewestStays) {
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    for (int i = 0; i < 5; ++i)
      RETURN_IF_ERROR(txn.health().AppendEvent(
          {0, kNow + absl::Seconds(i), "u1", "c1", "gpu_lost", std::to_string(i)}));
    return absl::OkStatus();
  }));
  const auto read = [&](bool forwards, uint64_t place, uint32_t limit) {
    std::vector<std::string> events;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<HealthEventRecord> rows,
                       forwards ? txn.health().ListEventsAfter(place, limit)
                                : txn.health().ListEventsBefore(place, limit));
      for (const HealthEventRecord& row : rows) events.push_back(row.event);
      return absl::OkStatus();
    }));
    return events;
  };
  EXPECT_THAT(read(true, 2, 2), ElementsAre("2", "3"));
  EXPECT_THAT(read(true, 5, 2), ElementsAre());
  EXPECT_THAT(read(false, 3, 9), ElementsAre("1", "0"));
  EXPECT_THAT(read(false, 0, 9), ElementsAre());
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.health().RemoveEvents(absl::InfiniteFuture(), 0, 100).value(), 4u);
    return txn.health().AppendEvent({0, kNow, "u1", "c1", "gpu_lost", "next"});
  }));
  EXPECT_THAT(read(true, 0, 9), ElementsAre("4", "next"));
  EXPECT_THAT(read(true, 5, 9), ElementsAre("next"));
}

TEST_F(StoreHealthTest, AHoldBecomesAQuarantineAndKeepsItsTime) {
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.node_holds().Put({"u1", "health:gpu_lost", "lost", kNow}));
    return txn.node_holds().Put(
        {"u1", "health:gpu_lost", "still lost", kNow + absl::Hours(1), true});
  }));
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
    EXPECT_EQ(holds.size(), 1u);
    EXPECT_EQ(holds.at(0).reason, "still lost");
    EXPECT_EQ(holds.at(0).since, kNow);
    EXPECT_TRUE(holds.at(0).is_quarantine);
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller
