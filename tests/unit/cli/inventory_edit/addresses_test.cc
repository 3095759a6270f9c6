#include "cli/inventory_edit/addresses.h"

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
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Addresses, OneARangeOrPairs) {
  EXPECT_THAT(ReadAddresses({"c1"}, ""), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ReadAddresses({"c1"}, "10.0.0.1"), IsOkAndHolds(ElementsAre(Pair("c1", "10.0.0.1"))));
  EXPECT_THAT(ReadAddresses({"c1"}, "fd00::1"), IsOkAndHolds(ElementsAre(Pair("c1", "fd00::1"))));
  EXPECT_THAT(ReadAddresses({"c2", "c1"}, "10.0.0.[1-2]"),
              IsOkAndHolds(ElementsAre(Pair("c1", "10.0.0.2"), Pair("c2", "10.0.0.1"))));
  EXPECT_THAT(ReadAddresses({"c1", "c2", "c3"}, "c2=10.0.0.2,c1=fd00::1"),
              IsOkAndHolds(ElementsAre(Pair("c1", "fd00::1"), Pair("c2", "10.0.0.2"))));
}

TEST(Addresses, WhatIsNone) {
  for (const char* text : {"10.0.0.1", "10.0.0.[1-3]", "10.0.0.[1-", "c1=10.0.0.1,c1=10.0.0.2",
                           "c1=", "c9=10.0.0.1", "c1=10.0.0.1,c2"})
    EXPECT_THAT(ReadAddresses({"c1", "c2"}, text),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << text;
}

}  // namespace
}  // namespace muster::cli
