#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/playbook/compiler.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

TEST(LoadPlaybook, FindsRolesBesideThePlaybook) {
  const FileTree site = {{"site.yaml", "- {play: p, hosts: all, roles: [r]}"},
                         {"roles/r/tasks/main.yaml", ""},
                         {"roles/r/README.md", "a role"}};
  const auto playbook = LoadPlaybook(site, "site.yaml");
  ASSERT_OK(playbook);
  EXPECT_THAT(PlayNames(**playbook), ElementsAre("p"));
}

TEST(LoadPlaybook, AnAbsentPlaybookIsNotFound) {
  const FileTree site = {{"playbooks/site.yaml", ""}};
  EXPECT_THAT(LoadPlaybook(site, "playbooks/sites.yaml").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "no file playbooks/sites.yaml (did you mean 'site.yaml'?)"));
}

TEST(LoadPlaybook, ARoleWithoutTasksIsAnError) {
  const FileTree site = {{"site.yaml", "- {play: p, hosts: all, roles: [r]}"},
                         {"roles/r/defaults/main.yaml", ""}};
  EXPECT_THAT(LoadPlaybook(site, "site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(LoadPlaybook, CollectsErrorsOfAllFiles) {
  const FileTree site = {
      {"site.yaml", "- {play: p, host: all, roles: [r]}\n- {play: q, hosts: all, roles: [r, s]}"},
      {"roles/r/tasks/main.yaml", "- {name: a, pakage: {name: x}}\n- {name: b, unit: {nam: x}}"},
      {"roles/r/templates/t.j2", "{{ x"}};
  EXPECT_THAT(LoadPlaybook(site, "site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(LoadPlaybook, ShowsTwentyErrorsAndCountsTheRest) {
  std::string tasks;
  for (int i = 0; i < 25; ++i) absl::StrAppend(&tasks, "- {name: a, pakage: {}}\n");
  const FileTree site = {{"site.yaml", "- {play: p, hosts: all, roles: [r]}"},
                         {"roles/r/tasks/main.yaml", tasks}};
  EXPECT_THAT(LoadPlaybook(site, "site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(Said(), Not(HasSubstr("main.yaml:21:13")))));
}

TEST(LoadPlaybook, ShowsTheLineUnderAnError) {
  const FileTree site = {{"site.yaml", "- {play: p, hosts: all, roles: [r]}"},
                         {"roles/r/tasks/main.yaml", "- name: a\n  package: {nmae: x}\n"}};
  EXPECT_THAT(LoadPlaybook(site, "site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "roles/r/tasks/main.yaml:2:13: unknown key 'nmae' in 'package' "
                       "(did you mean 'name'?)\n"
                       "  2 |   package: {nmae: x}\n"
                       "    |             ^"));
}

TEST(LoadPlaybook, PlacesErrorsInsideTemplatesOfBlocks) {
  const FileTree site = {
      {"site.yaml", "- {play: p, hosts: all, roles: [r]}"},
      {"roles/r/tasks/main.yaml",
       "- name: a\n  file:\n    path: /a\n    content: |\n      one\n      {{ two three }}\n"}};
  EXPECT_THAT(LoadPlaybook(site, "site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(LoadPlaybook, IncludesAreBounded) {
  FileTree site = {{"site.yaml", "- {play: p, hosts: all, roles: [r]}"}};
  for (int i = 0; i < 10; ++i) {
    std::string text;
    for (int j = 0; j < 10; ++j) absl::StrAppend(&text, "- include: ", i + 1, ".yaml\n");
    site[absl::StrCat("roles/r/tasks/", i == 0 ? "main" : absl::StrCat(i), ".yaml")] = text;
  }
  EXPECT_THAT(LoadPlaybook(site, "site.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
