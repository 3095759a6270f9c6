// A step that reboots the node: the conditions before, during and after.
#include "agent/engine/reboot_run.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Step Reboot(const std::string& id, v1::RebootWhen when = v1::REBOOT_WHEN_REQUIRED) {
  v1::Step step;
  step.set_step_id(id);
  step.set_name(id);
  step.mutable_reboot()->set_when(when);
  return step;
}

v1::Step Pending(const std::string& id, v1::RebootWhen when) {
  v1::Step step;
  step.set_step_id(id);
  step.mutable_pending_reboot()->set_when(when);
  return step;
}

v1::Plan Kernel() {
  return MakePlan(1,
                  {Role("kernel", {File("kernel/before", "/before", "1"), Reboot("kernel/reboot"),
                                   File("kernel/after", "/after", "1")})});
}

class RebootRunTest : public EngineTest {
 protected:
  RebootRunTest() {
    node_.Set("/run/reboot-required", "");
    // systemd does this soon after it has accepted a reboot.
    node_.on_reboot = [this] { engine_->Stop(); };
  }
  // Submits and waits until the engine has been stopped by the reboot.
  void RunUntilDown(const v1::Plan& plan) {
    ASSERT_TRUE(engine_->Submit(plan).accepted());
    AwaitDown();
  }
  void AwaitDown() {
    for (int i = 0; i < 12'000 && !engine_->has_ended(); ++i) clock_.Sleep(absl::Milliseconds(5));
    ASSERT_TRUE(engine_->has_ended());
  }
  void BootAgain() {
    boot_id_ = "boot-2";
    node_.Remove("/run/reboot-required");
    Start();
  }
};

TEST_F(RebootRunTest, TheNextBootGoesOnBehindTheStep) {
  Start();
  RunUntilDown(Kernel());
  EXPECT_EQ(node_.reboots, 1);
  EXPECT_EQ(node_.state().count("/before"), 1u);
  EXPECT_EQ(node_.state().count("/after"), 0u);
  EXPECT_FALSE(journal_->FindFinished("r-1/0").has_value());
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(node_.reboots, 1);
  EXPECT_EQ(node_.state().count("/after"), 1u);
  const v1::StepResult result = Results("r-1/0")["kernel/reboot"];
  EXPECT_EQ(result.status(), v1::STEP_STATUS_CHANGED);
  ASSERT_EQ(result.changes_size(), 1);
  EXPECT_EQ(result.changes(0).after(), "/run/reboot-required");
}

TEST_F(RebootRunTest, NothingAsksForItAndNothingReboots) {
  node_.Remove("/run/reboot-required");
  EXPECT_TRUE(Run(Kernel()).succeeded());
  EXPECT_EQ(StatusOf(Kernel(), "kernel/reboot"), v1::STEP_STATUS_OK);
  EXPECT_EQ(node_.reboots, 0);
  EXPECT_THAT(gate_.asked, IsEmpty());
}

TEST_F(RebootRunTest, CheckModeNeitherAsksNorReboots) {
  v1::Plan plan = Kernel();
  plan.set_check_only(true);
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "kernel/reboot"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(node_.reboots, 0);
  EXPECT_THAT(gate_.asked, IsEmpty());
}

TEST_F(RebootRunTest, ARefusalFailsTheStepInTheControllersWords) {
  gate_.refusal = absl::FailedPreconditionError("job 7 runs on c001");
  EXPECT_FALSE(Run(Kernel()).succeeded());
  EXPECT_EQ(Results("r-1/0")["kernel/reboot"].message(), "job 7 runs on c001");
  EXPECT_EQ(StatusOf(Kernel(), "kernel/after"), v1::STEP_STATUS_SKIPPED);
  EXPECT_EQ(node_.reboots, 0);
}

// The agent was killed between the record and the reboot, or somebody stopped the reboot.
TEST_F(RebootRunTest, AnAgentThatIsBackInTheSameBootAsksAgain) {
  Start();
  RunUntilDown(Kernel());
  ASSERT_THAT(gate_.asked, ElementsAre("kernel/reboot"));
  Start();
  AwaitDown();
  EXPECT_EQ(node_.reboots, 2);
  EXPECT_THAT(gate_.asked, ElementsAre("kernel/reboot", "kernel/reboot"));
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
}

TEST_F(RebootRunTest, APermitIsUsedOnce) {
  Start();
  RunUntilDown(Kernel());
  gate_.same_permit = true;
  Start();
  EXPECT_FALSE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(node_.reboots, 1);
  EXPECT_THAT(Results("r-1/0")["kernel/reboot"].message(), Said());
}

TEST_F(RebootRunTest, ARebootThatHelpedNothingIsNotTriedAgain) {
  Start();
  RunUntilDown(Kernel());
  BootAgain();
  Shutdown();
  // The same again, with a boot loader that starts the old kernel.
  node_.Set("/run/reboot-required", "");
  v1::Plan again = Kernel();
  again.set_plan_id("r-2/0");
  again.set_sequence(2);
  Start();
  RunUntilDown(again);
  boot_id_ = "boot-3";
  Start();
  EXPECT_FALSE(AwaitEnd("r-2/0").succeeded());
  EXPECT_EQ(node_.reboots, 2);
  EXPECT_THAT(Results("r-2/0")["kernel/reboot"].message(), Said());
}

TEST_F(RebootRunTest, AHandlerRebootsOnceAndIsCleanAfterwards) {
  node_.Remove("/run/reboot-required");
  constexpr char kHandler[] = "k/handler/reboot";
  const v1::Plan plan = MakePlan(1, {Role("k", {File("k/a", "/a", "1", {kHandler})}, {},
                                          {Reboot(kHandler, v1::REBOOT_WHEN_ALWAYS)})});
  Start();
  RunUntilDown(plan);
  EXPECT_TRUE(journal_->IsDirty(kHandler));
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(node_.reboots, 1);
  EXPECT_FALSE(journal_->IsDirty(kHandler));
}

TEST_F(RebootRunTest, APendingRebootIsReportedAndTheRoleGoesOn) {
  v1::Plan plan = MakePlan(1, {Role("k", {File("k/before", "/before", "1"),
                                          Pending("k/reboot", v1::REBOOT_WHEN_REQUIRED),
                                          File("k/after", "/after", "1")})});
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(StatusOf(plan, "k/reboot"), v1::STEP_STATUS_OK);
  EXPECT_EQ(StatusOf(plan, "k/after"), v1::STEP_STATUS_CHANGED);
  const v1::PendingReboot pending = Results("r-1/0")["k/reboot"].reboot_pending();
  EXPECT_EQ(pending.reason(), "/run/reboot-required");
  EXPECT_EQ(pending.boot_id(), boot_id_);
  EXPECT_FALSE(Results("r-1/0")["k/after"].has_reboot_pending());
  node_.Remove("/run/reboot-required");
  plan.set_plan_id("r-2/0");
  plan.set_sequence(2);
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_FALSE(Results("r-2/0")["k/reboot"].has_reboot_pending());
  EXPECT_EQ(node_.reboots, 0);
  EXPECT_THAT(gate_.asked, IsEmpty());
}

TEST_F(RebootRunTest, AHandlerThatPutsARebootOffIsClean) {
  node_.Remove("/run/reboot-required");
  constexpr char kHandler[] = "k/handler/reboot";
  const v1::Plan plan = MakePlan(1, {Role("k", {File("k/a", "/a", "1", {kHandler})}, {},
                                          {Pending(kHandler, v1::REBOOT_WHEN_ALWAYS)})});
  EXPECT_TRUE(Run(plan).succeeded());
  EXPECT_EQ(Results("r-1/0")[kHandler].reboot_pending().reason(), "always");
  EXPECT_FALSE(journal_->IsDirty(kHandler));
  EXPECT_EQ(node_.reboots, 0);
}

// As in a run with REBOOT_MODE_ALWAYS.
v1::Plan WithLastReboot(v1::Plan plan) {
  v1::Step step;
  step.set_step_id("last/reboot");
  step.mutable_last_reboot()->set_boot_id("boot-1");
  *plan.add_roles() = Role("last", {step}, {plan.roles(0).name()});
  return plan;
}

TEST_F(RebootRunTest, TheLastRebootComesAfterTheOtherRoles) {
  node_.Remove("/run/reboot-required");
  const v1::Plan plan = WithLastReboot(Kernel());
  Start();
  RunUntilDown(plan);
  EXPECT_EQ(node_.state().count("/after"), 1u);
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(StatusOf(plan, "last/reboot"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(node_.reboots, 1);
}

TEST_F(RebootRunTest, ANodeThatHasRebootedForAStepDoesNotRebootAgain) {
  const v1::Plan plan = WithLastReboot(Kernel());
  Start();
  RunUntilDown(plan);
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(StatusOf(plan, "last/reboot"), v1::STEP_STATUS_OK);
  EXPECT_EQ(node_.reboots, 1);
  EXPECT_THAT(gate_.asked, ElementsAre("kernel/reboot"));
}

v1::Facts FactsWith(const std::vector<std::string>& gpus,
                    const std::vector<std::pair<std::string, std::string>>& mounts) {
  v1::Facts facts;
  for (const std::string& uuid : gpus) {
    facts.add_gpus()->set_uuid(uuid);
    facts.mutable_gpus()->rbegin()->set_name("NVIDIA H100");
  }
  for (const auto& [target, type] : mounts) {
    v1::MountFacts& mount = *facts.add_mounts();
    mount.set_target(target);
    mount.set_type(type);
  }
  return facts;
}

TEST_F(RebootRunTest, ANodeThatComesBackWithLessHasFailed) {
  look_ = [] { return FactsWith({"GPU-1", "GPU-2"}, {{"/", "ext4"}, {"/home", "nfs4"}}); };
  Start();
  RunUntilDown(Kernel());
  look_ = [] { return FactsWith({"GPU-2", "GPU-3"}, {{"/", "ext4"}, {"/home", "tmpfs"}}); };
  BootAgain();
  EXPECT_FALSE(AwaitEnd("r-1/0").succeeded());
  const v1::StepResult result = Results("r-1/0")["kernel/reboot"];
  EXPECT_EQ(result.status(), v1::STEP_STATUS_FAILED);
  EXPECT_THAT(result.message(), Said());
  EXPECT_EQ(node_.state().count("/after"), 0u);
}

// Another root has neither the drivers nor the mounts that later plays make.
TEST_F(RebootRunTest, AnotherImageNeedNotHaveWhatTheNodeHadBefore) {
  look_ = [] { return FactsWith({"GPU-1"}, {{"/home", "nfs4"}}); };
  v1::Step image = Reboot("image/reboot");
  image.mutable_reboot()->set_image("worker@1a2b3c4d");
  const v1::Plan plan = MakePlan(1, {Role("image", {image})});
  Start();
  RunUntilDown(plan);
  look_ = [] { return v1::Facts(); };
  int told = 0;
  on_back_ = [&](v1::Facts) { ++told; };
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(told, 1) << "it may have another kernel";
}

TEST_F(RebootRunTest, AnImageThatDidNotComeUpHasFailed) {
  v1::Step image = Reboot("image/reboot");
  image.mutable_reboot()->set_image("worker@1a2b3c4d");
  Start();
  RunUntilDown(MakePlan(1, {Role("image", {image})}));
  boot_id_ = "boot-2";
  Start();
  EXPECT_FALSE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(node_.reboots, 1) << "the next one would not end differently";
  EXPECT_THAT(Results("r-1/0")["image/reboot"].message(), Said());
}

TEST_F(RebootRunTest, WhatIsMountedLateIsWaitedFor) {
  return_patience_ = absl::Minutes(1);
  look_ = [] { return FactsWith({}, {{"/home", "nfs4"}}); };
  Start();
  RunUntilDown(Kernel());
  look_ = [looks = 0]() mutable {
    return ++looks < 3 ? v1::Facts() : FactsWith({"GPU-1"}, {{"/home", "nfs4"}});
  };
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(node_.state().count("/after"), 1u);
}

// The controller lets the node serve after the outcome, by what it knows of it then.
TEST_F(RebootRunTest, WhatIsThereAgainIsToldBeforeTheOutcome) {
  return_patience_ = absl::Minutes(1);
  look_ = [] { return FactsWith({"GPU-1"}, {}); };
  Start();
  RunUntilDown(Kernel());
  look_ = [looks = 0]() mutable {
    return ++looks < 3 ? v1::Facts() : FactsWith({"GPU-1", "GPU-2"}, {});
  };
  std::vector<v1::Facts> told;
  on_back_ = [&](v1::Facts facts) {
    EXPECT_FALSE(journal_->FindFinished("r-1/0").has_value());
    told.push_back(std::move(facts));
  };
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].gpus_size(), 2);
}

TEST_F(RebootRunTest, WhatIsLeftOfANodeThatLacksSomethingIsToldToo) {
  look_ = [] { return FactsWith({"GPU-1", "GPU-2"}, {}); };
  Start();
  RunUntilDown(Kernel());
  look_ = [] { return FactsWith({"GPU-2"}, {}); };
  std::vector<v1::Facts> told;
  on_back_ = [&](v1::Facts facts) { told.push_back(std::move(facts)); };
  BootAgain();
  EXPECT_FALSE(AwaitEnd("r-1/0").succeeded());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].gpus_size(), 1);
}

// Nobody needs to have used them since the boot. `/data` has become one of them by the reboot.
TEST_F(RebootRunTest, WhatIsMountedOnUseIsNotMissed) {
  look_ = [] {
    return FactsWith({}, {{"/home", "autofs"},
                          {"/home/ann", "nfs4"},
                          {"/boot", "autofs"},
                          {"/boot", "vfat"},
                          {"/data", "nfs4"}});
  };
  Start();
  RunUntilDown(Kernel());
  look_ = [] {
    return FactsWith({}, {{"/home", "autofs"}, {"/boot", "autofs"}, {"/data", "autofs"}});
  };
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
}

TEST_F(RebootRunTest, AMountBesideAnAutomountIsMissed) {
  look_ = [] { return FactsWith({}, {{"/home", "autofs"}, {"/home2", "nfs4"}}); };
  Start();
  RunUntilDown(Kernel());
  look_ = [] { return FactsWith({}, {{"/home", "autofs"}}); };
  BootAgain();
  EXPECT_FALSE(AwaitEnd("r-1/0").succeeded());
}

TEST_F(RebootRunTest, WhatComesAndGoesIsNotMissed) {
  look_ = [] {
    return FactsWith({}, {{"/run/user/1000", "tmpfs"},
                          {"/var/lib/docker/overlay2/x/merged", "overlay"},
                          {"/run/media/stick", "vfat"},
                          {"/media/stick", "ext4"}});
  };
  Start();
  RunUntilDown(Kernel());
  look_ = [] { return v1::Facts(); };
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
}

// The next apply would otherwise reboot it again.
TEST_F(RebootRunTest, AHandlerThatLostSomethingIsCleanAfterwards) {
  node_.Remove("/run/reboot-required");
  look_ = [] { return FactsWith({"GPU-1"}, {}); };
  constexpr char kHandler[] = "k/handler/reboot";
  Start();
  RunUntilDown(MakePlan(1, {Role("k", {File("k/a", "/a", "1", {kHandler})}, {},
                                 {Reboot(kHandler, v1::REBOOT_WHEN_ALWAYS)})}));
  look_ = [] { return v1::Facts(); };
  BootAgain();
  EXPECT_FALSE(AwaitEnd("r-1/0").succeeded());
  EXPECT_FALSE(journal_->IsDirty(kHandler));
}

TEST_F(RebootRunTest, OtherRolesComeToRestAtTheEndOfTheirStep) {
  absl::Notification begun, go_on;
  node_.during_apply["file[/slow]"] = [&](ApplyObserver&) {
    begun.Notify();
    go_on.WaitForNotification();
  };
  gate_.before_answer = [&] { EXPECT_EQ(node_.state().count("/slow"), 1u); };
  const v1::Plan plan = MakePlan(
      1, {Role("kernel", {File("kernel/wait", "/wait", "1"), Reboot("kernel/reboot")}),
          Role("other", {File("other/slow", "/slow", "1"), File("other/next", "/next", "1")})});
  node_.during_apply["file[/wait]"] = [&](ApplyObserver&) { begun.WaitForNotification(); };
  Start();
  ASSERT_TRUE(engine_->Submit(plan).accepted());
  clock_.Sleep(absl::Milliseconds(100));
  EXPECT_EQ(node_.reboots, 0);
  EXPECT_THAT(gate_.asked, IsEmpty()) << "asked before the other role was at rest";
  go_on.Notify();
  AwaitDown();
  EXPECT_EQ(node_.reboots, 1);
  EXPECT_EQ(node_.state().count("/next"), 0u) << "a step began under the reboot";
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(node_.state().count("/next"), 1u);
  EXPECT_EQ(node_.reboots, 1);
}

TEST_F(RebootRunTest, StoppingWhileTheControllerIsAwayLeavesTheQuestionOpen) {
  gate_.never_answers = true;
  Start();
  ASSERT_TRUE(engine_->Submit(Kernel()).accepted());
  for (int i = 0; i < 2000 && gate_.questions() == 0; ++i) clock_.Sleep(absl::Milliseconds(5));
  Shutdown();
  EXPECT_EQ(node_.reboots, 0);
  gate_.never_answers = false;
  Start();
  AwaitDown();
  EXPECT_EQ(node_.reboots, 1);
}

TEST_F(RebootRunTest, WhatFailsWhileTheMachineGoesDownIsTriedAgain) {
  node_.during_apply["file[/a]"] = [this](ApplyObserver&) { engine_->Stop(); };
  node_.apply_errors["file[/a]"] = absl::InternalError("the machine goes down");
  const v1::Plan plan = MakePlan(1, {Role("r", {File("r/a", "/a", "1"), File("r/b", "/b", "1")})});
  Start();
  RunUntilDown(plan);
  EXPECT_FALSE(journal_->FindFinished("r-1/0").has_value());
  EXPECT_EQ(Results("r-1/0").count("r/a"), 0u);
  node_.during_apply.clear();
  node_.apply_errors.clear();
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_EQ(StatusOf(plan, "r/a"), v1::STEP_STATUS_CHANGED);
}

// What an attempt finds may be left from it, or from one before it.
TEST_F(RebootRunTest, AnAttemptKnowsWhetherAnEarlierLifeHasBegunIt) {
  std::vector<bool> continued;
  node_.during_apply["file[/a]"] = [&](ApplyObserver& observer) {
    continued.push_back(observer.IsContinued());
    if (continued.size() == 1) engine_->Stop();
  };
  node_.apply_errors["file[/a]"] = absl::InternalError("the machine goes down");
  Start();
  RunUntilDown(MakePlan(1, {Role("r", {File("r/a", "/a", "1")})}));
  node_.apply_errors.clear();
  BootAgain();
  EXPECT_TRUE(AwaitEnd("r-1/0").succeeded());
  EXPECT_THAT(continued, ElementsAre(false, true));
}

// A single byte of it that is not UTF-8 would make the controller discard the whole question.
TEST_F(RebootRunTest, TheReasonCanAlwaysBeSent) {
  node_.Set("/run/reboot-required", " (linux-\xff)");
  gate_.refusal = absl::FailedPreconditionError("no");
  Run(Kernel());
  ASSERT_EQ(gate_.reasons.size(), 1u);
  EXPECT_EQ(gate_.reasons[0], "/run/reboot-required (linux-\xef\xbf\xbd)");
}

TEST(CheckPermitTest, HoldsForOneNodeOneBootOneTime) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  v1::RebootPermit good;
  good.set_permit_id("p1");
  good.set_node_uuid("node");
  good.set_boot_id("boot");
  good.mutable_expires_at()->set_seconds(1'700'000'060);
  EXPECT_OK(CheckPermit(good, "node", "boot", "", now));
  EXPECT_OK(CheckPermit(good, "node", "boot", "p0", now));
  EXPECT_THAT(CheckPermit(good, "other", "boot", "", now),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_THAT(CheckPermit(good, "node", "later", "", now),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(CheckPermit(good, "node", "boot", "p1", now),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(CheckPermit(good, "node", "boot", "", now + absl::Hours(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(CheckPermit(v1::RebootPermit(), "", "", "", now),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::agent
