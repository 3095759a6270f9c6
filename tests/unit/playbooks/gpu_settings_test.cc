// The role gpu_settings: what it plans for a map of settings, and what it refuses.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/value/secret_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using testing::Said;
using testing::StatusIs;

std::string FileText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

class GpuSettingsTest : public ::testing::Test {
 protected:
  GpuSettingsTest() {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator("playbooks/roles/gpu_settings"))
      if (entry.is_regular_file()) site_[entry.path().string()] = FileText(entry.path());
    site_["playbooks/gpus.yaml"] =
        "- play: p\n  hosts: all\n  roles:\n"
        "    - {role: gpu_settings, when: gpu_settings_gpus > 0}\n";
    facts_["c001"] = Value::parse(R"({"gpus": [
        {"slurm_type": "h200", "name": "NVIDIA H200"},
        {"slurm_type": "h200", "name": "NVIDIA H200"},
        {"slurm_type": "rtx_2080_ti", "name": "NVIDIA GeForce RTX 2080 Ti"}]})");
  }

  // The plan of a node for such a `gpu_settings`, in YAML.
  NodePlan Compile(const std::string& settings) {
    const auto playbook = LoadPlaybook(site_, "playbooks/gpus.yaml");
    EXPECT_OK(playbook);
    const absl::StatusOr<Inventory> inventory = ParseInventory(
        {{"c.yaml", absl::StrCat("cluster: x\n"
                                 "nodes: {c001: {role: compute, address: 10.0.0.1}}\n"
                                 "vars:\n  gpu_settings: ",
                                 settings, "\n  gpu_settings_wait_seconds: 0\n")}});
    EXPECT_OK(inventory);
    if (!playbook.ok() || !inventory.ok()) return {};
    auto plans =
        CompilePlay(**playbook, 0, *inventory, facts_, {"c001"}, CompileOptions(), secrets_);
    return std::move(plans.at(0));
  }

  // The steps that are not skipped, by name.
  std::map<std::string, v1::Step> Steps(const std::string& settings) {
    std::map<std::string, v1::Step> steps;
    const NodePlan plan = Compile(settings);
    EXPECT_OK(plan.error);
    if (plan.plan == nullptr) return steps;
    for (const v1::RolePlan& role : plan.plan->roles())
      for (const v1::Step& step : role.steps())
        if (step.skip_reason().empty()) steps[step.name()] = step;
    return steps;
  }

  FileTree site_;
  FactsByNode facts_;
  testing::FakeSecretSource secrets_;
};

// gpu_settings_test.sh lets the program read the same file.
TEST_F(GpuSettingsTest, WritesWhatTheProgramReads) {
  auto steps = Steps(R"({
    compute_mode: default, graphics_clock_mhz: [1200, 1500],
    models: {h200: {ecc: true, mig: {2g.35gb: 2, 1g.18gb: 3}, power_limit_watts: 600},
             rtx_2080_ti: {power_limit_watts: 200}},
    gpus: {"1": {mig: false}}})");
  const v1::FileResource& file = steps["settings of the GPUs"].file();
  EXPECT_EQ(file.content(), FileText("tests/testdata/gpu_settings/node.conf"));
  EXPECT_EQ(file.path(), "/etc/muster-gpu-settings.conf");
  EXPECT_EQ(file.owner(), "root");
  const v1::CommandResource& command = steps["GPUs are set"].command();
  EXPECT_THAT(command.argv(), ElementsAre("/usr/local/lib/muster/gpu-settings", "apply"));
  EXPECT_THAT(command.unless(), ElementsAre("/usr/local/lib/muster/gpu-settings", "applied"));
  EXPECT_EQ(steps["GPUs are set at boot"].unit().name(), "muster-gpu-settings.service");
  EXPECT_EQ(steps.count("no settings of GPUs at boot"), 0u);
}

TEST_F(GpuSettingsTest, AnEmptyMapRemovesMustersFilesAndRunsNothing) {
  const auto steps = Steps("{}");
  EXPECT_EQ(steps.count("no settings of GPUs at boot"), 1u);
  for (const auto& [name, step] : steps) {
    EXPECT_FALSE(step.has_command()) << name;
    EXPECT_FALSE(step.has_unit()) << name;
  }
}

TEST_F(GpuSettingsTest, ANodeWithoutGpusIsLeftOut) {
  facts_["c001"] = {{"gpus", Value::array()}};
  EXPECT_TRUE(Steps("{ecc: true}").empty());
}

TEST_F(GpuSettingsTest, RefusesWhatGpusDoNotHave) {
  for (const char* settings : {
           "[ecc]",
           "{models: {h100: 500}}",
           "{power: 500}",
           "{compute_mode: exclusive}",
           "{power_limit_watts: 500 W}",
           "{power_limit_watts: 5}",
           "{graphics_clock_mhz: [1980, 1200]}",
           "{graphics_clock_mhz: [1, 2, 3]}",
           "{memory_clock_mhz: 99999}",
           "{ecc: on}",
           "{mig: 1g.10gb}",
           "{mig: {}}",
           "{mig: {1g.10gb: 8}}",
           "{mig: {3g.71gb: 2, 1g.18gb: 2}}",
           "{mig: {8g.71gb: 1}}",
           "{models: {H100: {ecc: true}}, gpus: {all: {ecc: true}}}",
           "{mig: {1g.18gb: 7}, models: {h200: {compute_mode: exclusive_process}}}",
           "{gpus: {0: {gpus: {}}}}",
       }) {
    EXPECT_THAT(Compile(settings).error, StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << settings;
  }
}

}  // namespace
}  // namespace muster::controller
