#include "common/value/folded_value.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

Value Sample() {
  return Value::array({{{"name", "nvme0n1"}, {"size", 3'840'755'982'336}, {"model", nullptr}},
                       {{"name", "émoji"}, {"ratio", 33.3}, {"up", true}, {"at", {-1, 2}}}});
}

TEST(FoldedValueTest, IsTheSameWhenUnfolded) {
  const Value folded = Fold(Sample());
  EXPECT_TRUE(IsFolded(folded));
  EXPECT_FALSE(IsSecret(folded));
  EXPECT_LT(FoldedBytes(folded), 100u);
  EXPECT_EQ(Unfold(folded), Sample());
  // The order of the keys, too.
  EXPECT_EQ(Unfold(folded).dump(), Sample().dump());
}

TEST(FoldedValueTest, OtherValuesAreNotFolded) {
  EXPECT_FALSE(IsFolded(Sample()));
  EXPECT_FALSE(IsFolded(MakeSecret("s")));
  EXPECT_FALSE(IsFolded(Value()));
}

TEST(FoldedValueTest, UnfoldsAtAnyDepth) {
  const Value plain = {{"facts", {{"disks", Sample()}, {"cpus", 4}}}};
  const Value folded = {{"facts", {{"disks", Fold(Sample())}, {"cpus", 4}}}};
  EXPECT_EQ(UnfoldAll(folded), plain);
  EXPECT_EQ(UnfoldAll(plain), plain);
}

}  // namespace
}  // namespace muster
