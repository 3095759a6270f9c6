#include "absl/synchronization/notification.h"
#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

TEST_F(EngineTest, NeighboringPackagesAreOneTransaction) {
  node_.Set("there", "1.0");
  const v1::Plan plan =
      MakePlan(1, {Role("r", {Package("r/1", {"munge"}), Package("r/2", {"there"}),
                              Package("r/3", {"slurmd", "slurm-client"}), File("r/4", "/a", "1"),
                              Package("r/5", {"later"})})});
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(node_.transactions, 2);
  auto results = Results(plan.plan_id());
  EXPECT_EQ(results["r/1"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(results["r/2"].status(), v1::STEP_STATUS_OK);
  EXPECT_EQ(results["r/3"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(results["r/3"].changes_size(), 2);
}

TEST_F(EngineTest, AFailedTransactionBlamesThePackagesThatAreMissing) {
  node_.apply_errors["package[nosuch]"] = absl::NotFoundError("Unable to locate package nosuch");
  const v1::Plan plan =
      MakePlan(1, {Role("r", {Package("r/1", {"munge"}), Package("r/2", {"nosuch"}),
                              Package("r/3", {"chrony"})})});
  EXPECT_FALSE(Run(plan).succeeded());
  auto results = Results(plan.plan_id());
  EXPECT_EQ(results["r/1"].status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(results["r/2"].status(), v1::STEP_STATUS_FAILED);
  EXPECT_EQ(results["r/2"].message(), "Unable to locate package nosuch");
  EXPECT_EQ(results["r/3"].status(), v1::STEP_STATUS_CHANGED);
}

TEST_F(EngineTest, RepositoriesChangeWhileNoPackageDoes) {
  std::vector<v1::RolePlan> roles;
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::string role = name;
    const auto slow = [this](ApplyObserver&) { clock_.Sleep(absl::Milliseconds(20)); };
    node_.during_apply["package[" + role + "]"] = slow;
    node_.during_apply["package_repository[of " + role + "]"] = slow;
    v1::Step repository;
    repository.set_step_id(role + "/r");
    repository.mutable_package_repository()->set_name("of " + role);
    roles.push_back(Role(role, {repository, Package(role + "/p", {role})}));
  }
  EXPECT_TRUE(Run(MakePlan(1, roles)).succeeded());
  EXPECT_EQ(node_.transactions, 4);
  EXPECT_FALSE(node_.repository_met_packages);
}

// The package manager makes one transaction of them.
TEST_F(EngineTest, PackagesOfSeveralRolesComeToThePackageManagerAtOnce) {
  absl::Notification both;
  node_.during_apply["package[a]"] = [&](ApplyObserver&) {
    EXPECT_TRUE(both.WaitForNotificationWithTimeout(absl::Minutes(1)));
  };
  node_.during_apply["package[b]"] = [&](ApplyObserver&) { both.Notify(); };
  EXPECT_TRUE(
      Run(MakePlan(1, {Role("a", {Package("a/p", {"a"})}), Role("b", {Package("b/p", {"b"})})}))
          .succeeded());
}

}  // namespace
}  // namespace muster::agent
