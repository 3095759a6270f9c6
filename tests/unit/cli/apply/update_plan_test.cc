// What is refused of plan files of updates before the controller is asked.
#include "cli/apply/update_plan.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "cli/apply/plan_apply.h"
#include "cli/apply/plan_keep.h"
#include "common/value/plan_file.h"
#include "muster/v1/plan_file.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

std::string Text(bool of_rollout) {
  v1::PlanFile file;
  file.set_playbook("playbooks/site.yaml");
  if (of_rollout)
    file.mutable_rollout()->mutable_rollout()->mutable_request()->set_max_unavailable("2");
  return WritePlanFile(file).value();
}

absl::Status Update(const std::string& text, UpdateOptions options = {}) {
  Context context;  // no clock and no controller: neither is asked
  options.run.playbook = "friday.json";
  return UpdateByPlanFile(context, options, text).status();
}

TEST(UpdateByPlanFile, AnEditedFileIsRefused) {
  EXPECT_THAT(Update(absl::StrReplaceAll(Text(true), {{"\"2\"", "\"9\""}})),
              StatusIs(kRefused, Said()));
}

TEST(UpdateByPlanFile, EachKindOfPlanHasItsCommand) {
  EXPECT_THAT(Update(Text(false)), StatusIs(kRefused, Said()));
  Context context;
  EXPECT_THAT(ApplyPlanFile(context, {.path = "friday.json"}, Text(true)).status(),
              StatusIs(kRefused, Said()));
}

TEST(UpdateByPlanFile, WhatTheFileDecidesCannotBeGivenAgain) {
  UpdateOptions limited;
  limited.run.limit = "c001";
  EXPECT_THAT(Update(Text(true), limited), StatusIs(kRefused, Said()));
  UpdateOptions wider;
  wider.max_unavailable = "50%";
  EXPECT_THAT(Update(Text(true), wider), StatusIs(kRefused, HasSubstr("is a plan file")));
  UpdateOptions kept;
  kept.plan = true;
  kept.keep.file = "again.json";
  EXPECT_THAT(Update(Text(true), kept), StatusIs(kRefused, HasSubstr("is a plan file")));
}

TEST(PlanFileOptions, ALifetimeIsWithinItsBounds) {
  EXPECT_EQ(LifetimeOf({}).value(), absl::Hours(24));
  EXPECT_EQ(LifetimeOf({.file = "", .ttl = "8h"}).value(), absl::Hours(8));
  for (const char* ttl : {"30s", "721h", "soon"})
    EXPECT_THAT(LifetimeOf({.file = "", .ttl = ttl}).status(),
                StatusIs(kRefused, HasSubstr("--ttl")))
        << ttl;
}

}  // namespace
}  // namespace muster::cli
