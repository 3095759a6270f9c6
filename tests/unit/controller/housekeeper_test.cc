#include "controller/housekeeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci_store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller {
namespace {

TEST(Housekeeper, RemovesWhatIsOldAndNothingElse) {
  testing::FakeClock clock;
  auto store = *OpenStore(":memory:");
  const absl::Time now = clock.Now();
  ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
    for (const int days : {1, 91}) {
      const std::string run_id = absl::StrCat("r-", days);
      RETURN_IF_ERROR(txn.runs().Put({.run_id = run_id,
                                      .state = RunRecord::kSucceeded,
                                      .created_at = now - absl::Hours(24 * days),
                                      .finished_at = now - absl::Hours(24 * days)}));
      for (uint64_t i = 1; i <= 3000; ++i) {
        RETURN_IF_ERROR(txn.step_results().Put(
            {.run_id = run_id, .node = "a", .sequence = i, .step_id = absl::StrCat(i)}));
      }
      RETURN_IF_ERROR(txn.certificates().Insert({.serial = absl::StrCat("c", days),
                                                 .user = "alice",
                                                 .role = "admin",
                                                 .not_before = now - absl::Hours(24 * 365),
                                                 .not_after = now - absl::Hours(24 * days)}));
    }
    return absl::OkStatus();
  }));
  Housekeeper(*store, clock).Clean();
  ASSERT_OK(store->View([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.step_results().List("r-91", "")->size(), 0u);
    EXPECT_EQ(txn.step_results().List("r-1", "")->size(), 3000u);
    EXPECT_OK(txn.runs().Get("r-91"));
    EXPECT_OK(txn.certificates().Get("c1"));
    EXPECT_TRUE(absl::IsNotFound(txn.certificates().Get("c91").status()));
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller
