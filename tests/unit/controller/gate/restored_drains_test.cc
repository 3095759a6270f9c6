#include "controller/gate/restored_drains.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/gate/node_holds.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

const absl::Time kRestored = absl::FromUnixSeconds(1700000000);

// Lets something else happen between a View and what follows it.
class StoreWithOthers final : public Store {
 public:
  StoreWithOthers(Store& store, std::function<void()> after_view)
      : store_(store), after_view_(std::move(after_view)) {}
  absl::Status View(absl::FunctionRef<absl::Status(Transaction&)> fn) override {
    const absl::Status status = store_.View(fn);
    after_view_();
    return status;
  }
  absl::Status Update(absl::FunctionRef<absl::Status(Transaction&)> fn) override {
    return store_.Update(fn);
  }
  uint64_t SizeBytes() override { return store_.SizeBytes(); }

 private:
  Store& store_;
  const std::function<void()> after_view_;
};

TEST(RestoredDrains, AResumeBetweenLookAndActionIsNotUndone) {
  const std::unique_ptr<Store> store = *OpenStore(":memory:");
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    for (const char* name : {"c001", "c002"}) {
      NodeRecord node;
      node.uuid = name;
      node.name = name;
      node.state = NodeRecord::kConfigured;
      RETURN_IF_ERROR(txn.nodes().Put(node));
    }
    return txn.restores().Begin(kRestored);
  }));
  StoreWithOthers with_others(*store, [&] {
    EXPECT_OK(store->Update([](Transaction& txn) {
      return FreeNodes(txn, {"c001"}, {"operator:bob", ""}, "", kRestored);
    }));
  });
  std::vector<slurm::SlurmNode> nodes;
  for (const char* name : {"c001", "c002"}) {
    nodes.push_back({.name = name,
                     .state = "IDLE+DRAIN",
                     .is_drained = true,
                     .reason = "muster:admin:alice bad disk",
                     .reason_user = "root",
                     .is_held = true});
  }
  ASSERT_OK(KeepRestoredDrains(with_others, nodes, kRestored));
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
    EXPECT_EQ(holds.size(), 1u);
    for (const NodeHoldRecord& hold : holds) EXPECT_EQ(hold.node_uuid, "c002");
    ASSIGN_OR_RETURN(const auto unseen, txn.restores().ListUnseen());
    EXPECT_THAT(unseen, ::testing::IsEmpty());
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller::validation
