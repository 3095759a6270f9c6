#include "cli/inventory_edit/removal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr char kWithVariables[] = R"({
  "nodes": {"login2": {"role": "login"}, "login1": {"role": "login"}, "store1": {"role": "storage"},
            "c001": {"role": "compute", "vars": {"beeond_on": [{"nodes": "c[002-003]"}]}},
            "c002": {"role": "compute"}, "c004": {"role": "compute"}},
  "groups": {"gpu": {"nodes": "c[001-002]", "vars": {"prometheus_host": "store1"}}},
  "vars": {"peers": "x[1-2],c004", "slurm_mail": "not a [host list"}})";

TEST(RemovalCheck, WorkersAndOtherLoginNodesMayGo) {
  EXPECT_OK(CheckRemovable(kWithVariables, {"c001", "login1"}));
  // What names c002 goes with c001.
  EXPECT_OK(CheckRemovable(kWithVariables, {"c001", "c002"}));
}

TEST(RemovalCheck, WhatTheRestNeedsMayNot) {
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {"login2"}, {"login1", "login2"}, {"store1"}, {"c002"}, {"c004"}})
    EXPECT_THAT(CheckRemovable(kWithVariables, names),
                StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST(RemovalCheck, TheFirstLoginNodeMayGoIfAVariableNamesAnotherOneForSlurmctld) {
  EXPECT_OK(CheckRemovable(R"({"nodes": {"a": {"role": "login"}, "b": {"role": "login"}},
                               "vars": {"slurm_controller": "b"}})",
                           {"a"}));
}

TEST(RemovalCheck, OnlyWorkersAreReplaced) {
  EXPECT_OK(CheckReplaceable(kWithVariables, {"c001", "c004"}));
  EXPECT_THAT(CheckReplaceable(kWithVariables, {"c001", "store1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(CheckReplaceable(kWithVariables, {"c009"}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST(RemovalCheck, TheNodeAndItsMemberships) {
  EXPECT_OK(CheckRemoval({"- node c003: compute", "~ rack r1: nodes c[001-003] -> c[001-002]",
                          "~ group fast: nodes c003 -> (none)"},
                         {"c003"}));
  EXPECT_OK(CheckRemoval({"- nodes c[002-003]: compute", "- node store2: storage"},
                         {"c002", "c003", "store2"}));
}

TEST(RemovalCheck, EverythingElseIsRefused) {
  const std::vector<std::vector<std::string>> kCases = {
      {},
      {"- node c002: compute"},
      {"- nodes c[002-003]: compute"},
      {"- node c003: compute", "~ rack r1: nodes c[001-003] -> c001"},
      {"- node c003: compute", "~ rack r1: nodes c[001-003] -> c[001-003]"},
      {"- node c003: compute", "~ rack r1: nodes c[001-003] -> c[001-002,004]"},
      {"- node c003: compute", "~ node c002: address 10.0.0.2 -> 10.0.0.3"},
      {"- node c003: compute", "+ node c004: compute"},
      {"- node c003: compute", "- group fast"},
  };
  for (const auto& changes : kCases)
    EXPECT_THAT(CheckRemoval(changes, {"c003"}),
                StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::cli
