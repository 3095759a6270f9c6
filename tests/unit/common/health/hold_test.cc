#include "common/health/hold.h"

#include <gtest/gtest.h>

#include "common/health/catalogue.h"

namespace muster::health {
namespace {

TEST(Hold, IsOfThoseThatOutlastTheirCause) {
  EXPECT_EQ(HoldOf("gpu_xid"), absl::InfiniteDuration());
  EXPECT_EQ(HoldOf("gpu_ecc"), absl::InfiniteDuration());
  EXPECT_EQ(HoldOf("disk_readonly"), absl::InfiniteDuration());
  EXPECT_EQ(HoldOf("disk_health"), absl::InfiniteDuration());
  EXPECT_EQ(HoldOf("nvlink_error"), absl::Hours(24));
  EXPECT_EQ(HoldOf("oom_kill"), absl::Hours(1));
  for (const char* name : {"disk_full", "gpu_lost", "node_lost", ""})
    EXPECT_EQ(HoldOf(name), std::nullopt) << name;
}

TEST(Hold, NamesConditionsOfTheCatalogue) {
  int held = 0;
  for (const ConditionInfo& condition : Catalogue()) held += HoldOf(condition.name).has_value();
  EXPECT_EQ(held, 15);
}

}  // namespace
}  // namespace muster::health
