// The examples of docs/playbook.md are playbooks that load and compile.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "controller/playbook/schema/schema.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

std::string ReadPage() {
  std::ifstream in("docs/playbook.md");
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// The text of each block of YAML.
std::vector<std::string> Examples() {
  const std::string page = ReadPage();
  std::vector<std::string> blocks;
  const std::vector<std::string> parts = absl::StrSplit(page, "```yaml\n");
  for (size_t i = 1; i < parts.size(); ++i) {
    blocks.push_back(parts[i].substr(0, parts[i].find("```")));
  }
  return blocks;
}

// "playbooks/site.yaml" for a block that begins with a comment of that path; "" for a list of
// tasks.
std::string PathOf(absl::string_view block) {
  if (!absl::ConsumePrefix(&block, "# playbooks/")) return "";
  return absl::StrCat("playbooks/", block.substr(0, block.find('\n')));
}

class DocumentationTest : public CompileTest {
 protected:
  DocumentationTest() {
    secrets.secrets = {
        {"ann_password_hash", "$6$x"}, {"db_password", "p"}, {"domain_password", "p"}, {"x", "p"}};
    facts["c001"] = {{"memory", {{"swap_mib", 1}}}, {"os", {{"id", "debian"}}}, {"gpus", {1}}};
    options.offer = {
        "0.1.0", "login1", {{"amd64", {"http://login1:7480/agent.deb", std::string(64, 'a')}}}};
    options.extra_vars = {{"third_key", "KEY"}, {"banned", Value::array()}, {"driver", "550"}};
  }
};

TEST_F(DocumentationTest, TheTourIsASite) {
  for (const char* role : {"base", "cuda_driver"}) {
    site[absl::StrCat("playbooks/roles/", role, "/tasks/main.yaml")] = "";
  }
  for (const std::string& block : Examples()) {
    if (!PathOf(block).empty()) site[PathOf(block)] = block;
  }
  const v1::Plan plan = Compile(1);
  EXPECT_EQ(plan.roles_size(), 4);
  EXPECT_EQ(plan.roles(1).steps(1).notify(0), "munge/handler/restart munge");
}

TEST_F(DocumentationTest, APlaybookMayEndWithASuite) {
  site["playbooks/roles/base/tasks/main.yaml"] = "";
  site["playbooks/suites/acceptance.yaml"] = "";
  for (const std::string& block : Examples()) {
    if (PathOf(block) == "playbooks/pass.yaml") site["playbooks/pass.yaml"] = block;
  }
  const auto playbook = LoadPlaybook(site, "playbooks/pass.yaml");
  ASSERT_OK(playbook);
  const auto endings = SelectEndings(**playbook, inventory, "", {});
  ASSERT_OK(endings);
  ASSERT_EQ(endings->size(), 1u);
  EXPECT_EQ(endings->at(0).nodes.size(), 3u);
}

TEST_F(DocumentationTest, TaskExamplesCompile) {
  int examples = 0;
  for (const std::string& block : Examples()) {
    if (!PathOf(block).empty()) continue;
    SCOPED_TRACE(block);
    SetTasks(block);
    site["playbooks/roles/r/tasks/debian.yaml"] = "- {name: x, package: {name: x}}";
    site["playbooks/roles/r/templates/slurm.conf.j2"] = "ClusterName={{ cluster }}\n";
    site["playbooks/roles/r/files/report.sh"] = "#!/bin/sh\n";
    site["playbooks/roles/r/files/site.asc"] = "KEY";
    site["playbooks/roles/r/files/tools.tar.gz"] = "an archive";
    const v1::Plan plan = Compile();
    ASSERT_EQ(plan.roles_size(), 1);
    for (const v1::Step& step : plan.roles(0).steps()) EXPECT_EQ(step.skip_reason(), "");
    ++examples;
  }
  EXPECT_GT(examples, 12);
}

TEST_F(DocumentationTest, EveryParameterHasAnExample) {
  std::string tasks;
  for (const std::string& block : Examples()) tasks += block;
  for (const playbook::ResourceType& type : playbook::ResourceTypes()) {
    EXPECT_THAT(ReadPage(), ::testing::HasSubstr(absl::StrCat("### ", type.key, "\n")));
    for (const playbook::Param& param : type.params) {
      EXPECT_THAT(tasks, ::testing::HasSubstr(absl::StrCat(param.key, ":"))) << type.key;
      for (const playbook::Param& part : param.elements) {
        EXPECT_THAT(tasks, ::testing::HasSubstr(absl::StrCat(part.key, ":"))) << param.key;
      }
    }
  }
}

}  // namespace
}  // namespace muster::controller
