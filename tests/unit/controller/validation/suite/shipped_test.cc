// The suites and hardware files that come with Muster, checked against the real catalogue.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/suite.h"
#include "controller/validation/verdict/hardware_class.h"
#include "controller/validation/verdict/verdict.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::testing::IsEmpty;

std::map<std::string, std::string> ReadFolder(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream in(entry.path());
    files[entry.path().string()] =
        std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  return files;
}

std::map<std::string, Suite> Suites() {
  std::map<std::string, Suite> suites;
  for (const auto& [path, text] : ReadFolder("playbooks/suites")) {
    const auto suite = ParseSuite(path, text, checks::Checks());
    EXPECT_OK(suite);
    if (suite.ok()) suites[suite->name] = *suite;
  }
  return suites;
}

TEST(ShippedSuites, AreThere) {
  const auto suites = Suites();
  for (const char* name : {"quick", "network", "acceptance", "burnin"}) {
    EXPECT_EQ(suites.count(name), 1u) << name;
  }
}

TEST(ShippedSuites, AdmitByThoseThatTestTheWholeNode) {
  for (const auto& [name, suite] : Suites()) {
    EXPECT_EQ(suite.admits, name == "acceptance" || name == "burnin") << name;
  }
}

TEST(ShippedSuites, DisksAreMeasuredBeforeService) {
  for (const auto& [name, suite] : Suites()) {
    bool measures = false;
    for (const SuiteStage& stage : suite.stages) {
      for (const SuiteCheck& check : stage.checks) {
        if (check.spec->name != "disk") continue;
        measures = true;
        EXPECT_THAT(check.when, ::testing::ElementsAre(Condition::kDisks)) << name;
      }
    }
    EXPECT_EQ(measures, suite.admits) << name;
  }
}

TEST(ShippedSuites, QuickTakesLessThanAMinuteOnEveryNode) {
  absl::Duration most;
  const Suite quick = Suites()["quick"];
  for (const SuiteStage& stage : quick.stages) {
    absl::Duration longest, sum;
    for (const SuiteCheck& check : stage.checks) {
      const auto parameters = checks::Parameters::Parse(*check.spec, check.parameters);
      ASSERT_OK(parameters);
      // The time that it measures, twice for both directions of a pair, and that it waits after a
      // job until the GPUs have cooled. A limit is for errors.
      const int directions = check.spec->scope == checks::Scope::kPair ? 2 : 1;
      absl::Duration takes = absl::Seconds(5);
      for (const char* part : {"duration", "warmup", "latency-duration", "cool-down"}) {
        if (parameters->texts().count(part) == 0) continue;
        takes += directions * absl::Seconds(parameters->OptionalNumber(part).value_or(0));
      }
      takes *= static_cast<int64_t>(std::max<size_t>(1, check.max_rounds));
      longest = std::max(longest, takes);
      sum += takes;
    }
    most += stage.side_by_side ? longest : sum;
  }
  EXPECT_LT(most, absl::Minutes(1));
}

TEST(ShippedSuites, FitTenThousandNodes) {
  for (const auto& [name, suite] : Suites()) {
    // A ring of all of them would be too long.
    const bool has_ring =
        std::any_of(suite.stages.begin(), suite.stages.end(), [](const SuiteStage& stage) {
          return std::any_of(stage.checks.begin(), stage.checks.end(), [](const SuiteCheck& check) {
            return check.spec->scope == checks::Scope::kGroup;
          });
        });
    EXPECT_EQ(ValidationState::CheckSize(suite, has_ring ? 4096 : 10'000, 16), "") << name;
    EXPECT_EQ(ValidationState::CheckSize(suite, 256, 0), "") << name;
  }
}

TEST(ShippedHardware, IsCleanAndKnowsTheExamples) {
  const auto library = ParseHardware(ReadFolder("inventory/hardware"), checks::Checks());
  ASSERT_OK(library);
  for (const char* model : {"NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce GTX 1080 Ti",
                            "Tesla P100-SXM2-16GB", "Tesla V100-PCIE-32GB", "NVIDIA A100-SXM4-80GB",
                            "NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe",
                            "NVIDIA H200", "Tesla T4", "NVIDIA L4", "NVIDIA L40S"}) {
    EXPECT_NE(library->Find("gpu", model), nullptr) << model;
  }
  for (const double gbits : {1, 10, 25, 100}) {
    EXPECT_NE(library->Find("nic", PortName("ethernet", gbits)), nullptr) << gbits;
  }
  for (const auto& [path, text] : ReadFolder("inventory/examples")) {
    const auto inventory = ParseInventory({{path, text}});
    ASSERT_OK(inventory);
    std::vector<std::string> unknown = CheckHardwareOf(*inventory, *library, {});
    // For InfiniBand there is no measured floor to write down.
    unknown.erase(std::remove_if(unknown.begin(), unknown.end(),
                                 [](const std::string& sentence) {
                                   return absl::StrContains(sentence, "'infiniband FDR'");
                                 }),
                  unknown.end());
    EXPECT_THAT(unknown, IsEmpty()) << path;
  }
}

// They are counted since the driver was loaded: months ago, on a node that works.
TEST(ShippedHardware, PcieReplaysOfMonthsAreNoFault) {
  const auto library = ParseHardware(ReadFolder("inventory/hardware"), checks::Checks()).value();
  const checks::CheckSpec& spec = *checks::FindCheck("gpu-inventory");
  for (const HardwareModel& model : library.models()) {
    if (model.kind != "gpu") continue;
    v1::CheckResult result;
    result.set_check("gpu-inventory");
    result.set_outcome(v1::OUTCOME_PASS);
    v1::Subject& gpu = *result.add_subjects();
    gpu.set_id("GPU-0");
    gpu.set_kind("gpu");
    gpu.set_model(std::string(absl::StripSuffix(model.match[0], "*")));
    v1::Metric& replays = *result.add_metrics();
    replays.set_name("pcie_replays");
    replays.set_subject("GPU-0");
    replays.set_unit("1");
    replays.set_value(500);
    const v1::CheckVerdict verdict =
        JudgeCheck(result, spec, MakeExpectation(HardwareClass(), library), {});
    EXPECT_EQ(verdict.outcome(), v1::OUTCOME_PASS) << model.name << ": " << verdict.reason();
  }
}

// The inventory need not name the model.
TEST(ShippedHardware, ASlowSlotFailsByTheNameThatTheDriverReports) {
  const auto library = ParseHardware(ReadFolder("inventory/hardware"), checks::Checks()).value();
  v1::CheckResult result;
  result.set_check("gpu-copy");
  result.set_outcome(v1::OUTCOME_PASS);
  v1::Subject& gpu = *result.add_subjects();
  gpu.set_id("GPU-0");
  gpu.set_kind("gpu");
  gpu.set_model("NVIDIA H100 80GB HBM3");
  for (const char* name : {"host_to_gpu_gbytes_per_s", "gpu_to_host_gbytes_per_s"}) {
    v1::Metric& rate = *result.add_metrics();
    rate.set_name(name);
    rate.set_subject("GPU-0");
    rate.set_unit("GB/s");
    rate.set_value(12);
  }
  const v1::CheckVerdict verdict = JudgeCheck(result, *checks::FindCheck("gpu-copy"),
                                              MakeExpectation(HardwareClass(), library), {});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
}

TEST(ShippedHardware, UniversityBurnsThreeNodesARackAtOnce) {
  const std::string path = "inventory/examples/university-2080ti/cluster.yaml";
  const auto inventory = ParseInventory({{path, ReadFolder("inventory/examples")[path]}}).value();
  const auto library = ParseHardware(ReadFolder("inventory/hardware"), checks::Checks()).value();
  std::vector<std::string> tested;
  for (const Node& node : inventory.nodes()) {
    if (node.role == NodeRole::kCompute) tested.push_back(node.name);
  }
  PowerBudget budget(RackPowers(inventory, tested, library, {}).value(), {1, absl::ZeroDuration()});
  int started = 0;
  for (const std::string& name : tested) {
    const Node& node = *inventory.FindNode(name);
    const HardwareClass hardware = ReadHardwareClass(inventory, node).value();
    budget.AddNode(name, node.rack, PowerOf(hardware, {}, library));
  }
  for (const std::string& name : tested) {
    started += budget.TryStart(name, {{name, checks::Load::kGpu}}, absl::UnixEpoch());
  }
  EXPECT_EQ(started, 6);
  EXPECT_DOUBLE_EQ(budget.RackWatts("r1"), 3 * 1600 + kDefaultCpuWatts);  // and the login node
}

TEST(ShippedHardware, MachinesOfEightGpusDrawWhatTheirMakerSays) {
  const auto library = ParseHardware(ReadFolder("inventory/hardware"), checks::Checks()).value();
  HardwareClass machine;
  machine.gpu_count = 8;
  for (const auto& [model, least] :
       std::map<std::string, double>{{"NVIDIA H100 80GB HBM3", 10'000},
                                     {"NVIDIA H200", 10'000},
                                     {"NVIDIA A100-SXM4-80GB", 6000}}) {
    machine.gpu_model = model;
    EXPECT_GE(PowerOf(machine, {}, library).full, least) << model;
  }
}

// Its racks feed less than all their nodes could draw.
TEST(ShippedHardware, CarmeTestsASingleNodeAndAPairWhileTheOthersWork) {
  const std::string path = "inventory/examples/carme-1080ti/cluster.yaml";
  const auto inventory = ParseInventory({{path, ReadFolder("inventory/examples")[path]}}).value();
  const auto library = ParseHardware(ReadFolder("inventory/hardware"), checks::Checks()).value();
  PowerBudget budget(RackPowers(inventory, {"c001", "c002"}, library, {}).value());
  for (const char* name : {"c001", "c002"}) {
    const Node& node = *inventory.FindNode(name);
    const HardwareClass hardware = ReadHardwareClass(inventory, node).value();
    budget.AddNode(name, node.rack, PowerOf(hardware, {}, library));
  }
  const std::vector<PowerBudget::Member> alone = {{"c001", checks::Load::kGpu}};
  const std::vector<PowerBudget::Member> pair = {{"c001", checks::Load::kNetwork},
                                                 {"c002", checks::Load::kNetwork}};
  for (const auto& members : {alone, pair}) {
    EXPECT_EQ(budget.WhyNever(members), "");
    EXPECT_TRUE(budget.TryStart("id", members, absl::UnixEpoch()));
    budget.Finish("id");
  }
}

// The documentation's examples, which people copy, work.
TEST(Documentation, ExamplesAreRead) {
  std::ifstream in("docs/validation.md");
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  int suites = 0, files = 0;
  const std::vector<std::string> parts = absl::StrSplit(page, "```");
  for (size_t i = 1; i < parts.size(); i += 2) {
    absl::string_view text = parts[i];
    if (!absl::ConsumePrefix(&text, "yaml\n")) continue;
    if (absl::StrContains(text, "\nstages:")) {
      EXPECT_OK(ParseSuite("playbooks/suites/acceptance.yaml", text, checks::Checks()));
      ++suites;
    } else if (absl::StartsWith(text, "kind:")) {
      EXPECT_OK(
          ParseHardware({{"inventory/hardware/h100.yaml", std::string(text)}}, checks::Checks()));
      ++files;
    }
  }
  EXPECT_EQ(suites, 1);
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace muster::controller::validation
