// Plays with `validate`, with which a playbook ends.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Said;
using ::testing::SizeIs;
using testing::StatusIs;

class EndingTest : public CompileTest {
 protected:
  EndingTest() {
    SetTasks("- {name: a, tags: [os], package: {name: x}}");
    site["playbooks/suites/acceptance.yaml"] = "read by others";
    site["playbooks/suites/quick.yaml"] = "";
  }

  void SetPlays(const std::string& plays) { site["playbooks/site.yaml"] = plays; }

  std::vector<PlaybookEnding> Endings(const std::string& limit = "",
                                      const std::vector<std::string>& tags = {}) {
    const auto playbook = Load();
    EXPECT_OK(playbook);
    if (!playbook.ok()) return {};
    const auto endings = SelectEndings(**playbook, inventory, limit, tags);
    EXPECT_OK(endings);
    return endings.value_or(std::vector<PlaybookEnding>());
  }
};

TEST_F(EndingTest, NamesASuiteAndItsNodes) {
  SetPlays(
      "- {play: p, hosts: all, roles: [r]}\n"
      "- {play: pass, hosts: 'compute,!c003', validate: acceptance}\n"
      "- {play: look, hosts: [login], validate: quick}\n");
  const auto endings = Endings();
  ASSERT_THAT(endings, SizeIs(2));
  EXPECT_EQ(endings[0].play, "pass");
  EXPECT_EQ(endings[0].suite, "acceptance");
  EXPECT_THAT(endings[0].nodes, ElementsAre("c001", "c002"));
  EXPECT_EQ(endings[1].suite, "quick");
  // It is not a play of the run.
  EXPECT_THAT(PlayNames(**Load()), ElementsAre("p"));
}

TEST_F(EndingTest, ObeysLimitAndTags) {
  SetPlays(
      "- {play: p, hosts: all, roles: [r]}\n"
      "- {play: pass, hosts: compute, validate: acceptance, tags: fit}\n");
  EXPECT_THAT(Endings("c00[1-2],login1").at(0).nodes, ElementsAre("c001", "c002"));
  EXPECT_THAT(Endings("login1"), IsEmpty());
  EXPECT_THAT(Endings("", {"fit"}), SizeIs(1));
  EXPECT_THAT(Endings("", {"os"}), IsEmpty());
  EXPECT_OK(CheckTags(**Load(), {"fit"}));
}

TEST_F(EndingTest, ErrorsNameThePlaceAndTheRemedy) {
  const std::string role_play = "- {play: p, hosts: all, roles: [r]}\n";
  struct Case {
    std::string plays;
    const char* error;
  };
  const Case cases[] = {
      {role_play + "- {play: q, hosts: all, validate: aceptance}\n",
       "playbooks/site.yaml:2:35: no suite 'aceptance' in playbooks/suites/ "
       "(did you mean 'acceptance'?)"},
      {role_play + "- {play: q, hosts: all, validate: ''}\n",
       "2:35: 'validate' must be plain text"},
      {role_play + "- {play: q, hosts: all, validate: [quick]}\n", "'validate' must be plain text"},
      {role_play + "- {play: q, hosts: all, validate: '{{ s }}'}\n",
       "'validate' must be plain text"},
      {role_play + "- {play: q, validate: quick}\n", "2:3: a play needs 'hosts'"},
      {role_play + "- {hosts: all, validate: quick}\n", "2:3: a play needs 'play'"},
      {role_play + "- {play: q, hosts: all, validate: quick, when: x}\n",
       "2:42: unknown key 'when'"},
      {role_play + "- {play: q, hosts: all, validate: quick, roles: [r]}\n",
       "2:49: a play has 'validate' or 'roles', not both: make two plays"},
      {role_play + "- {play: q, hosts: all, valdate: quick}\n", "(did you mean 'validate'?)"},
      {"- {play: q, hosts: all, validate: quick}\n", "1:3: no play before this one applies"},
      {role_play +
           "- {play: q, hosts: all, validate: quick}\n- {play: s, hosts: all, roles: [r]}\n",
       "3:3: a play with roles or tasks must precede plays with 'validate': move it above play "
       "'q'"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.plays);
    SetPlays(each.plays);
    EXPECT_THAT(Load().status(),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(each.error))));
  }
}

TEST_F(EndingTest, APlaybookElsewhereIsToldWhereSuitesAre) {
  const FileTree elsewhere = {
      {"books/site.yaml",
       "- {play: p, hosts: all, roles: [r]}\n- {play: q, hosts: all, validate: quick}\n"},
      {"books/roles/r/tasks/main.yaml", ""},
      {"books/suites/quick.yaml", ""}};
  EXPECT_THAT(LoadPlaybook(elsewhere, "books/site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(EndingTest, ANodeIsValidatedOnce) {
  SetPlays(
      "- {play: p, hosts: all, roles: [r]}\n"
      "- {play: look, hosts: c001, validate: quick, tags: quick}\n"
      "- {play: pass, hosts: compute, validate: acceptance, tags: whole}\n");
  const auto playbook = Load();
  ASSERT_OK(playbook);
  EXPECT_THAT(SelectEndings(**playbook, inventory, "", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Endings("", {"whole"}), SizeIs(1));
}

TEST_F(EndingTest, NodesThatNothingIsAppliedToAreNotValidatedInSilence) {
  SetPlays(
      "- {play: p, hosts: c001, roles: [r]}\n"
      "- {play: pass, hosts: compute, validate: acceptance}\n");
  const auto playbook = Load();
  ASSERT_OK(playbook);
  EXPECT_THAT(SelectEndings(**playbook, inventory, "", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(SelectEndings(**playbook, inventory, "c001", {}).value(), SizeIs(1));
}

}  // namespace
}  // namespace muster::controller
