#include "controller/stack/stack_fit.h"

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/stack/gpu_generation.h"
#include "controller/stack/stack_set.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::stack {
namespace {

using ::muster::testing::Said;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::StatusCode kWrongFile = absl::StatusCode::kInvalidArgument;

Stack WithDriver(const std::string& version, const std::string& modules,
                 const std::string& cuda = "") {
  Errors errors;
  Stack stack = ReadStack(
      "playbooks/stacks/s.yaml",
      absl::StrCat(
          "description: d\nos: [debian 12, rocky 9]\nkernel: {from: '6.1', below: '6.2'}\n",
          "driver:\n  branch: '", version.substr(0, 3), "'\n  version: ", version, "\n  modules: ",
          modules, "\n", cuda.empty() ? "" : absl::StrCat("cuda: {version: ", cuda, "}\n")),
      &errors);
  EXPECT_OK(errors.ToStatus());
  return stack;
}

GpuModels Models() {
  const auto models = GpuModels::Read(
      {{"inventory/hardware/a.yaml", "kind: gpu\nmatch: [NVIDIA A*]\ngeneration: ampere\n"},
       {"inventory/hardware/k.yaml", "kind: gpu\nmatch: [NVIDIA AK]\ngeneration: kepler\n"},
       {"inventory/hardware/n.yaml", "kind: gpu\nmatch: [NVIDIA AN]\n"}});
  EXPECT_OK(models);
  return *models;
}

std::vector<std::string> OfGpus(const Stack& stack, std::vector<std::string> devices,
                                const std::string& model = "") {
  NodeState node;
  node.gpu_devices = std::move(devices);
  node.gpu_model = {model, {"cluster.yaml", 4}};
  return CheckFit(stack, node, Models());
}

TEST(GpuGeneration, IsKnownByDeviceId) {
  const std::map<std::string, std::string> devices = {
      {"102d", "kepler"},        // Tesla K80
      {"17c2", "maxwell"},       // GeForce GTX TITAN X
      {"13f2", "maxwell"},       // Tesla M60
      {"15f9", "pascal"},        // Tesla P100 SXM2
      {"1b06", "pascal"},        // GeForce GTX 1080 Ti
      {"1db1", "volta"},         // Tesla V100 SXM2
      {"1e04", "turing"},        // GeForce RTX 2080 Ti
      {"1eb8", "turing"},        // Tesla T4
      {"2182", "turing"},        // GeForce GTX 1660 Ti
      {"20b5", "ampere"},        // A100 PCIe 80GB
      {"2230", "ampere"},        // RTX A6000
      {"2330", "hopper"},        // H100 SXM5
      {"2342", "grace_hopper"},  // GH200
      {"26b9", "ada"},           // L40S
      {"27b8", "ada"},           // L4
      {"2901", "blackwell"},     // B200
      {"2B85", "blackwell"},     // GeForce RTX 5090
  };
  for (const auto& [device, generation] : devices) {
    const GpuGeneration* const found = GenerationOfDevice(device);
    ASSERT_NE(found, nullptr) << device;
    EXPECT_EQ(found->word, generation) << device;
  }
  for (const char* unknown : {"", "0001", "1b0", "1b066", "xyzt", "0x1b", "ffff"}) {
    EXPECT_EQ(GenerationOfDevice(unknown), nullptr) << unknown;
  }
}

TEST(GpuModels, AreFoundByTheLongestPattern) {
  EXPECT_EQ(Models().Find("nvidia a100")->word, "ampere");
  EXPECT_EQ(Models().Find("NVIDIA AK")->word, "kepler");
  EXPECT_EQ(Models().Find("Radeon"), nullptr);
  EXPECT_THAT(
      GpuModels::Read({{"inventory/hardware/a.yaml", "kind: gpu\nmatch: [A]\ngeneration: ampre\n"},
                       {"inventory/hardware/b.yaml", "a: b: c\n"}})
          .status(),
      StatusIs(kWrongFile, Said()));
}

TEST(GpuModels, AreInFilesOfYamlOnly) {
  EXPECT_OK(GpuModels::Read({{"inventory/hardware/README.md", "Our GPUs: a: b\n"}}));
}

TEST(StackFit, GpusAreNeitherTooOldNorTooNew) {
  EXPECT_THAT(OfGpus(WithDriver("580.65.06", "proprietary"), {"1b06", "1db1", "17c2"}), IsEmpty());
  EXPECT_THAT(
      absl::StrJoin(
          OfGpus(WithDriver("590.44.01", "proprietary"), {"1b06", "1b06", "1db1", "1e04"}), "\n"),
      Said());
  EXPECT_THAT(OfGpus(WithDriver("470.256.02", "proprietary"), {"102d"}), IsEmpty());
  EXPECT_THAT(OfGpus(WithDriver("535.261.03", "proprietary"), {"102d"}), SizeIs(1));
  EXPECT_THAT(OfGpus(WithDriver("570.172.08", "open"), {"2901"}), IsEmpty());
  EXPECT_THAT(absl::StrJoin(OfGpus(WithDriver("550.163.01", "open"), {"2901"}), "\n"), Said());
}

TEST(StackFit, ModulesAreThoseOfTheGeneration) {
  EXPECT_THAT(absl::StrJoin(OfGpus(WithDriver("570.172.08", "open"), {"1db1"}), "\n"), Said());
  EXPECT_THAT(
      absl::StrJoin(OfGpus(WithDriver("570.172.08", "proprietary"), {"2901", "2342"}), "\n"),
      Said());
  EXPECT_THAT(OfGpus(WithDriver("570.172.08", "open"), {"1e04", "20b5", "2330", "26b9"}),
              IsEmpty());
}

TEST(StackFit, CudaKnowsTheGeneration) {
  const Stack stack = WithDriver("580.65.06", "proprietary", "13.0.1");
  EXPECT_THAT(absl::StrJoin(OfGpus(stack, {"1db1"}), "\n"), Said());
  EXPECT_THAT(OfGpus(stack, {"1e04"}), IsEmpty());
  EXPECT_THAT(OfGpus(WithDriver("580.65.06", "proprietary", "12.9.1"), {"1db1"}), IsEmpty());
}

TEST(StackFit, TheModelOfTheInventoryCountsBeforeTheMachineExists) {
  const Stack stack = WithDriver("535.261.03", "proprietary");
  EXPECT_THAT(absl::StrJoin(OfGpus(stack, {}, "NVIDIA AK"), "\n"), Said());
  EXPECT_THAT(OfGpus(stack, {}, "NVIDIA A100"), IsEmpty());
  EXPECT_THAT(OfGpus(stack, {"fffe"}, "Radeon"), IsEmpty());
}

TEST(StackFit, KernelAndSystemAreAmongTheStacks) {
  const Stack stack = WithDriver("535.261.03", "proprietary");
  const auto check = [&](const std::string& id, const std::string& version,
                         const std::string& kernel) {
    return CheckFit(stack, {id, version, kernel}, GpuModels());
  };
  EXPECT_THAT(check("debian", "12", "6.1.0-37-amd64"), IsEmpty());
  EXPECT_THAT(check("rocky", "9.4", ""), IsEmpty());
  EXPECT_THAT(check("", "", ""), IsEmpty());
  EXPECT_THAT(absl::StrJoin(check("debian", "13", "6.12.41+deb13-amd64"), "\n"), Said());
  EXPECT_THAT(check("rocky", "90", "6.1.1"), SizeIs(1));
  // A kernel that was installed for the next boot.
  const auto next = [&](const std::string& kernel) {
    return CheckFit(stack, {"debian", "12", "6.1.0-37-amd64", kernel}, GpuModels());
  };
  EXPECT_THAT(next("6.1.0-40-amd64"), IsEmpty());
  EXPECT_THAT(absl::StrJoin(next("6.12.9+bpo-amd64"), "\n"), Said());
  EXPECT_THAT(CheckFit(stack, {"debian", "12", "6.12.9", "6.12.9"}, GpuModels()), SizeIs(1));
}

TEST(StackFit, VariablesMaySayLessButNothingElse) {
  const Stack stack = WithDriver("535.261.03", "proprietary");
  const auto check = [&](absl::string_view name, absl::string_view value) {
    for (const PinnedVariable& variable : PinnedVariables()) {
      if (variable.name == name) return CheckPinned(stack, variable, value, "cluster.yaml:7");
    }
    return std::string("not pinned");
  };
  for (const char* value : {"535.261.03", "535", "535.*", "535.261.03-1", "", "*"}) {
    EXPECT_EQ(check("gpu_driver_version", value), "") << value;
  }
  EXPECT_EQ(check("gpu_driver_branch", "535"), "");
  EXPECT_EQ(check("gpu_driver_modules", "auto"), "");
  EXPECT_THAT(check("gpu_driver_modules", "open"), Said());
  EXPECT_EQ(check("slurm_version", "22.05"), "");  // the stack has no Slurm
  EXPECT_THAT(check("gpu_driver_branch", "550"), Said());
  EXPECT_THAT(check("gpu_driver_version", "535.261.0"), Said());
}

}  // namespace
}  // namespace muster::controller::stack
