// What a file holds: exactly one of content, template and source, decided on each node.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;

class FileContentsTest : public CompileTest {
 protected:
  FileContentsTest() {
    site["playbooks/roles/r/templates/t.j2"] = "of the template";
    site["playbooks/roles/r/files/f"] = "of the source";
  }

  void SetFile(const std::string& params) {
    SetTasks(absl::StrCat("- name: a\n  file: {path: /etc/a, ", params, "}\n"));
  }
  void SetEntry(const std::string& params) {
    SetTasks(
        absl::StrCat("- name: a\n  files_in:\n    path: /etc/a.d\n    files:\n      - {name: x, ",
                     params, "}\n"));
  }
  std::string FileContent() { return Compile().roles(0).steps(0).file().content(); }
  std::string EntryContent() { return Compile().roles(0).steps(0).files_in().files(0).content(); }
  void ExpectErrorAt(const std::string& place) {
    const absl::Status error = CompileError();
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << error;
    EXPECT_THAT(std::string(error.message()),
                HasSubstr(absl::StrCat("playbooks/roles/r/tasks/main.yaml:", place, ": ")));
  }
};

TEST_F(FileContentsTest, NoneIsNotGiven) {
  const std::string none = "\"{{ missing | default(none) }}\"";
  const std::string content = "\"{{ 'of the value' }}\"";
  for (const bool is_file : {true, false}) {
    SCOPED_TRACE(is_file);
    const auto holds = [&](const std::string& params) {
      is_file ? SetFile(params) : SetEntry(params);
      return is_file ? FileContent() : EntryContent();
    };
    EXPECT_EQ(holds(absl::StrCat("content: ", content, ", source: ", none)), "of the value");
    EXPECT_EQ(holds(absl::StrCat("source: ", none, ", content: ", content)), "of the value");
    EXPECT_EQ(holds(absl::StrCat("content: ", none, ", template: t.j2")), "of the template");
    EXPECT_EQ(holds(absl::StrCat("template: ", none, ", source: f")), "of the source");
    EXPECT_EQ(holds("content: \"{{ '' }}\""), "") << "empty is something else";
  }
}

TEST_F(FileContentsTest, APresentFileHoldsExactlyOneContent) {
  const std::string none = "\"{{ missing | default(none) }}\"";
  const std::string content = "\"{{ 'of the value' }}\"";
  for (const std::string& params :
       {absl::StrCat("content: ", none), absl::StrCat("content: ", none, ", template: ", none),
        absl::StrCat("content: ", content, ", source: f"),
        absl::StrCat("template: \"{{ 't.j2' }}\", content: ", content)}) {
    SCOPED_TRACE(params);
    SetFile(params);
    ExpectErrorAt("2:3");
    SetEntry(params);
    ExpectErrorAt("5:9");
  }
  SetFile("state: \"{{ 'present' }}\"");
  ExpectErrorAt("2:3");
}

TEST_F(FileContentsTest, AnAbsentFileHoldsNothing) {
  SetFile("state: \"{{ 'absent' }}\"");
  EXPECT_EQ(Compile().roles(0).steps(0).file().state(), v1::PRESENCE_ABSENT);
  SetFile("state: \"{{ 'absent' }}\", content: \"{{ missing | default(none) }}\"");
  EXPECT_EQ(Compile().roles(0).steps(0).file().state(), v1::PRESENCE_ABSENT);
}

}  // namespace
}  // namespace muster::controller
