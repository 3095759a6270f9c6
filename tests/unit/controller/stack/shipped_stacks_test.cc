// The stacks that come with Muster, and the one that docs/stacks.md shows.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/stack/gpu_generation.h"
#include "controller/stack/stack_fit.h"
#include "controller/stack/stack_set.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::stack {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

std::map<std::string, std::string> Folder(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[absl::StrCat(folder, entry.path().filename().string())] = ReadAll(entry.path());
  }
  return files;
}

TEST(ShippedStacks, HoldTogetherAndFitTheirSystems) {
  const auto set = StackSet::Read(Folder(kStackFolder), Folder(kHardwareFolder));
  ASSERT_OK(set);
  for (const auto& [name, kernel] : std::map<std::string, std::string>{
           {"debian12", "6.1.0-37-amd64"}, {"debian13", "6.12.41+deb13-amd64"}}) {
    const Stack* const stack = set->Find(name);
    ASSERT_NE(stack, nullptr) << name;
    NodeState node{"debian", name.substr(6), kernel};
    EXPECT_THAT(CheckFit(*stack, node, set->gpu_models()), IsEmpty()) << name;
    for (const char* gpu : {"Tesla P100-SXM2-16GB", "Tesla V100-PCIE-16GB", "NVIDIA L4",
                            "NVIDIA GeForce RTX 2080 Ti", "NVIDIA H100 80GB HBM3"}) {
      node.gpu_model.text = gpu;
      EXPECT_NE(set->gpu_models().Find(gpu), nullptr) << gpu;
      EXPECT_THAT(CheckFit(*stack, node, set->gpu_models()), IsEmpty()) << name << " " << gpu;
    }
    node.gpu_devices = {"2901"};  // B200
    EXPECT_THAT(CheckFit(*stack, node, set->gpu_models()), Not(IsEmpty())) << name;
  }
}

TEST(StackPage, ItsExampleIsAStack) {
  const std::string page = ReadAll("docs/stacks.md");
  const std::string fence = "```yaml\n";
  const size_t begin = page.find(fence) + fence.size();
  EXPECT_OK(StackSet::Read(
      {{"playbooks/stacks/gpu-2025.yaml", page.substr(begin, page.find("```", begin) - begin)}},
      {}));
}

TEST(StackPage, NamesEveryComponentAndVariable) {
  const std::string page = ReadAll("docs/stacks.md");
  for (const ComponentSpec& spec : ComponentSpecs()) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("`", std::string(spec.name), "`")));
  }
  for (const PinnedVariable& variable : PinnedVariables()) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("`", std::string(variable.name), "`")));
  }
}

TEST(StackPage, ItsTableOfGenerationsIsTheOneInForce) {
  const std::string page = ReadAll("docs/stacks.md");
  for (const GpuGeneration& each : GpuGenerations()) {
    const std::string branches = each.last_branch == 0
                                     ? absl::StrCat(each.first_branch, " and later")
                                     : absl::StrCat(each.first_branch, " to ", each.last_branch);
    const std::string modules = each.modules == GpuModules::kOpen     ? "open"
                                : each.modules == GpuModules::kEither ? "either"
                                                                      : "proprietary";
    EXPECT_THAT(page, HasSubstr(absl::StrCat("| ", std::string(each.name), " | ", branches, " | ",
                                             modules, " |")));
  }
}

}  // namespace
}  // namespace muster::controller::stack
