#include "controller/stack/stack_diff.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::stack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Stack Parse(const std::string& os, const std::string& rest) {
  Errors errors;
  Stack stack = ReadStack(
      "playbooks/stacks/s.yaml",
      absl::StrCat("description: d\nos: [", os, "]\nkernel: {from: '6.1', below: '6.2'}\n", rest),
      &errors);
  EXPECT_OK(errors.ToStatus());
  return stack;
}

std::vector<std::string> Lines(const std::vector<StackChange>& changes) {
  std::vector<std::string> lines;
  for (const StackChange& each : changes) {
    lines.push_back(absl::StrCat(each.component, " ", each.what, ": ", each.before, " -> ",
                                 each.after, each.reported ? " (reported)" : ""));
  }
  return lines;
}

const char kOld[] =
    "driver: {branch: '535', version: 535.1, modules: open, packages: {a: 535.1-1, b: 535.1-1}}\n"
    "slurm: {version: 22.05.8}\npodman: {version: '4'}\n";
const char kNew[] =
    "driver: {branch: '550', version: 550.1, modules: open, packages: {a: 550.1-1}}\n"
    "slurm: {version: 22.05.8}\nenroot: {version: '3'}\n";

TEST(StackDiff, NamesWhatDiffers) {
  const Stack before = Parse("debian 12", kOld);
  EXPECT_THAT(Lines(DiffStacks(&before, Parse("debian 12, debian 13", kNew), {})),
              ElementsAre("os systems: debian 12 -> debian 12, debian 13",
                          "driver version: 535.1 -> 550.1", "driver branch: 535 -> 550",
                          "driver package a: 535.1-1 -> 550.1-1", "enroot version:  -> 3",
                          "driver package b: 535.1-1 -> ", "podman version: 4 -> "));
  EXPECT_THAT(DiffStacks(&before, before, {}), IsEmpty());
}

TEST(StackDiff, WhatTheNodeReportsCountsMore) {
  const Stack stack = Parse("debian 12", kOld);
  EXPECT_THAT(Lines(DiffStacks(&stack, stack, {"525.9", "22.05.8"})),
              ElementsAre("driver version: 525.9 -> 535.1 (reported)"));
  EXPECT_THAT(DiffStacks(&stack, stack, {"535.1", ""}), IsEmpty());
  // Without a stack, everything else is new.
  const auto fresh = DiffStacks(nullptr, stack, {"535.1", ""});
  EXPECT_EQ(Lines(fresh).at(2), "driver branch:  -> 535");
}

}  // namespace
}  // namespace muster::controller::stack
