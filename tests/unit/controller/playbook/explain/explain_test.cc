#include "controller/playbook/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "muster/v1/explain.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Said;
using testing::StatusIs;

class ExplainTest : public CompileTest {
 protected:
  ExplainTest() {
    SetTasks(
        "- name: motd\n"
        "  when: level == 'node'\n"
        "  notify: greet\n"
        "  file:\n"
        "    path: /etc/motd\n"
        "    content: \"{{ greeting }} of {{ secret('motd_key', bytes=8) }}\"\n"
        "\n"
        "- name: tools\n"
        "  loop: [vim, less]\n"
        "  when: item != 'less'\n"
        "  package: {name: \"{{ item }}\"}\n",
        "- {name: greet, command: {argv: [wall, hello]}}\n");
    site["playbooks/roles/r/defaults/main.yaml"] =
        "level: default\ngreeting: \"hello from {{ full_name }}\"\nport: {tcp: 22}\n"
        "token: \"{{ secret('token') }}\"\n";
  }

  ExplainInput Input(const std::string& node) {
    return {inventory, facts, node, options.extra_vars, existing};
  }
  absl::StatusOr<v1::ExplainVariableResponse> Variable(const std::string& name,
                                                       const std::string& node = "c001",
                                                       const std::string& role = "") {
    playbook_ = *Load();
    return ExplainVariable(Input(node), playbook_.get(), role, name);
  }
  absl::StatusOr<v1::ExplainStepResponse> Step(const std::string& name,
                                               const std::string& node = "c001") {
    playbook_ = *Load();
    return ExplainStep(Input(node), *playbook_, name);
  }

  std::map<std::string, std::string> existing = {{"token", "*"}};
  std::shared_ptr<const Playbook> playbook_;
};

std::vector<std::string> Lines(const v1::ExplainedVariable& variable) {
  std::vector<std::string> lines;
  for (const v1::VariableDefinition& definition : variable.definitions()) {
    lines.push_back(absl::StrCat(definition.level(), "|", definition.owner(), "|",
                                 definition.place(), "|", definition.written()));
  }
  return lines;
}

TEST_F(ExplainTest, ShowsTheFiveLevelsWithTheirPlaces) {
  options.extra_vars["level"] = "extra";
  const auto response = Variable("level");
  ASSERT_OK(response);
  ASSERT_EQ(response->variables_size(), 1);
  EXPECT_EQ(response->variables(0).value(), "\"extra\"");
  EXPECT_EQ(response->variables(0).role(), "r");
  EXPECT_THAT(Lines(response->variables(0)),
              ElementsAre("command line||-e|\"extra\"", "node vars|c001|cluster.yaml:10|\"node\"",
                          "group vars|gpu|cluster.yaml:7|\"group\"",
                          "inventory vars||cluster.yaml:15|\"inventory\"",
                          "role defaults|r|playbooks/roles/r/defaults/main.yaml:1|\"default\""));
  options.extra_vars.clear();
  EXPECT_EQ(Variable("level", "c002")->variables(0).value(), "\"group\"");
  EXPECT_EQ(Variable("level", "c003")->variables(0).value(), "\"inventory\"");
}

TEST_F(ExplainTest, ShowsTemplatesRawAndRendered) {
  const auto response = Variable("greeting");
  ASSERT_OK(response);
  EXPECT_EQ(response->variables(0).value(), "\"hello from c001.hpc1.example\"");
  EXPECT_EQ(response->variables(0).definitions(0).written(), "\"hello from {{ full_name }}\"");
  EXPECT_EQ(Variable("port.tcp")->variables(0).value(), "22");
  EXPECT_EQ(Variable("node.name")->variables(0).value(), "\"c001\"");
  EXPECT_EQ(Variable("node.name")->variables(0).definitions_size(), 0);
}

TEST_F(ExplainTest, NeverTellsASecretAndMakesNone) {
  const auto response = Variable("token");
  ASSERT_OK(response);
  EXPECT_EQ(response->variables(0).value(), "\"[secret token]\"");
  ASSERT_EQ(response->variables(0).secrets_size(), 1);
  EXPECT_TRUE(response->variables(0).secrets(0).exists());
  existing.clear();
  const auto missing = Variable("token");
  ASSERT_OK(missing);
  EXPECT_EQ(missing->variables(0).value(), "");
  EXPECT_THAT(missing->variables(0).error(), HasSubstr("there is no secret 'token'"));
  EXPECT_EQ(missing->variables(0).definitions_size(), 1);
}

TEST_F(ExplainTest, SaysThatARoleMayNotReadASecretAsTheApplyWould) {
  existing["token"] = "other";
  const auto response = Variable("token");
  ASSERT_OK(response);
  EXPECT_EQ(response->variables(0).value(), "");
  EXPECT_THAT(response->variables(0).error(), HasSubstr("muster secret roles token other,r"));
}

TEST_F(ExplainTest, UnknownNamesGetTheNearestOne) {
  EXPECT_THAT(Variable("greting").status(), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Variable("level", "c01").status(), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Variable("level", "c001", "rr").status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Step("r/mtod").status(), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(ExplainVariable(Input("c001"), nullptr, "", "greeting").status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_OK(ExplainVariable(Input("c001"), nullptr, "", "level"));
}

TEST_F(ExplainTest, StepShowsItsTaskAndWhatItBecomes) {
  const auto response = Step("r/motd");
  ASSERT_OK(response);
  ASSERT_EQ(response->steps_size(), 1);
  const v1::ExplainedStep& step = response->steps(0);
  EXPECT_EQ(step.play(), "p");
  EXPECT_EQ(step.step().source(), "roles/r/tasks/main.yaml:1");
  EXPECT_EQ(step.written(),
            "- name: motd\n"
            "  when: level == 'node'\n"
            "  notify: greet\n"
            "  file:\n"
            "    path: /etc/motd\n"
            "    content: \"{{ greeting }} of {{ secret('motd_key', bytes=8) }}\"");
  EXPECT_EQ(step.step().file().content(), "hello from c001.hpc1.example of [secret motd_key]");
  EXPECT_THAT(step.step().notify(), ElementsAre("r/handler/greet"));
  ASSERT_EQ(step.conditions_size(), 1);
  EXPECT_EQ(step.conditions(0).text(), "level == 'node'");
  EXPECT_EQ(step.conditions(0).value(), "true");
  ASSERT_EQ(step.secrets_size(), 1);
  EXPECT_EQ(step.secrets(0).name(), "motd_key");
  EXPECT_FALSE(step.secrets(0).exists());
}

TEST_F(ExplainTest, StepShowsWhyItIsSkipped) {
  const auto response = Step("motd", "c002");
  ASSERT_OK(response);
  EXPECT_EQ(response->steps(0).step().skip_reason(), "when: level == 'node' is false");
  EXPECT_EQ(response->steps(0).conditions(0).value(), "false");
}

TEST_F(ExplainTest, LoopsAndHandlersAreFoundByTheirNames) {
  const auto loop = Step("r/tools");
  ASSERT_OK(loop);
  ASSERT_EQ(loop->steps_size(), 2);
  EXPECT_EQ(loop->steps(0).step().package().names(0), "vim");
  EXPECT_EQ(loop->steps(0).conditions(0).value(), "for each item");
  const auto handler = Step("r/greet");
  ASSERT_OK(handler);
  EXPECT_TRUE(handler->steps(0).handler());
  EXPECT_THAT(handler->steps(0).written(), HasSubstr("argv: [wall, hello]"));
}

TEST_F(ExplainTest, ErrorsOfCompilingComeWhereTheStepCannotBeFound) {
  site["playbooks/roles/r/tasks/main.yaml"] = "- {name: a, hostname: {name: \"{{ nowhere }}\"}}\n";
  EXPECT_THAT(Step("r/a").status(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
