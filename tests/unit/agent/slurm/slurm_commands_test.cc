#include "agent/slurm/slurm_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/slurm/request_check.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOurs[] = "muster:gate has not passed";

class SlurmCommandsTest : public ::testing::Test {
 protected:
  SlurmCommandsTest() {
    processes_.On("scontrol --oneliner show node",
                  FakeProcessRunner::Prints(absl::StrCat(
                      "NodeName=c001 State=IDLE\n"
                      "NodeName=c002 State=IDLE+DRAIN Reason=",
                      kOurs,
                      " [root@2026-11-21]\n"
                      "NodeName=c003 State=IDLE+DRAIN Reason=bad disk [root@2026-11-21]\n"
                      "NodeName=c004 State=DOWN Reason=Not responding [slurm@2026-11-21]\n"
                      "NodeName=c005 State=DOWN Reason=fan [alice@2026-11-21]\n"
                      "NodeName=c006 State=UNKNOWN+DRAIN Reason=",
                      kOurs,
                      " [root@2026-11-21]\n"
                      "NodeName=c007 State=DOWN+DRAIN Reason=",
                      kOurs,
                      " [root@2026-11-21]\n"
                      "NodeName=c008 State=DOWN Reason=",
                      kOurs,
                      " [root@2026-11-21]\n"
                      "NodeName=c010 State=DOWN*+DRAIN Reason=",
                      kOurs, " [root@2026-11-21]\n")));
    processes_.On("scontrol update", FakeProcessRunner::Prints(""));
    processes_.On("squeue --noheader --format=%i|%N|%L|%u",
                  FakeProcessRunner::Prints("12|c[001-002]|5:00|eve\n13_4|c002|5:00|bob\n"));
    processes_.On("squeue --noheader --format=%i|%j", FakeProcessRunner::Prints("12|train\n"));
    processes_.On("squeue --noheader --Format=JobArrayID:64,State:32,Requeue:16,BatchFlag:16",
                  FakeProcessRunner::Prints("12 RUNNING 1 1\n13_4 RUNNING 0 1\n"));
    processes_.On("scontrol requeue", FakeProcessRunner::Prints(""));
  }

  v1::SlurmAnswer Drain(const std::vector<std::pair<std::string, std::string>>& nodes,
                        const std::string& reason) {
    v1::SlurmRequest request;
    request.set_request_id("q");
    request.mutable_drain()->set_reason(reason);
    for (const auto& [node, expected] : nodes) {
      v1::SlurmNodeChange& change = *request.mutable_drain()->add_nodes();
      change.set_node(node);
      change.set_expected_reason(expected);
    }
    return commands_.Answer(request);
  }
  v1::SlurmAnswer Undrain(const std::string& node, const std::string& expected) {
    v1::SlurmRequest request;
    request.set_request_id("q");
    v1::SlurmNodeChange& change = *request.mutable_undrain()->add_nodes();
    change.set_node(node);
    change.set_expected_reason(expected);
    return commands_.Answer(request);
  }
  // "12 (eve, train)" each.
  std::vector<std::string> JobsOn(const std::string& node) {
    v1::SlurmRequest request;
    request.set_request_id("q");
    request.mutable_list_jobs()->add_nodes(node);
    const v1::SlurmAnswer answer = commands_.Answer(request);
    EXPECT_TRUE(answer.has_jobs()) << answer.message();
    std::vector<std::string> jobs;
    for (const v1::SlurmNodeJobs& of_node : answer.jobs().nodes()) {
      for (const v1::SlurmJobInfo& job : of_node.jobs())
        jobs.push_back(absl::StrCat(job.id(), " (", job.user(), ", ", job.name(), ")"));
    }
    return jobs;
  }
  v1::SlurmAnswer Requeue(const std::vector<std::pair<std::string, std::string>>& jobs) {
    v1::SlurmRequest request;
    request.set_request_id("q");
    request.mutable_requeue_jobs();
    for (const auto& [id, node] : jobs) {
      v1::SlurmJobOnNode& job = *request.mutable_requeue_jobs()->add_jobs();
      job.set_id(id);
      job.set_node(node);
    }
    return commands_.Answer(request);
  }
  static std::vector<std::string> LeftAlone(const v1::SlurmAnswer& answer) {
    std::vector<std::string> left;
    for (const v1::SlurmLeftAlone& node : answer.changed().left_alone()) {
      left.push_back(absl::StrCat(node.node(), " ", node.why()));
    }
    return left;
  }
  // Commands after the look.
  std::vector<std::string> Updates() { return CommandsOf("scontrol update"); }
  std::vector<std::string> Requeues() { return CommandsOf("scontrol requeue"); }
  std::vector<std::string> CommandsOf(absl::string_view beginning) {
    std::vector<std::string> found;
    for (const std::string& command : processes_.commands()) {
      if (absl::StartsWith(command, beginning)) found.push_back(command);
    }
    return found;
  }

  FakeProcessRunner processes_;
  SlurmCommands commands_{processes_};
};

TEST_F(SlurmCommandsTest, DrainsWhatNobodyElseHasAndNamesTheRest) {
  const v1::SlurmAnswer answer =
      Drain({{"c001", ""}, {"c003", ""}, {"c004", ""}, {"c005", ""}, {"c009", ""}}, kOurs);
  EXPECT_EQ(answer.code(), 0u) << answer.message();
  EXPECT_EQ(answer.request_id(), "q");
  EXPECT_THAT(LeftAlone(answer),
              ElementsAre("c003 drained by root: bad disk", "c005 taken down by alice: fan",
                          "c009 Slurm does not know it"));
  EXPECT_THAT(Updates(), ElementsAre(absl::StrCat(
                             "scontrol update NodeName=c[001,004] State=DRAIN Reason=", kOurs)));
  // One argument, whatever it contains.
  EXPECT_EQ(processes_.specs().back().argv.back(), absl::StrCat("Reason=", kOurs));
}

TEST_F(SlurmCommandsTest, ADrainOfOursIsReplacedOnlyWhereItIsTheOneExpected) {
  EXPECT_THAT(LeftAlone(Drain({{"c002", ""}}, "muster:v-1 failed")),
              ElementsAre(absl::StrCat("c002 drained by root: ", kOurs)));
  EXPECT_THAT(LeftAlone(Drain({{"c002", "muster:v-9 failed"}}, "muster:v-1 failed")),
              ElementsAre(absl::StrCat("c002 drained by root: ", kOurs)));
  EXPECT_THAT(Updates(), IsEmpty());
  EXPECT_THAT(LeftAlone(Drain({{"c002", kOurs}}, "muster:v-1 failed")), IsEmpty());
  EXPECT_THAT(Updates(), ElementsAre(HasSubstr("Reason=muster:v-1 failed")));
}

TEST_F(SlurmCommandsTest, WhatIsDrainedSoAlreadyIsFine) {
  EXPECT_THAT(LeftAlone(Drain({{"c002", ""}}, kOurs)), IsEmpty());
  EXPECT_THAT(Updates(), IsEmpty());
}

// slurmctld requeues or kills the jobs of a node that is drained while it powers up for them.
TEST_F(SlurmCommandsTest, LeavesAloneWhatIsPoweredUpForAJob) {
  processes_.On("scontrol --oneliner show node",
                FakeProcessRunner::Prints(
                    absl::StrCat("NodeName=c001 State=ALLOCATED+CLOUD+POWERING_UP\n"
                                 "NodeName=c002 State=MIXED+POWERED_DOWN\n"
                                 "NodeName=c003 State=IDLE+POWERED_DOWN\n"
                                 "NodeName=c004 State=ALLOCATED+DRAIN+POWERING_UP Reason=",
                                 kOurs, " [root@2026-11-21]\n")));
  const v1::SlurmAnswer answer =
      Drain({{"c001", ""}, {"c002", ""}, {"c003", ""}, {"c004", kOurs}}, "muster:v-1 failed");
  EXPECT_THAT(LeftAlone(answer), ElementsAre("c001 it is being powered up for a job",
                                             "c002 it is being powered up for a job",
                                             "c004 it is being powered up for a job"));
  EXPECT_THAT(Updates(), ElementsAre(HasSubstr("NodeName=c003 State=DRAIN")));
  EXPECT_THAT(LeftAlone(Drain({{"c004", kOurs}}, kOurs)), IsEmpty()) << "as it is wished already";
}

TEST_F(SlurmCommandsTest, UndrainsItsOwnDrainAlone) {
  EXPECT_THAT(LeftAlone(Undrain("c003", kOurs)), ElementsAre("c003 drained by root: bad disk"));
  EXPECT_THAT(LeftAlone(Undrain("c001", kOurs)), IsEmpty()) << "is not drained";
  EXPECT_THAT(LeftAlone(Undrain("c006", kOurs)), ElementsAre(HasSubstr("not registered yet")));
  EXPECT_THAT(Updates(), IsEmpty());
  EXPECT_THAT(LeftAlone(Undrain("c002", kOurs)), IsEmpty());
  EXPECT_THAT(Updates(), ElementsAre("scontrol update NodeName=c002 State=UNDRAIN"));
}

// Slurm takes a node down that comes back from a boot, and keeps the reason of its drain.
TEST_F(SlurmCommandsTest, WhatComesBackFromABootIsUpAgainDrainedOrNot) {
  EXPECT_THAT(LeftAlone(Drain({{"c007", kOurs}}, kOurs)), IsEmpty());
  EXPECT_THAT(Updates(), ElementsAre("scontrol update NodeName=c007 State=RESUME",
                                     absl::StrCat("scontrol update NodeName=c007 State=DRAIN "
                                                  "Reason=",
                                                  kOurs)));
  EXPECT_THAT(LeftAlone(Undrain("c007", kOurs)), IsEmpty());
  EXPECT_THAT(LeftAlone(Undrain("c008", kOurs)), IsEmpty()) << "its drain is gone already";
  EXPECT_THAT(Updates(), ::testing::Contains("scontrol update NodeName=c008 State=RESUME"));
  EXPECT_THAT(Updates(),
              ::testing::Contains("scontrol update NodeName=c007 State=RESUME").Times(2));
}

TEST_F(SlurmCommandsTest, WhatDoesNotAnswerOrIsDownForAnotherReasonIsNotResumed) {
  EXPECT_THAT(LeftAlone(Drain({{"c010", kOurs}}, kOurs)), IsEmpty());
  EXPECT_THAT(Updates(), IsEmpty()) << "drained, and silent";
  EXPECT_THAT(LeftAlone(Undrain("c004", kOurs)), ElementsAre("c004 it is down: Not responding"));
  EXPECT_THAT(LeftAlone(Undrain("c005", kOurs)), ElementsAre("c005 taken down by alice: fan"));
  EXPECT_THAT(LeftAlone(Undrain("c010", kOurs)), IsEmpty());
  EXPECT_THAT(Updates(), ElementsAre("scontrol update NodeName=c010 State=UNDRAIN"));
}

TEST_F(SlurmCommandsTest, TellsWhichJobsHaveANodeAndWhatTheyAre) {
  EXPECT_THAT(JobsOn("c002"), ElementsAre("12 (eve, train)", "13_4 (bob, )"));
  EXPECT_THAT(processes_.commands(), SizeIs(2));
}

TEST_F(SlurmCommandsTest, NamesAreAskedForOnlyWhereThereAreJobs) {
  EXPECT_THAT(JobsOn("c003"), IsEmpty());
  EXPECT_THAT(processes_.commands(), SizeIs(1));
}

TEST_F(SlurmCommandsTest, JobsCountWithoutTheirNamesToo) {
  processes_.On("squeue --noheader --format=%i|%j", FakeProcessRunner::Prints("no", 1));
  EXPECT_THAT(JobsOn("c001"), ElementsAre("12 (eve, )"));
}

TEST_F(SlurmCommandsTest, RequeuesWhatRunsThereAndMayBe) {
  const v1::SlurmAnswer answer =
      Requeue({{"12", "c001"}, {"12", "c002"}, {"13_4", "c002"}, {"14", "c002"}});
  ASSERT_TRUE(answer.has_requeued()) << answer.message();
  EXPECT_THAT(Requeues(), ElementsAre("scontrol requeue Incomplete 12")) << "once for both nodes";
  ASSERT_EQ(answer.requeued().left_alone_size(), 1);
  EXPECT_EQ(answer.requeued().left_alone(0).id(), "13_4");
  EXPECT_THAT(answer.requeued().left_alone(0).why(), HasSubstr("--no-requeue"));
}

TEST_F(SlurmCommandsTest, AJobThatWentElsewhereOrIsEndingIsFine) {
  EXPECT_EQ(Requeue({{"12", "c003"}}).requeued().left_alone_size(), 0);
  processes_.On("squeue --noheader --Format=JobArrayID:64,State:32,Requeue:16,BatchFlag:16",
                FakeProcessRunner::Prints("12 COMPLETING 1 1\n"));
  EXPECT_EQ(Requeue({{"12", "c001"}}).requeued().left_alone_size(), 0);
  EXPECT_THAT(Requeues(), IsEmpty());
}

TEST_F(SlurmCommandsTest, WhatSlurmDoesNotRequeueIsLeftAloneWithItsWords) {
  processes_.On("scontrol requeue", FakeProcessRunner::Prints("Access/permission denied", 1));
  const v1::SlurmAnswer refused = Requeue({{"12", "c001"}});
  ASSERT_EQ(refused.requeued().left_alone_size(), 1);
  EXPECT_THAT(refused.requeued().left_alone(0).why(), HasSubstr("Access/permission denied"));
  processes_.On("scontrol requeue",
                FakeProcessRunner::Prints("Unable to contact slurm controller", 1));
  EXPECT_EQ(Requeue({{"12", "c001"}}).code(), 14u);
}

TEST_F(SlurmCommandsTest, JobsThatAreMoreThanOneRunNothing) {
  for (const char* id : {"", "all", "12,13", "13_[1-4]", "12+1", "-12", "12 State=SpecialExit"}) {
    SCOPED_TRACE(id);
    EXPECT_EQ(Requeue({{id, "c001"}}).code(), 3u);
  }
  EXPECT_EQ(Requeue({{"12", "c[001-002]"}}).code(), 3u);
  EXPECT_EQ(Requeue({}).code(), 3u);
  EXPECT_EQ(Requeue(std::vector<std::pair<std::string, std::string>>(513, {"12", "c001"})).code(),
            3u);
  EXPECT_THAT(processes_.commands(), IsEmpty());
}

TEST_F(SlurmCommandsTest, SaysWhetherSlurmIsMissingAwayOrRefuses) {
  v1::SlurmRequest request;
  request.set_request_id("q");
  request.mutable_list_nodes();
  FakeProcessRunner bare;
  EXPECT_EQ(SlurmCommands(bare).Answer(request).code(), 5u);

  processes_.On("scontrol --oneliner show node",
                FakeProcessRunner::Prints("slurm_load_node error: Unable to contact slurm "
                                          "controller (connect failure)",
                                          1));
  const v1::SlurmAnswer away = commands_.Answer(request);
  EXPECT_EQ(away.code(), 14u);
  EXPECT_THAT(away.message(), Said());
  EXPECT_FALSE(away.has_nodes());

  processes_.On("scontrol --oneliner show node",
                FakeProcessRunner::Prints("NodeName=c001 State=IDLE"));
  processes_.On("scontrol update", FakeProcessRunner::Prints("Invalid user id", 1));
  const v1::SlurmAnswer refused = Drain({{"c001", ""}}, kOurs);
  EXPECT_EQ(refused.code(), static_cast<uint32_t>(absl::StatusCode::kInternal));
  EXPECT_THAT(refused.message(), Said());
}

TEST_F(SlurmCommandsTest, OneCommandTakesNoMoreThanItsArgumentsMayHold) {
  std::string listing;
  std::vector<std::pair<std::string, std::string>> nodes;
  for (int i = 0; i < 512; ++i) {
    // Names that cannot be folded.
    const std::string name = absl::StrCat("n", i, "-", std::string(230, 'a'));
    nodes.emplace_back(name, "");
    absl::StrAppend(&listing, "NodeName=", name, " State=IDLE\n");
  }
  processes_.On("scontrol --oneliner show node", FakeProcessRunner::Prints(listing));
  EXPECT_EQ(Drain(nodes, kOurs).code(), 0u);
  const std::vector<std::string> updates = Updates();
  ASSERT_EQ(updates.size(), 2u);
  for (const std::string& update : updates) EXPECT_LT(update.size(), size_t{128} << 10);
}

TEST_F(SlurmCommandsTest, NamesAndReasonsThatSayMoreThanTheyShouldRunNothing) {
  for (const char* name :
       {"", "c001 State=RESUME", "c[001-002]", "c001,c002", "ALL", "all", "-h", "c001\n", "../c"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(Drain({{name, ""}}, kOurs).code(), 3u);
    EXPECT_EQ(Undrain(name, kOurs).code(), 3u);
  }
  for (const char* reason : {"", "bad disk", "muster:a\nb", "muster:\"", "muster"}) {
    SCOPED_TRACE(reason);
    EXPECT_EQ(Drain({{"c001", ""}}, reason).code(), 3u);
    EXPECT_EQ(Undrain("c002", reason).code(), 3u);
  }
  EXPECT_EQ(Drain({{"c001", ""}}, absl::StrCat("muster:", std::string(250, 'x'))).code(), 3u);
  EXPECT_EQ(Drain({}, kOurs).code(), 3u);
  EXPECT_EQ(
      Drain(std::vector<std::pair<std::string, std::string>>(513, {"c001", ""}), kOurs).code(), 3u);
  EXPECT_EQ(commands_.Answer({}).code(), 3u);
  EXPECT_THAT(processes_.commands(), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
