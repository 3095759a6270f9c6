#include "controller/run/plan/playbook_compiler.h"

#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::StatusIs;

constexpr char kPath[] = "playbooks/site.yaml";

FileTree Site(const std::string& program) {
  return {{kPath,
           "- play: all\n"
           "  hosts: all\n"
           "  tasks:\n"
           "    - name: one\n"
           "      command: {changes: false, argv: ['" +
               program + "']}\n"},
          {"playbooks/other.yaml", "- play: other\n  hosts: all\n  tasks: []\n"}};
}

TEST(PlaybookCompilerTest, ParsesTheSameSiteOnce) {
  PlaybookCompiler compiler;
  const auto first = compiler.Load(Site("true"), kPath);
  ASSERT_OK(first);
  const auto again = compiler.Load(Site("true"), kPath);
  ASSERT_OK(again);
  EXPECT_EQ(*first, *again);
  const auto changed = compiler.Load(Site("false"), kPath);
  ASSERT_OK(changed);
  EXPECT_NE(*first, *changed);
}

TEST(PlaybookCompilerTest, AnotherPlaybookOfTheSameSiteIsAnother) {
  PlaybookCompiler compiler;
  const auto site = compiler.Load(Site("true"), kPath);
  ASSERT_OK(site);
  const auto other = compiler.Load(Site("true"), "playbooks/other.yaml");
  ASSERT_OK(other);
  EXPECT_EQ(compiler.Plays(**other), std::vector<std::string>{"other"});
}

TEST(PlaybookCompilerTest, AnErrorIsNotKept) {
  PlaybookCompiler compiler;
  EXPECT_THAT(compiler.Load(Site("true"), "playbooks/missing.yaml"),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  ASSERT_OK(compiler.Load(Site("true"), kPath));
}

}  // namespace
}  // namespace muster::controller
