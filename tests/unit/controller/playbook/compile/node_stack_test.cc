// The stack of a node in playbooks.
#include "controller/playbook/compile/node_stack.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/value/folded_value.h"
#include "controller/playbook/model.h"
#include "muster/v1/facts.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kOldStack[] = R"(description: old
os: [debian 12]
kernel: {from: "6.1", below: "6.2"}
driver: {branch: "535", version: 535.261.03, modules: proprietary}
slurm: {version: 22.05.8}
)";
constexpr char kNewStack[] = R"(description: new
os: [debian 13]
kernel: {from: "6.12", below: "6.13"}
driver: {branch: "590", version: 590.44.01, modules: open}
)";

class NodeStackTest : public CompileTest {
 protected:
  NodeStackTest() {
    site["playbooks/stacks/old.yaml"] = kOldStack;
    site["playbooks/stacks/new.yaml"] = kNewStack;
    SetTasks("- name: t\n  file: {path: /t, content: \"{{ version }}\"}\n");
    site["playbooks/roles/r/defaults/main.yaml"] =
        "version: \"{{ stack.driver.version if stack is defined else 'none' }}\"\n";
    for (auto& [name, of_node] : facts) {
      of_node["os"] = {{"id", "debian"},
                       {"version_id", "12"},
                       {"kernel", "6.1.0-37-amd64"},
                       {"virtualization", "none"}};
    }
  }

  // The inventory with these variables for c001.
  void SetVars(const std::string& vars) {
    const auto parsed = ParseInventory(
        {{"cluster.yaml", "cluster: c\nnodes:\n  c001: {role: compute}\n  c002: {role: compute}\n"},
         {"node_vars/c001.yaml", vars}});
    ASSERT_OK(parsed);
    inventory = *parsed;
  }
  std::string Content() { return Compile().roles(0).steps(0).file().content(); }
  void SetGpus(const std::string& device_id) {
    facts["c001"]["pci_devices"] = {
        {{"vendor_id", "10de"}, {"device_id", device_id}, {"class_code", "030200"}},
        {{"vendor_id", "10de"}, {"device_id", "22a3"}, {"class_code", "068000"}},
        {{"vendor_id", "15b3"}, {"device_id", "1b06"}, {"class_code", "020700"}}};
  }
};

TEST_F(NodeStackTest, DefaultsReadIt) {
  SetVars("stack: old\n");
  EXPECT_EQ(Content(), "535.261.03");
  SetVars("stack: \"\"\n");
  EXPECT_EQ(Content(), "none");
  SetVars("a: 1\n");
  EXPECT_EQ(Content(), "none");
}

TEST_F(NodeStackTest, OneRunMayHaveAnother) {
  SetVars("stack: new\nchoice: old\n");
  options.extra_vars = {{"stack", "{{ choice }}"}};
  EXPECT_EQ(Content(), "535.261.03");
  options.extra_vars = {{"stack", ""}};
  EXPECT_EQ(Content(), "none");
}

TEST_F(NodeStackTest, VariablesMayBeMadeOfIt) {
  SetVars("stack: old\ngpu_driver_version: \"{{ stack.driver.version }}-1\"\n");
  site["playbooks/roles/r/defaults/main.yaml"] = "version: \"{{ gpu_driver_version }}\"\n";
  EXPECT_EQ(Content(), "535.261.03-1");
}

// Files that read no node, facts or item are rendered once for all nodes.
TEST_F(NodeStackTest, SharedFilesDifferByStack) {
  SetTasks("- name: t\n  file: {path: /t, template: t.j2}\n");
  site["playbooks/roles/r/templates/t.j2"] = "{{ stack.name if stack is defined else '-' }}";
  SetVars("stack: old\n");
  std::vector<std::string> contents;
  for (const NodePlan& plan : CompileFor({"c001", "c002"})) {
    ASSERT_OK(plan.error);
    contents.push_back(plan.plan->roles(0).steps(0).file().content());
  }
  EXPECT_THAT(contents, ElementsAre("old", "-"));
}

TEST_F(NodeStackTest, ARoleCannotSetIt) {
  site["playbooks/roles/r/defaults/main.yaml"] = "stack: old\n";
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(NodeStackTest, MistakesInTheChoiceHavePlaces) {
  SetVars("stack: od\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  SetVars("stack: [old]\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  SetVars("stack: \"{{ nothing }}\"\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  site.erase("playbooks/stacks/old.yaml");
  site.erase("playbooks/stacks/new.yaml");
  SetVars("stack: old\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(NodeStackTest, TasksWithoutRolesMayComeWithoutStacks) {
  const auto play = [](const char* content) {
    return absl::StrCat("- play: p\n  hosts: all\n  tasks:\n    - name: t\n      file: {path: /t, ",
                        "content: \"", content, "\"}\n");
  };
  SetVars("stack: old\n");
  site.clear();
  site["playbooks/site.yaml"] = play("x");
  EXPECT_EQ(Content(), "x");
  // It is not taken for a node without a stack that somebody meant to have one.
  site["playbooks/site.yaml"] = play("{{ stack.driver.version }}");
  EXPECT_FALSE(CompileError().ok());
  site["playbooks/stacks/new.yaml"] = kNewStack;
  site["playbooks/site.yaml"] = play("x");
  EXPECT_FALSE(CompileError().ok());
}

// Also in stacks that no node has.
TEST_F(NodeStackTest, AContradictionInsideAStackEndsTheLoad) {
  site["playbooks/stacks/new.yaml"] = absl::StrCat(kNewStack, "fabric_manager: {version: 590.1}\n");
  site["playbooks/roles/r/tasks/main.yaml"] = "- name: t\n  fille: {}\n";
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(NodeStackTest, AllContradictionsWithTheNodeAreReportedAtOnce) {
  SetVars("stack: new\ngpu_driver_branch: 535\n");
  SetGpus("1b06");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // The other nodes are not affected.
  const std::vector<NodePlan> plans = CompileFor({"c001", "c002"});
  EXPECT_FALSE(plans.at(0).error.ok());
  EXPECT_OK(plans.at(1).error);
}

TEST_F(NodeStackTest, TheCommandLineCannotContradictItEither) {
  SetVars("stack: old\n");
  options.extra_vars = {{"gpu_driver_version", "550.163.01"}};
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(NodeStackTest, AContainersKernelAndDevicesAreItsHosts) {
  SetVars("stack: old\n");
  SetGpus("2901");
  facts["c001"]["os"]["kernel"] = "6.18.44";
  EXPECT_FALSE(CompileError().ok());
  facts["c001"]["os"]["virtualization"] = "systemd-nspawn";
  EXPECT_EQ(Content(), "535.261.03");
}

TEST_F(NodeStackTest, TheNextKernelMustFitToo) {
  SetVars("stack: old\n");
  facts["c001"]["os"]["next_kernel"] = "6.1.0-40-amd64";
  EXPECT_EQ(Content(), "535.261.03");
  facts["c001"]["os"]["next_kernel"] = "6.12.9+bpo-amd64";
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

// The controller compiles with facts as the store keeps them.
TEST_F(NodeStackTest, FoldedFactsAreRead) {
  v1::Facts stored;
  stored.mutable_os()->set_id("debian");
  stored.mutable_os()->set_version_id("12");
  stored.mutable_os()->set_kernel("6.12.1");
  stored.mutable_os()->set_virtualization("none");
  stored.mutable_slurm()->set_version("22.05.8");
  stored.set_nvidia_driver_version("535.1");
  v1::PciDeviceFacts& gpu = *stored.add_pci_devices();
  gpu.set_vendor_id("10de");
  gpu.set_device_id("2901");
  gpu.set_class_code("030200");
  const std::optional<Value> folded = FoldMessage(v1::Facts(), stored.SerializeAsString());
  ASSERT_TRUE(folded.has_value());
  facts["c001"] = *folded;
  SetVars("stack: old\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(ReportedBy(facts, "c001").driver, "535.1");
  EXPECT_EQ(ReportedBy(facts, "c001").slurm, "22.05.8");
}

TEST_F(NodeStackTest, ModelsOfTheInventoryCount) {
  site["inventory/hardware/b200.yaml"] = "kind: gpu\nmatch: [NVIDIA B200]\ngeneration: blackwell\n";
  SetVars("stack: old\ngpu_model: NVIDIA B200\n");
  facts.clear();
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(NodeStackTest, AreListedForPeople) {
  SetVars("stack: old\ngpu_driver_branch: \"550\"\n");
  SetGpus("1b06");
  const auto stacks = stack::StackSet::Read(
      {{"playbooks/stacks/old.yaml", kOldStack}, {"playbooks/stacks/new.yaml", kNewStack}}, {});
  ASSERT_OK(stacks);
  const std::vector<const Node*> nodes = Select(inventory, "all").value();
  std::vector<NodeStack> checked = CheckStacks(*stacks, inventory, facts, nodes, nullptr);
  ASSERT_EQ(checked.size(), 2u);
  EXPECT_EQ(checked[0].stack, "old");
  EXPECT_EQ(checked[0].place, "node_vars/c001.yaml:1");
  EXPECT_THAT(checked[0].problems, ElementsAre(HasSubstr("gpu_driver_branch")));
  EXPECT_EQ(checked[1].stack, "");
  EXPECT_THAT(checked[1].problems, IsEmpty());
  checked = CheckStacks(*stacks, inventory, facts, nodes, stacks->Find("new"));
  EXPECT_EQ(checked[0].stack, "old");
  // System, kernel, age of the GPU, modules and the variable.
  EXPECT_EQ(checked[0].problems.size(), 5u);
  facts["c001"]["nvidia_driver_version"] = "535.1";
  facts["c001"]["slurm"] = {{"version", "22.05.8"}};
  EXPECT_EQ(ReportedBy(facts, "c001").driver, "535.1");
  EXPECT_EQ(ReportedBy(facts, "c001").slurm, "22.05.8");
  EXPECT_EQ(ReportedBy(facts, "c009").driver, "");
}

// The site that is shipped compiles with the stacks that are shipped.
TEST_F(NodeStackTest, TheShippedSiteHasTheShippedStacks) {
  site.clear();
  for (const char* folder : {"playbooks", "inventory/hardware"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      site[entry.path().string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
  }
  const auto playbook = Load();
  ASSERT_OK(playbook);
  for (const char* name : {"debian12", "debian13"}) {
    EXPECT_NE(playbook.value()->stacks->Find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace muster::controller
