#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(StoreRunValidations, AreKeptWithTheirRun) {
  const std::unique_ptr<Store> store = OpenStore(":memory:").value();
  RunValidationRecord row = {"r-1", 0, "pass", "acceptance"};
  row.nodes = "c[001-003]";
  ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
    for (const char* id : {"r-1", "r-2"}) {
      RunRecord run;
      run.run_id = id;
      run.created_at = absl::FromUnixSeconds(1700000000);
      RETURN_IF_ERROR(txn.runs().Put(run));
    }
    RunValidationRecord second = row;
    second.position = 1;
    RETURN_IF_ERROR(txn.run_validations().Put(second));
    RETURN_IF_ERROR(txn.run_validations().Put(row));
    second.run_id = "r-2";
    return txn.run_validations().Put(second);
  }));
  row.state = RunValidationRecord::kStarted;
  row.nodes = "c001";
  row.passed_nodes = "c[002-003]";
  row.validation_id = "v-1";
  row.message = "m";
  ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
    EXPECT_THAT(txn.run_validations().ListWaiting().value(), SizeIs(3));
    RETURN_IF_ERROR(txn.run_validations().Put(row));
    EXPECT_THAT(txn.run_validations().ListWaiting().value(), SizeIs(2));
    EXPECT_THAT(txn.run_validations().List("r-9").value(), IsEmpty());
    ASSIGN_OR_RETURN(const auto rows, txn.run_validations().List("r-1"));
    EXPECT_THAT(rows, SizeIs(2));
    EXPECT_EQ(rows[0].position, 0u);
    EXPECT_EQ(rows[0].play, "pass");
    EXPECT_EQ(rows[0].suite, "acceptance");
    EXPECT_EQ(rows[0].state, RunValidationRecord::kStarted);
    EXPECT_EQ(rows[0].nodes, "c001");
    EXPECT_EQ(rows[0].passed_nodes, "c[002-003]");
    EXPECT_EQ(rows[0].validation_id, "v-1");
    EXPECT_EQ(rows[0].message, "m");
    EXPECT_EQ(rows[1].state, RunValidationRecord::kWaiting);
    return absl::OkStatus();
  }));
}

TEST(StoreRunValidations, NeedARun) {
  const std::unique_ptr<Store> store = OpenStore(":memory:").value();
  EXPECT_FALSE(store
                   ->Update([&](Transaction& txn) {
                     return txn.run_validations().Put({"r-1", 0, "pass", "quick"});
                   })
                   .ok());
}

}  // namespace
}  // namespace muster::controller
