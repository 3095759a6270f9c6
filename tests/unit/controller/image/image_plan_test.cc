#include "controller/image/image_plan.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::image {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kDefinition[] =
    "kind: ram\ndistribution: debian12\nkernel: k\nroles: [base, keys]\ngroups: [gpu]\n";

muster::image::Definition Definition(const std::string& text = kDefinition) {
  auto definition = muster::image::ParseDefinition("worker", "images/worker/image.yaml", text);
  EXPECT_OK(definition);
  return *definition;
}

FileTree Site() {
  return {
      {"playbooks/roles/base/defaults/main.yaml", "word: of the role\n"},
      {"playbooks/roles/base/tasks/main.yaml",
       "- name: greeting\n"
       "  file: {path: /etc/greeting, content: \"{{ word }} {{ node.name }} {{ facts.os.id }}\"}\n"
       "- name: not here\n"
       "  when: facts.os.id == 'plan9'\n"
       "  file: {path: /etc/plan9, content: x}\n"},
      {"playbooks/roles/keys/tasks/main.yaml",
       "- name: folder\n"
       "  directory: {path: /etc/keys}\n"
       "- name: key\n"
       "  file: {path: /etc/keys/key, content: \"{{ secret('a_key', bytes=32) }}\"}\n"
       "- name: hash\n"
       "  file: {path: /etc/keys/line, content: \"key={{ secret('a_key', bytes=32) }}!\"}\n"}};
}

std::map<std::string, std::string> Inventory(const std::string& more = "") {
  return {{"cluster.yaml",
           "cluster: c\nnodes: {c001: {role: compute}}\n"
           "groups: {gpu: {vars: {word: of the group}}}\n" +
               more}};
}

nlohmann::ordered_json Facts() { return {{"os", {{"id", "debian"}}}}; }

absl::StatusOr<ImagePlan> Plan(const muster::image::Definition& definition) {
  return PlanImage(definition, Site(), Inventory(), Facts(), {}, absl::UnixEpoch());
}

const v1::RolePlan& Role(const ImagePlan& plan, int index) { return plan.plan.roles(index); }

TEST(PlanImage, CompilesTheRolesInTheirOrderWithTheGroupsVariables) {
  const auto plan = Plan(Definition());
  ASSERT_OK(plan);
  ASSERT_EQ(plan->plan.roles_size(), 2);
  EXPECT_EQ(Role(*plan, 0).name(), "base");
  ASSERT_EQ(Role(*plan, 0).steps_size(), 1);
  EXPECT_EQ(Role(*plan, 0).steps(0).file().content(), "of the group muster-image debian");
  EXPECT_EQ(plan->plan.node_uuid(), kRootNode);
  EXPECT_EQ(plan->plan.sequence(), 1u);
  EXPECT_FALSE(plan->plan.digest().empty());
}

TEST(PlanImage, TheDefinitionsVariablesWin) {
  const auto plan = Plan(Definition(absl::StrCat(kDefinition, "variables: {word: mine}\n")));
  ASSERT_OK(plan);
  EXPECT_EQ(Role(*plan, 0).steps(0).file().content(), "mine muster-image debian");
}

TEST(PlanImage, LeavesOutWhatHasASecret) {
  const auto plan = Plan(Definition());
  ASSERT_OK(plan);
  ASSERT_EQ(Role(*plan, 1).steps_size(), 1);
  EXPECT_EQ(Role(*plan, 1).steps(0).step_id(), "keys/folder");
  EXPECT_THAT(plan->left_out, ElementsAre(Pair("keys/key", _), Pair("keys/hash", _)));
  EXPECT_TRUE(plan->blobs.empty());
}

TEST(PlanImage, DigestsOfRolesAreThoseOfTheirSteps) {
  const auto one = Plan(Definition()), two = Plan(Definition());
  const auto other = Plan(Definition(absl::StrCat(kDefinition, "variables: {word: mine}\n")));
  ASSERT_OK(one);
  ASSERT_OK(two);
  ASSERT_OK(other);
  EXPECT_EQ(one->roles, two->roles);
  EXPECT_NE(one->roles[0], other->roles[0]);
  EXPECT_EQ(one->roles[1], other->roles[1]);
}

TEST(PlanImage, WithoutRolesThereIsNothingToDo) {
  const auto plan = Plan(Definition("kind: ram\ndistribution: debian12\nkernel: k\n"));
  ASSERT_OK(plan);
  EXPECT_EQ(plan->plan.roles_size(), 0);
  EXPECT_FALSE(plan->plan.digest().empty());
}

TEST(CheckImage, BlamesTheWordOfTheDefinition) {
  const auto expect_at = [](const std::string& text, const std::string& place) {
    const absl::Status status = CheckImage(Definition(text), Site(), Inventory());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                StartsWith(absl::StrCat("images/worker/image.yaml:", place)));
  };
  const std::string least = "kind: ram\ndistribution: debian12\nkernel: k\n";
  expect_at(least + "roles: [base, bas]\n", "4:15: ");
  expect_at(least + "groups: [cpu]\n", "4:10: ");
  expect_at(least + "groups: [compute]\n", "4:10: ");
  EXPECT_OK(CheckImage(Definition(), Site(), Inventory()));
}

TEST(CheckImage, ANodeCannotHaveTheRootsName) {
  std::map<std::string, std::string> inventory = Inventory();
  inventory["more.yaml"] = "nodes: {muster-image: {role: compute}}\n";
  EXPECT_EQ(CheckImage(Definition(), Site(), inventory).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::controller::image
