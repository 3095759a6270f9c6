#include "common/checks/pair_grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"

namespace muster::checks {
namespace {

TEST(PairGridTest, KeepsTheLowestOfEachPair) {
  PairGrid grid({"c1", "c2", "c3"});
  grid.Take(0, 1, 9.4);
  grid.Take(0, 1, 4.7);
  grid.Take(0, 1, 8.0);
  grid.Take(2, 2, 1.0);  // with itself
  grid.Take(1, 0, std::nan(""));
  EXPECT_EQ(grid.Cell(0, 1), 4.7);
  EXPECT_EQ(grid.Cell(2, 2), std::nullopt);
  EXPECT_EQ(grid.Cell(1, 0), std::nullopt);
  ASSERT_TRUE(grid.range().has_value());
  EXPECT_EQ(grid.range()->low, 4.7);
  EXPECT_EQ(grid.range()->high, 4.7);
}

TEST(PairGridTest, WithoutValuesThereIsNoRange) {
  EXPECT_FALSE(PairGrid({}).range().has_value());
  EXPECT_FALSE(PairGrid({"c1", "c2"}).range().has_value());
}

TEST(PairGridTest, NeighborsOfManyNodesShareACell) {
  std::vector<std::string> names;
  for (int n = 0; n < 1000; ++n) names.push_back(absl::StrCat("c", n));
  PairGrid grid(names);
  ASSERT_LE(grid.blocks().size(), PairGrid::kMaxCells);
  EXPECT_EQ(grid.blocks().front().label, "c0–c7");
  EXPECT_EQ(grid.blocks().back().label, "c992–c999");
  grid.Take(3, 999, 5);
  grid.Take(4, 998, 2);
  EXPECT_EQ(grid.Cell(0, grid.blocks().size() - 1), 2);
}

}  // namespace
}  // namespace muster::checks
