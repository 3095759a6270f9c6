#include "common/base/text/natural_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(NaturalOrderTest, DigitsCountAsNumbers) {
  const std::vector<std::string> in_order = {
      "",
      "1",
      "2",
      "10",
      "Eth1/2",
      "Eth1/10",
      "Eth1/10/1",
      "Eth2/1",
      "leaf",
      "leaf-2",
      "leaf01",
      "leaf1",
      "leaf1a",
      "leaf2",
      "leaf9",
      "leaf99999999999999999998",
      "leaf99999999999999999999",
      "leafb",
  };
  std::vector<std::string> names(in_order.rbegin(), in_order.rend());
  std::sort(names.begin(), names.end(), NaturalLess);
  EXPECT_EQ(names, in_order);
  for (size_t i = 0; i < in_order.size(); ++i)
    for (size_t j = 0; j < in_order.size(); ++j)
      EXPECT_EQ(NaturalLess(in_order[i], in_order[j]), i < j) << in_order[i] << " " << in_order[j];
}

}  // namespace
}  // namespace muster
