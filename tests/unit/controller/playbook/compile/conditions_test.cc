// Conditions whose value is text.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;

// "no" from a site's variables turned on what it was meant to turn off.
TEST_F(CompileTest, ATextThatSaysYesOrNoIsNoCondition) {
  SetTasks("- name: a\n  when: wanted\n  package: {name: x}\n");
  for (const char* word : {"no", "No", "yes", "on", "OFF", "true", "False", " false\n"}) {
    SCOPED_TRACE(word);
    options.extra_vars["wanted"] = word;
    const absl::Status error = CompileError();
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(error.message()), HasSubstr("playbooks/roles/r/tasks/main.yaml:2:9: "));
  }
  options.extra_vars["wanted"] = "security";
  EXPECT_EQ(Compile().roles(0).steps(0).skip_reason(), "");
  for (const Value& value : {Value(""), Value(false), Value(nullptr)}) {
    options.extra_vars["wanted"] = value;
    EXPECT_NE(Compile().roles(0).steps(0).skip_reason(), "") << value;
  }
}

TEST_F(CompileTest, ATextThatSaysNoIsAConditionByTheFilter) {
  SetTasks("- name: a\n  when: wanted | bool\n  package: {name: x}\n");
  options.extra_vars["wanted"] = "no";
  EXPECT_NE(Compile().roles(0).steps(0).skip_reason(), "");
  options.extra_vars["wanted"] = "yes";
  EXPECT_EQ(Compile().roles(0).steps(0).skip_reason(), "");
}

TEST_F(CompileTest, AnAssertionIsNoTextThatSaysYesOrNo) {
  SetTasks("- name: a\n  assert:\n    that: [node.name != '', wanted]\n    message: m\n");
  options.extra_vars["wanted"] = "no";
  EXPECT_THAT(std::string(CompileError().message()),
              HasSubstr("playbooks/roles/r/tasks/main.yaml:3:29: "));
}

}  // namespace
}  // namespace muster::controller
