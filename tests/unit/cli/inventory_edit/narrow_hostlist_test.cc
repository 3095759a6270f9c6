#include "cli/inventory_edit/narrow_hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"
#include "tests/unit/cli/inventory_edit/ok_matcher.h"

namespace muster::cli {
namespace {

using ::muster::testing::IsOkAndHolds;

TEST(NarrowHostlist, KeepsTheStyleOfWhatIsLeft) {
  const struct {
    const char* list;
    std::set<size_t> places;
    const char* narrow;
  } kCases[] = {
      {"c[001-017]", {16}, "c[001-016]"},
      {"c[001-017]", {0}, "c[002-017]"},
      {"c[001-004]", {1}, "c[001,003-004]"},
      {"c[1-2]", {0}, "c2"},
      {"10.0.0.[11-26]", {15}, "10.0.0.[11-25]"},
      {"10.0.0.[20,11-13]", {1}, "10.0.0.[20,12-13]"},  // addresses keep their order
      {"login1,c[2-3],x", {1, 2}, "login1,x"},
      {"a[1-3] ,b[1-2]", {4}, "a[1-3] ,b1"},  // the first is as it was
      {"r[1-2]n[1-2]", {3}, "r1n[1-2],r2n1"},
      {"c001", {0}, ""},
      {"c[001-003]", {}, "c[001-003]"},
  };
  for (const auto& each : kCases)
    EXPECT_THAT(NarrowHostlist(each.list, each.places), IsOkAndHolds(each.narrow)) << each.list;
  EXPECT_FALSE(NarrowHostlist("c[1-", {0}).ok());
}

}  // namespace
}  // namespace muster::cli
