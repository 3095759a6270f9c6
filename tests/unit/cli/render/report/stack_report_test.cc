#include "cli/render/report/stack_report.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

v1::Stack Stack() {
  v1::Stack stack;
  stack.set_name("old");
  stack.set_path("playbooks/stacks/old.yaml");
  stack.set_description("what \x1b[31mDebian has");
  stack.add_os("debian 12");
  stack.add_os("rocky 9");
  stack.set_kernel_from("6.1");
  stack.set_kernel_below("6.2");
  v1::StackComponent& driver = *stack.add_components();
  driver.set_name("driver");
  driver.set_version("535.261.03");
  (*driver.mutable_details())["modules"] = "open";
  (*driver.mutable_details())["branch"] = "535";
  v1::StackPackage& package = *driver.add_packages();
  package.set_name("nvidia-driver");
  package.set_version("535.261.03-1");
  return stack;
}

TEST(StackReport, ListsStacks) {
  v1::ReadStacksResponse response;
  *response.add_stacks() = Stack();
  EXPECT_THAT(RenderStackList(response), Said());
}

TEST(StackReport, ShowsAStack) { EXPECT_THAT(RenderStack(Stack()), Said()); }

TEST(StackReport, ShowsNodesWithTheirProblems) {
  v1::CheckStacksResponse response;
  v1::NodeStack& good = *response.add_nodes();
  good.set_nodes("c[001-002]");
  good.set_stack("old");
  good.set_chosen_at("group_vars/gpu.yaml:1");
  v1::NodeStack& fresh = *response.add_nodes();
  fresh = good;
  fresh.set_nodes("c004");
  fresh.set_without_facts(true);
  v1::NodeStack& bad = *response.add_nodes();
  bad = good;
  bad.set_nodes("c003");
  bad.add_problems("playbooks/stacks/old.yaml:2: the stack is for debian 12, not for debian 13");
  bad.add_problems("playbooks/stacks/old.yaml:5: another");
  response.add_nodes()->set_nodes("login1");
  EXPECT_THAT(RenderStackCheck(response), Said());
}

TEST(StackReport, ShowsWhatChanges) {
  v1::DiffStacksResponse response;
  v1::StackDiff& first = *response.add_diffs();
  first.set_from("old");
  first.set_to("new");
  v1::StackChange& change = *first.add_changes();
  change.set_component("driver");
  change.set_what("version");
  change.set_before("535.1");
  change.set_after("550.1");
  v1::StackDiff& second = *response.add_diffs();
  second = first;
  second.set_nodes("c[001-003]");
  second.clear_from();
  second.mutable_changes(0)->set_reported(true);
  *second.add_changes() = change;
  second.mutable_changes(1)->clear_before();
  second.add_problems("playbooks/stacks/new.yaml:2: the stack is for debian 13");
  v1::StackDiff& third = *response.add_diffs();
  third.set_nodes("c004");
  third.set_from("new");
  third.set_to("new");
  EXPECT_THAT(RenderStackDiff(response), Said());
}

}  // namespace
}  // namespace muster::cli
