#include "cli/render/run/drain_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/node.pb.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SlurmJob JobUntil(const char* id, absl::Duration time_left) {
  SlurmJob job = {id, "ann", "train"};
  job.time_left = time_left;
  return job;
}

TEST(DrainReport, TellsTheJobsAndTheirEnd) {
  DrainMoment moment;
  moment.nodes = {"c001", "c002", "c003"};
  moment.jobs["c001"] = {JobUntil("4", absl::Hours(3))};
  moment.jobs["c003"] = {JobUntil("5", absl::Minutes(1)), JobUntil("6", absl::InfiniteDuration())};
  EXPECT_FALSE(moment.is_idle());
  EXPECT_THAT(
      DescribeDrain(moment),
      ElementsAre("c001: waits for job 4 (ann, train), which ends in at most 3h 00m",
                  "c003: waits for jobs 5 (ann, train) and 6 (ann, train), one of which has "
                  "a time limit that is not known or unlimited"));
}

TEST(DrainReport, WithoutSlurmsWordNothingIsIdle) {
  DrainMoment moment;
  moment.nodes = {"c001", "c002"};
  EXPECT_TRUE(moment.is_idle());
  moment.unknown = "slurmctld does not answer";
  EXPECT_FALSE(moment.is_idle());
  EXPECT_THAT(DescribeDrain(moment),
              ElementsAre("c[001-002]: waits for Slurm to tell whether jobs are there: slurmctld "
                          "does not answer"));
  moment.trouble = "scontrol failed";
  moment.unknown.clear();
  EXPECT_FALSE(moment.is_idle());
  EXPECT_THAT(DescribeDrain(moment),
              ElementsAre("c[001-002]: waits until Slurm starts no job there: scontrol failed"));
}

TEST(DrainReport, TimeThatPassesIsNoNews) {
  DrainMoment moment;
  moment.jobs["c001"] = {JobUntil("4", absl::Hours(3))};
  const std::string key = DrainKey(moment);
  moment.jobs["c001"][0].time_left = absl::Hours(2);
  EXPECT_EQ(DrainKey(moment), key);
  moment.jobs["c001"].push_back(JobUntil("5", absl::Hours(1)));
  EXPECT_NE(DrainKey(moment), key);
}

TEST(DrainReport, AJobWithoutALimitHasNoEnd) {
  v1::ListNodeJobsResponse response;
  v1::NodeJobs& node = *response.add_nodes();
  node.set_node("c001");
  node.add_jobs()->set_id("4");
  node.add_jobs()->set_seconds_left(60);
  const SlurmJobsByNode jobs = JobsByNode(response);
  EXPECT_EQ(jobs.at("c001")[0].time_left, absl::InfiniteDuration());
  EXPECT_EQ(jobs.at("c001")[1].time_left, absl::Minutes(1));
}

TEST(DrainReport, AnEarlyEndSaysHowToGoOn) {
  EXPECT_EQ(AfterDrain({"c001", "c002"}, ""),
            "c[001-002] stay drained: the same command continues, `muster node resume c[001-002]` "
            "gives them back to Slurm\n");
  EXPECT_EQ(AfterDrain({"c001"}, "too late; "),
            "too late; c001 stays drained: the same command continues, `muster node resume c001` "
            "gives it back to Slurm\n");
}

TEST(DrainReport, ARolloutHasOnlyItsActiveNodesInItsHands) {
  v1::Rollout rollout;
  rollout.set_rollout_id("u-1");
  const std::pair<const char*, v1::RolloutStep> kNodes[] = {{"c001", v1::ROLLOUT_STEP_PENDING},
                                                            {"c002", v1::ROLLOUT_STEP_DRAINING},
                                                            {"c003", v1::ROLLOUT_STEP_RESUMING},
                                                            {"c004", v1::ROLLOUT_STEP_FAILED},
                                                            {"c005", v1::ROLLOUT_STEP_DONE}};
  for (const auto& [name, step] : kNodes) {
    v1::RolloutNode& node = *rollout.add_nodes();
    node.set_node(name);
    node.set_step(step);
  }
  EXPECT_EQ(InHandsOf(rollout, {"c001", "c004", "c005", "c006"}), "");
  EXPECT_THAT(InHandsOf(rollout, {"c001", "c003"}), AllOf(HasSubstr("rollout u-1 is updating c003"),
                                                          HasSubstr("muster rollout abort u-1")));
  EXPECT_THAT(InHandsOf(rollout, {"c002"}), HasSubstr("updating c002"));
}

}  // namespace
}  // namespace muster::cli
