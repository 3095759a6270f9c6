#include "controller/stack/stack.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "controller/stack/stack_set.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::stack {
namespace {

using ::muster::testing::Said;
using ::testing::SizeIs;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kWhole[] = R"(description: everything
os: [debian 12, rocky 9]
kernel: {from: "6.1", below: "6.2"}
driver:
  branch: "570"
  version: 570.172.08
  modules: open
  kernels: {from: "5.4", below: "6.15"}
  packages: {nvidia-open: "1:570.172.08-1"}
fabric_manager: {version: 570.172.08}
cuda: {version: 12.8.1}
docker: {version: 20.10.24}
podman: {version: 4.3.1}
container_toolkit:
  version: 1.17.8
  packages:
    libnvidia-container1: 1.17.8-1
    libnvidia-container-tools: 1.17.8-1
    nvidia-container-toolkit: 1.17.8-1
    nvidia-container-toolkit-base: 1.17.8-1
enroot: {version: 3.5.0}
pyxis: {version: 0.20.0, slurm: "22.05"}
slurm: {version: 22.05.8}
beegfs: {version: 7.4.6, kernels: {from: "5.4", below: "6.12"}}
doca: {version: 2.9.1, kernels: {from: "5.4", below: "6.12"}}
)";

absl::StatusOr<StackSet> Read(const std::string& text) {
  return StackSet::Read({{"playbooks/stacks/s.yaml", text}}, {});
}

// kWhole with one text in the place of another.
absl::StatusOr<StackSet> With(const std::string& before, const std::string& after) {
  const std::string changed = absl::StrReplaceAll(kWhole, {{before, after}});
  EXPECT_NE(changed, kWhole) << before;
  return Read(changed);
}

TEST(StackFile, IsReadAsAWhole) {
  const auto set = Read(kWhole);
  ASSERT_OK(set);
  const Stack* stack = set->Find("s");
  ASSERT_NE(stack, nullptr);
  EXPECT_THAT(stack->os, SizeIs(2));
  EXPECT_THAT(stack->components, SizeIs(11));
  EXPECT_EQ(stack->WordOf("driver", "branch"), "570");
  EXPECT_EQ(stack->WordOf("pyxis", "slurm"), "22.05");
  EXPECT_EQ(stack->WordOf("ofed", "version"), "");
  EXPECT_EQ(stack->Find("driver")->version.place.ToString(), "playbooks/stacks/s.yaml:6");
}

TEST(StackFile, TemplatesSeeEveryKey) {
  const auto set = Read("description: d\nos: [debian 12]\nkernel: {from: '6', below: '7'}\n");
  ASSERT_OK(set);
  const nlohmann::ordered_json value = *set->ValueOf("s");
  for (const ComponentSpec& spec : ComponentSpecs()) {
    const auto& part = value.at(std::string(spec.name));
    EXPECT_EQ(part.at("version"), "") << spec.name;
    EXPECT_TRUE(part.at("packages").is_object());
    for (const absl::string_view word : spec.words) EXPECT_EQ(part.at(std::string(word)), "");
  }
  EXPECT_EQ(value.at("os").at(0), "debian 12");
  EXPECT_EQ(value.at("kernel").at("below"), "7");
}

TEST(StackFile, OtherFilesOfTheFolderAreErrors) {
  EXPECT_OK(StackSet::Read({{"playbooks/stacks/README.md", "?"}}, {}));
  EXPECT_THAT(StackSet::Read({{"playbooks/stacks/a.yml", ""}}, {}), StatusIs(kInvalid, Said()));
  EXPECT_THAT(StackSet::Read({{"playbooks/stacks/A B.yaml", ""}}, {}), StatusIs(kInvalid, Said()));
}

TEST(StackFile, TwoFilesOfOneNameAreAnError) {
  EXPECT_THAT(StackSet::Read({{"playbooks/stacks/debian12.yaml", kWhole},
                              {"playbooks/stacks/old/debian12.yaml", kWhole}},
                             {}),
              StatusIs(kInvalid, Said()));
}

TEST(StackFile, AllErrorsAreReportedAtOnceWithTheirLines) {
  EXPECT_THAT(Read(R"(descripton: typo
os: [debian, 12]
kernel: {from: "6.2", below: "6.1"}
driver: {branch: "535", version: 535.*, module: open}
pyxis: {version: 1}
beegfs: {version: 7, kernels: {from: "6", blow: "7"}, packages: [a]}
slurms: {version: 1}
cuda: 12
docker: {version: "1", packages: {"a b": "1", c: "x"}}
)"),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(Read(""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(Read("- a\n"), StatusIs(kInvalid, Said()));
}

TEST(StackRules, DriverIsOfItsBranch) {
  EXPECT_THAT(With("branch: \"570\"", "branch: \"575\""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("branch: \"570\"", "branch: r570"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("modules: open", "modules: both"), StatusIs(kInvalid, Said()));
}

TEST(StackRules, OldBranchesHaveNoOpenModules) {
  const auto at = [](const std::string& version, const std::string& modules) {
    return Read(absl::StrCat("description: d\nos: [debian 12]\nkernel: {from: '6', below: '7'}\n",
                             "driver: {branch: '", version.substr(0, 3), "', version: ", version,
                             ", modules: ", modules, "}\n"));
  };
  EXPECT_THAT(at("470.256.02", "open"), StatusIs(kInvalid, Said()));
  EXPECT_OK(at("470.256.02", "proprietary"));
  EXPECT_OK(at("515.105.01", "open"));
}

TEST(StackRules, FabricManagerHasTheVersionOfTheDriver) {
  EXPECT_THAT(
      With("fabric_manager: {version: 570.172.08}", "fabric_manager: {version: 570.158.01}"),
      StatusIs(kInvalid, Said()));
  EXPECT_THAT(Read("description: d\nos: [debian 12]\nkernel: {from: '6', below: '7'}\n"
                   "fabric_manager: {version: 570.158.01}\n"),
              StatusIs(kInvalid, Said()));
}

TEST(StackRules, PyxisIsBuiltForTheSlurmOfTheStack) {
  EXPECT_OK(With("slurm: \"22.05\"", "slurm: 22.05.8"));
  EXPECT_THAT(With("slurm: \"22.05\"", "slurm: \"24.11\""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("slurm: \"22.05\"", "slurm: 22.05.9"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("slurm: \"22.05\"", "slurm: \"22\""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("enroot: {version: 3.5.0}\n", ""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("slurm: {version: 22.05.8}\n", ""), StatusIs(kInvalid, Said()));
}

TEST(StackRules, CudaRunsOnTheDriver) {
  EXPECT_OK(With("cuda: {version: 12.8.1}", "cuda: {version: 11.8.89}"));
  EXPECT_THAT(With("cuda: {version: 12.8.1}", "cuda: {version: 13.0.1}"),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("cuda: {version: 12.8.1}", "cuda: {version: 21.0}"), StatusIs(kInvalid, Said()));
}

TEST(StackRules, ModulesBuildForAllKernels) {
  EXPECT_THAT(With("below: \"6.12\"", "below: \"6.1.50\""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("beegfs: {version: 7.4.6, kernels: {from: \"5.4\", below: \"6.12\"}}",
                   "beegfs: {version: 7.4.6}"),
              StatusIs(kInvalid, Said()));
}

TEST(StackRules, PackagesAreOfTheirComponents) {
  EXPECT_THAT(
      With("nvidia-container-toolkit-base: 1.17.8-1", "nvidia-container-toolkit-base: 1.17.8-2"),
      StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("    libnvidia-container-tools: 1.17.8-1\n", ""), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("libnvidia-container-tools:", "libnvidia-container-tool:"),
              StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("1:570.172.08-1", "1:570.158.01-1"), StatusIs(kInvalid, Said()));
  EXPECT_THAT(With("docker: {version: 20.10.24}",
                   "docker: {version: 1.17.8, packages: {libnvidia-container1: 1.17.8-9}}"),
              StatusIs(kInvalid, Said()));
}

TEST(StackRules, DocaAndOfedExcludeEachOther) {
  EXPECT_THAT(With("doca: {", "ofed: {version: '24.10'}\ndoca: {"), StatusIs(kInvalid, Said()));
}

}  // namespace
}  // namespace muster::controller::stack
