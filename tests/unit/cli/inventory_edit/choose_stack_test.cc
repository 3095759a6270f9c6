#include "cli/inventory_edit/choose_stack.h"

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
using Files = std::map<std::string, std::string>;

constexpr char kGpu[] =
    "# What the GPU nodes are.\n"
    "gpu_count: 8\n"
    "stack: debian12   # since March\n";

std::vector<StackChoice> Choices() {
  return {{{"login1"}, "", ""},
          {{"c001", "c002"}, "debian12", "group_vars/gpu.yaml:3"},
          {{"c003"}, "debian11", "cluster.yaml:4"}};
}

TEST(ChooseStack, ChangesTheValueAndNothingElse) {
  EXPECT_THAT(ChooseStack({{"group_vars/gpu.yaml", kGpu}}, Choices(), {"c001", "c002"}, "debian13"),
              IsOkAndHolds(ElementsAre(Pair("group_vars/gpu.yaml",
                                            "# What the GPU nodes are.\n"
                                            "gpu_count: 8\n"
                                            "stack: debian13   # since March\n"))));
}

TEST(ChooseStack, FindsItInSectionsToo) {
  const Files files = {
      {"group_vars/gpu.yaml", kGpu},
      {"cluster.yaml",
       "cluster: x\n"
       "nodes:\n"
       "  c[001-002]: {role: compute, groups: [gpu]}\n"
       "  c003: {role: compute, vars: {stack: \"debian11\", note: 'stack: no'}}\n"}};
  EXPECT_THAT(ChooseStack(files, Choices(), {"c003"}, "debian13"),
              IsOkAndHolds(ElementsAre(Pair(
                  "cluster.yaml",
                  "cluster: x\n"
                  "nodes:\n"
                  "  c[001-002]: {role: compute, groups: [gpu]}\n"
                  "  c003: {role: compute, vars: {stack: \"debian13\", note: 'stack: no'}}\n"))));
}

TEST(ChooseStack, NodesThatHaveItNeedNoEdit) {
  EXPECT_THAT(ChooseStack({{"group_vars/gpu.yaml", kGpu}}, Choices(), {"c001", "c002"}, "debian12"),
              IsOkAndHolds(IsEmpty()));
  // Also where others share the place.
  EXPECT_THAT(ChooseStack({{"group_vars/gpu.yaml", kGpu}}, Choices(), {"c001"}, "debian12"),
              IsOkAndHolds(IsEmpty()));
}

TEST(ChooseStack, APlaceThatIsNotTheirsAloneIsNotChanged) {
  EXPECT_THAT(ChooseStack({{"group_vars/gpu.yaml", kGpu}}, Choices(), {"c001"}, "debian13"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST(ChooseStack, ANodeWithoutAStackIsNamedWithTheRemedy) {
  EXPECT_THAT(ChooseStack({}, Choices(), {"c001", "c002", "login1"}, "debian13"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST(ChooseStack, WhatCannotBeChangedIsNamedWithItsPlace) {
  const auto choose = [](const std::string& text) {
    return ChooseStack({{"group_vars/gpu.yaml", text}}, Choices(), {"c001", "c002"}, "debian13");
  };
  const absl::StatusCode refused = absl::StatusCode::kInvalidArgument;
  // An expression, two on a line, another line, a file that is not there, escapes.
  EXPECT_THAT(choose("\n\nstack: \"{{ site_stack }}\"\n"), StatusIs(refused, Said()));
  EXPECT_THAT(choose("\n\n{stack: debian12, other: {stack: debian12}}\n"),
              StatusIs(refused, Said()));
  EXPECT_THAT(choose("stack: debian12\n"), StatusIs(refused, Said()));
  EXPECT_THAT(ChooseStack({}, Choices(), {"c001", "c002"}, "debian13"), StatusIs(refused, Said()));
  EXPECT_THAT(choose("\n\nstack: \"\\x64ebian12\"\n"), StatusIs(refused, Said()));
}

}  // namespace
}  // namespace muster::cli
