#include "cli/image/role_layers.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using ::testing::ElementsAre;

constexpr char kPlan[] = R"(
  plan_id: "p" digest: "of the whole"
  roles { name: "slurm" needs: "munge" steps { step_id: "slurm/a" } }
  roles { name: "base" steps { step_id: "base/a" } handlers { step_id: "base/handler/b" } }
  roles { name: "munge" needs: "base" steps { step_id: "munge/a" } })";

std::vector<RoleLayer> Layers(const std::string& base, const std::string& munge_steps,
                              const std::string& text = kPlan) {
  v1::Plan plan;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &plan));
  google::protobuf::RepeatedPtrField<v1::ImageRole> roles;
  for (const v1::RolePlan& role : plan.roles()) {
    v1::ImageRole& one = *roles.Add();
    one.set_name(role.name());
    one.set_sha256(role.name() == "munge" ? munge_steps : role.name());
  }
  return RoleLayers(base, plan, roles);
}

std::vector<std::string> Digests(const std::vector<RoleLayer>& layers) {
  std::vector<std::string> digests;
  for (const RoleLayer& layer : layers) digests.push_back(layer.digest);
  return digests;
}

TEST(RoleLayers, NoRoleComesBeforeOneThatItNeeds) {
  std::vector<std::string> names;
  for (const RoleLayer& layer : Layers("b", "m")) names.push_back(layer.role);
  EXPECT_THAT(names, ElementsAre("base", "munge", "slurm"));
}

TEST(RoleLayers, APlanIsOfOneRoleWhichWaitsForNoOther) {
  const v1::Plan plan = Layers("b", "m")[1].plan;
  ASSERT_EQ(plan.roles_size(), 1);
  EXPECT_EQ(plan.plan_id(), "p");
  EXPECT_EQ(plan.digest(), "");
  EXPECT_EQ(plan.roles(0).name(), "munge");
  EXPECT_EQ(plan.roles(0).needs_size(), 0);
  EXPECT_EQ(plan.roles(0).steps(0).step_id(), "munge/a");
  EXPECT_EQ(Layers("b", "m")[0].plan.roles(0).handlers_size(), 1);
}

TEST(RoleLayers, AChangedRoleChangesItsLayerAndThoseAboveIt) {
  const std::vector<std::string> before = Digests(Layers("b", "m"));
  EXPECT_EQ(Digests(Layers("b", "m")), before);
  const std::vector<std::string> after = Digests(Layers("b", "other"));
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
  EXPECT_NE(after[2], before[2]);
}

TEST(RoleLayers, AnotherBaseChangesAll) {
  const std::vector<std::string> before = Digests(Layers("b", "m"));
  const std::vector<std::string> after = Digests(Layers("other", "m"));
  std::set<std::string> all(before.begin(), before.end());
  all.insert(after.begin(), after.end());
  EXPECT_EQ(all.size(), 6u);
}

}  // namespace
}  // namespace muster::cli
