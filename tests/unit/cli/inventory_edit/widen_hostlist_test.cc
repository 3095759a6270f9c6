#include "cli/inventory_edit/widen_hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/cli/inventory_edit/ok_matcher.h"

namespace muster::cli {
namespace {

using ::muster::testing::IsOkAndHolds;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

TEST(WidenHostlist, GrowsTheLastItemInItsOwnStyle) {
  const struct {
    const char* list;
    std::vector<std::string> names;
    const char* want;
  } kCases[] = {
      {"c[001-016]", {"c017"}, "c[001-017]"},
      {"c[001-016]", {"c017", "c018"}, "c[001-018]"},
      {"c[001-016]", {"c018"}, "c[001-016,018]"},
      {"c[001-016]", {"c018", "c019"}, "c[001-016,018-019]"},
      {"c[002-003]", {"c001"}, "c[002-003,001]"},
      {"c001", {"c002"}, "c[001-002]"},
      {"c001", {"c003"}, "c[001,003]"},
      {"c[001,003]", {"c004"}, "c[001,003-004]"},
      {"c001,c002", {"c003"}, "c001,c[002-003]"},
      {"login1", {"c001", "c002"}, "login1,c[001-002]"},
      {"c[01-99]", {"c100"}, "c[01-100]"},
      {"c[098-099]", {"c100"}, "c[098-100]"},
      {"c[1-9]", {"c10"}, "c[1-10]"},
      {"c[1-9]", {"c010"}, "c[1-9,010]"},
      {"r[1-2]n[01-08]", {"r3n01"}, "r[1-2]n[01-08],r3n01"},
      {"r1n[01-08]", {"r1n09"}, "r1n[01-09]"},
      {"c[1-2]-ib", {"c3-ib"}, "c[1-2]-ib,c3-ib"},
      {"10.0.0.[11-26]", {"10.0.0.27"}, "10.0.0.[11-27]"},
      {"10.0.0.9", {"10.0.0.10"}, "10.0.0.[9-10]"},
      {"10.0.0.[254-255]", {"10.0.1.0"}, "10.0.0.[254-255],10.0.1.0"},
  };
  for (const auto& each : kCases)
    EXPECT_THAT(WidenHostlist(each.list, each.names, Widening::kAtTheEnd), IsOkAndHolds(each.want))
        << each.list;
}

TEST(WidenHostlist, BesideANameWhereOrderIsNothing) {
  EXPECT_THAT(WidenHostlist("c[001-002],login1", {"c003"}, Widening::kBesideLike, "c002"),
              IsOkAndHolds("c[001-003],login1"));
  EXPECT_THAT(WidenHostlist("c001,g[01-02],x", {"g03", "g04"}, Widening::kBesideLike, "g01"),
              IsOkAndHolds("c001,g[01-04],x"));
  EXPECT_THAT(WidenHostlist("c001", {"c002"}, Widening::kBesideLike, "c009"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(WidenHostlist, NamesThatAreThereCannotBeAdded) {
  EXPECT_THAT(WidenHostlist("c[001-003]", {"c002"}, Widening::kAtTheEnd),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(WidenHostlist("c[001-", {"c002"}, Widening::kAtTheEnd),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(WidenHostlist, WritesListsInTheirOrder) {
  EXPECT_THAT(WriteHostlist({"c003"}), IsOkAndHolds("c003"));
  EXPECT_THAT(WriteHostlist({"fd00::3"}), IsOkAndHolds("fd00::3"));
  EXPECT_THAT(WriteHostlist({"c003", "c004", "c001"}), IsOkAndHolds("c[003-004,001]"));
  EXPECT_THAT(SplitItems("a[1,2],b,c[3]"), ElementsAre("a[1,2]", "b", "c[3]"));
}

}  // namespace
}  // namespace muster::cli
