// Lists of maps: the entries of whole sets, even if they are known only for each node.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Said;
using testing::StatusIs;

class SetsTest : public CompileTest {
 protected:
  // The error for a set of files whose list is this expression.
  absl::Status ErrorOf(const std::string& list) {
    SetTasks("- name: a\n  files_in:\n    path: /d\n    files: \"{{ " + list + " }}\"\n");
    return CompileError();
  }
};

TEST_F(SetsTest, EntriesHoldTemplatesAndSecrets) {
  secrets.secrets = {{"s", "hidden"}};
  site["playbooks/roles/r/templates/t.j2"] = "{{ node.name }} {{ item }}\n";
  SetTasks(
      "- name: a\n  loop: [x]\n  files_in:\n    path: /d\n    files:\n"
      "      - {name: \"{{ item }}.conf\", template: t.j2}\n"
      "- name: b\n  files_in:\n    path: /e\n    files:\n"
      "      - {name: s, content: \"{{ secret('s') }}\"}\n");
  const v1::Plan plan = Compile();
  const v1::Step& open = plan.roles(0).steps(0);
  EXPECT_EQ(open.files_in().files(0).name(), "x.conf");
  EXPECT_EQ(open.files_in().files(0).content(), "c001 x\n");
  EXPECT_FALSE(open.sensitive());
  const v1::Step& secret = plan.roles(0).steps(1);
  EXPECT_EQ(secret.files_in().files(0).content(), "hidden");
  EXPECT_TRUE(secret.sensitive());
}

TEST_F(SetsTest, LargeContentsBecomeBlobs) {
  const std::string large(70000, 'x');
  site["playbooks/roles/r/files/large"] = large;
  SetTasks("- {name: a, files_in: {path: /d, files: [{name: l, source: large}]}}");
  const std::vector<NodePlan> plans = CompileFor({"c001"});
  ASSERT_EQ(plans.size(), 1u);
  ASSERT_NE(plans[0].plan, nullptr) << plans[0].error;
  const v1::FileSetEntry& file = plans[0].plan->roles(0).steps(0).files_in().files(0);
  EXPECT_EQ(file.content(), "");
  EXPECT_EQ(file.blob_sha256(), Sha256Hex(large));
  EXPECT_EQ(file.blob_size(), large.size());
  EXPECT_EQ(*plans[0].blobs.at(file.blob_sha256()), large);
}

TEST_F(SetsTest, NamesWhatIsWrongWithTheEntriesOfAnExpression) {
  const struct {
    const char* list;
    const char* says;
  } kRows[] = {
      {"cluster", "'files' must be a list of maps"},
      {"['x']", "'files' must be a list of maps, not \"x\""},
      {"[{'name': 'a', 'contnt': 'x'}]",
       "unknown key 'contnt' in an entry of 'files' (did you mean 'content'?)"},
      {"[{'content': 'x'}]", "an entry of 'files' lacks 'name'"},
      {"[{'name': 'a'}]", "needs exactly one of content, template or source"},
      {"[{'name': 'a', 'template': 't.j2'}]", "has to be written out where its entries have"},
      {"[{'name': 'a/b', 'content': 'x'}]", "'name' must be one name without '/'"},
      {"[{'name': 'a', 'content': 'x'}, {'name': 'a', 'content': 'y'}]",
       "has a second entry with name 'a'"},
  };
  for (const auto& row : kRows) {
    EXPECT_THAT(ErrorOf(row.list),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(row.says))))
        << row.list;
  }
}

TEST_F(SetsTest, NamesThePlaceOfAnEntryThatIsWrittenOut) {
  SetTasks(
      "- name: a\n  mounts:\n    name: s\n    mounts:\n"
      "      - {path: /a, source: s, type: t}\n"
      "      - {path: \"{{ cluster }}\", source: s, type: t}\n");
  EXPECT_THAT(CompileError(), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
