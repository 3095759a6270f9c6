// What is said of a node that is being drained for its reboot.
#include "controller/gate/reboot_drains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_job_gate.h"
#include "tests/fakes/fake_slurm_control.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::FakeJobGate;
using ::muster::testing::FakeSlurmControl;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RebootDrainsTest : public ::testing::Test {
 protected:
  RebootDrainsTest() : drains_(gate_, slurm_, clock_) {
    slurm_.Add("c001");
    slurm_.Add("c002");
  }
  DrainAnswer AskAfterALook(const std::string& node, absl::Time held_since) {
    EXPECT_EQ(drains_.Ask(node, held_since).kind, DrainAnswer::kNotYet);
    drains_.Look();
    return drains_.Ask(node, held_since);
  }

  FakeJobGate gate_;
  FakeSlurmControl slurm_;
  FakeClock clock_;
  RebootDrains drains_;
};

TEST_F(RebootDrainsTest, ADrainedNodeWithoutJobsIsIdleOnceForEachLook) {
  const absl::Time held = clock_.Now();
  const DrainAnswer before = AskAfterALook("c001", held);
  EXPECT_EQ(before.kind, DrainAnswer::kNotYet);
  EXPECT_THAT(before.why, HasSubstr("IDLE"));
  EXPECT_THAT(gate_.calls, ElementsAre("reconcile")) << "the gate drains it before the look";
  slurm_.DrainBy("root", "c001", "muster:r-1 being rebooted");
  drains_.Look();
  EXPECT_EQ(drains_.Ask("c001", held).kind, DrainAnswer::kIdle);
  EXPECT_EQ(drains_.Ask("c001", held).kind, DrainAnswer::kNotYet);
}

TEST_F(RebootDrainsTest, JobsOnADrainedNodeAreNamed) {
  slurm_.DrainBy("root", "c001", "muster:r-1 being rebooted");
  // It starts between the list of nodes and that of jobs.
  slurm_.after_listing = [&] { slurm_.jobs["c001"] = {{"4711", "ann", "train"}}; };
  const DrainAnswer answer = AskAfterALook("c001", clock_.Now());
  EXPECT_EQ(answer.kind, DrainAnswer::kJobs);
  ASSERT_THAT(answer.jobs, SizeIs(1));
  EXPECT_EQ(answer.jobs[0].id, "4711");
}

TEST_F(RebootDrainsTest, ALookFromBeforeTheHoldSaysNothing) {
  slurm_.DrainBy("root", "c001", "muster:r-1 being rebooted");
  drains_.Ask("c001", clock_.Now());
  drains_.Look();
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(AskAfterALook("c001", clock_.Now()).kind, DrainAnswer::kIdle);
}

TEST_F(RebootDrainsTest, AnOldLookSaysNothing) {
  slurm_.DrainBy("root", "c001", "muster:r-1 being rebooted");
  const absl::Time held = clock_.Now();
  drains_.Ask("c001", held);
  drains_.Look();
  clock_.Advance(RebootDrains::kFresh + absl::Seconds(1));
  EXPECT_EQ(AskAfterALook("c001", held).kind, DrainAnswer::kIdle);
}

TEST_F(RebootDrainsTest, OnlySlurmsSilenceKeepsANodeThatItKnows) {
  slurm_.DrainBy("root", "c001", "muster:r-1 being rebooted");
  slurm_.status = absl::UnavailableError("slurmctld is down");
  const DrainAnswer silent = AskAfterALook("c001", clock_.Now());
  EXPECT_EQ(silent.kind, DrainAnswer::kNotYet);
  EXPECT_EQ(silent.why, "slurmctld is down");
  slurm_.status = absl::OkStatus();
  drains_.Look();
  EXPECT_EQ(drains_.Ask("c001", clock_.Now()).kind, DrainAnswer::kIdle);
  EXPECT_EQ(AskAfterALook("x999", clock_.Now()).kind, DrainAnswer::kIdle) << "not in Slurm";
  slurm_.status = absl::NotFoundError("no scontrol");
  EXPECT_EQ(AskAfterALook("c002", clock_.Now()).kind, DrainAnswer::kIdle) << "no Slurm yet";
}

TEST_F(RebootDrainsTest, NobodyAsksSlurmForNothing) {
  drains_.Look();
  EXPECT_THAT(gate_.calls, IsEmpty());
  EXPECT_THAT(slurm_.calls, IsEmpty());
}

}  // namespace
}  // namespace muster::controller::validation
