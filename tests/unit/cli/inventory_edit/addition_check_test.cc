#include "cli/inventory_edit/addition_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr char kInForce[] = R"({
  "nodes": {},
  "racks": {"r1": {"nodes": "c[001-002]"}, "r2": {"nodes": ""}},
  "groups": {"gpu": {"nodes": "c[001-002]"}, "login": {"nodes": "login1"}},
  "partitions": {"batch": {"nodes": "c[001-002]"}, "test": {"nodes": "c001"}}})";

constexpr char kNode[] = "+ node c003: compute";
constexpr char kRack[] = "~ rack r1: nodes c[001-002] -> c[001-003]";
constexpr char kGroup[] = "~ group gpu: nodes c[001-002] -> c[001-003]";
constexpr char kPartition[] = "~ partition batch: nodes c[001-002] -> c[001-003]";
const NodeAddition kAddition = {.names = {"c003"}, .like = "c002"};

TEST(AdditionCheck, TheNodeAndItsMemberships) {
  EXPECT_OK(CheckAddition({kNode, kRack, kGroup, kPartition}, kInForce, kAddition));
  EXPECT_OK(CheckAddition(
      {"+ nodes c[003-004]: compute, var x = 1", "~ rack r1: nodes c[001-002] -> c[001-004]",
       "~ group gpu: nodes c[001-002] -> c[001-004]",
       "~ partition batch: nodes c[001-002] -> c[001-004]"},
      kInForce, {.names = {"c004", "c003"}, .like = "c002"}));
  EXPECT_OK(CheckAddition({kNode, "~ rack r2: nodes (none) -> c003", kGroup, kPartition}, kInForce,
                          {.names = {"c003"}, .like = "c002", .rack = "r2"}));
}

TEST(AdditionCheck, UpdatePoliciesGetTheNodeAsWell) {
  constexpr char kPolicies[] = R"({"updates": {"nightly": {"nodes": "c[001-002]"}}})";
  EXPECT_OK(CheckAddition({kNode, "~ update policy nightly: nodes c[001-002] -> c[001-003]"},
                          kPolicies, kAddition));
  EXPECT_THAT(CheckAddition({kNode}, kPolicies, kAddition),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST(AdditionCheck, WithoutAModelMembershipsAreFree) {
  EXPECT_OK(CheckAddition({kNode}, kInForce, {.names = {"c003"}}));
  EXPECT_OK(CheckAddition({kNode, kGroup}, kInForce, {.names = {"c003"}}));
}

TEST(AdditionCheck, EverythingElseIsRefused) {
  const std::vector<std::vector<std::string>> kCases = {
      {},
      {"+ node c009: compute"},
      {"+ nodes c[003-004]: compute", kRack, kGroup, kPartition},
      {kNode, kRack, kGroup},  // less than its neighbor
      {kNode, kRack, kGroup, kPartition, "~ partition test: nodes c001 -> c[001,003]"},
      {kNode, kRack, kGroup, kPartition, "~ node c001: address 10.0.0.1 -> 10.0.0.3"},
      {kNode, kRack, kGroup, kPartition, "- node c001"},
      {kNode, kRack, kPartition, "~ group gpu: nodes c[001-002] -> c[002-003]"},
      {kNode, kRack, kPartition, "~ group gpu: nodes c[001-002] -> c[001-004]"},
      {kNode, kRack, kPartition, "~ group gpu: nodes c[001-002] -> c[001-003], var x 1 -> 2"},
      {kNode, kRack, kGroup, kPartition, "+ var x = 1"},
  };
  for (const auto& changes : kCases)
    EXPECT_THAT(CheckAddition(changes, kInForce, kAddition),
                StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::cli
