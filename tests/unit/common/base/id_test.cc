#include "common/base/id.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Id, UuidsAreCanonicalAndDiffer) {
  const std::string a = NewUuid(), b = NewUuid();
  EXPECT_TRUE(IsUuid(a)) << a;
  EXPECT_EQ(a[14], '4');
  EXPECT_NE(a, b);
  EXPECT_FALSE(IsUuid("c001"));
  EXPECT_FALSE(IsUuid(a.substr(1) + "g"));
}

TEST(Id, ShortIdsCarryTheirPrefix) {
  const std::string id = NewShortId("r");
  EXPECT_EQ(id.substr(0, 2), "r-");
  EXPECT_EQ(id.size(), 10u);
  EXPECT_NE(id, NewShortId("r"));
}

}  // namespace
}  // namespace muster
