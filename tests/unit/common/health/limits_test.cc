#include "common/health/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/health/catalogue.h"

namespace muster::health {
namespace {

TEST(Limits, EachBelongsToAConditionAndIsWithinItsBounds) {
  for (const LimitInfo& limit : LimitTable()) {
    SCOPED_TRACE(std::string(limit.name));
    EXPECT_NE(FindCondition(limit.name.substr(0, limit.name.find('.'))), nullptr);
    EXPECT_LT(limit.min, limit.max);
    EXPECT_LE(limit.min, limit.value);
    EXPECT_LE(limit.value, limit.max);
  }
}

TEST(Limits, ParsesWhatFitsAndKeepsItsOwnOtherwise) {
  std::vector<std::string> refused;
  const Limits limits = Limits::Parse({{"disk_full.percent", "80"},
                                       {"inodes_full.percent", "101"},
                                       {"clock_offset.seconds", "nan"},
                                       {"nic_errors.per_minute", "many"},
                                       {"no_such.limit", "1"}},
                                      refused);
  EXPECT_EQ(limits.Of("disk_full.percent"), 80);
  EXPECT_EQ(limits.Of("inodes_full.percent"), 95);
  EXPECT_EQ(limits.Of("clock_offset.seconds"), 0.5);
  EXPECT_EQ(limits.Of("nic_errors.per_minute"), 10);
  EXPECT_EQ(refused.size(), 4u);
}

}  // namespace
}  // namespace muster::health
