// slurmctld and its state move to another node or folder, partitions leave slurm.conf, and no job
// ends by it: the commands of Slurm's roles, run against stand-ins.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "muster/v1/plan.pb.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr char kSlurmRoles[] = R"(
- play: p
  hosts: all
  roles:
    - {role: slurm_controller, when: node.name in slurm_controllers}
    - {role: slurm_login, when: node.role == "login" and node.name not in slurm_controllers}
    - {role: slurm_worker, when: node.role == "compute"}
)";

class SlurmMovesTest : public RolesFixture {
 protected:
  SlurmMovesTest()
      : RolesFixture(kSlurmRoles, {"slurm_controller", "slurm_login", "slurm_worker"}),
        node_("slurm-moves", {"/etc/", "/var/lib/slurm"}) {
    AnswersOn("nobody");
  }

  // A node, or a host and port, that takes connections; no other one does.
  void AnswersOn(const std::string& where) {
    node_.Program("timeout", "[[ $* == *'" + where + "'* ]]");
  }
  void Touch(const std::string& path, const std::string& time) {
    ASSERT_EQ(node_.Run(std::vector<std::string>{"touch", "--date=" + time, path}), 0);
  }

  StandInNode node_;
};

TEST_F(SlurmMovesTest, AStateComesAlongWithOneSlurmctldToo) {
  Set(R"({"slurm_state_directory": "/var/lib/slurm/new"})");
  const v1::Step step = Step("login1", "the state comes along");
  EXPECT_EQ(step.skip_reason(), "");
  EXPECT_EQ(node_.Run(step.command().unless()), 0) << "a first installation";
  node_.Install("/etc/slurm/slurm.conf", "ClusterName=x\nStateSaveLocation=/var/lib/slurm/old\n");
  EXPECT_EQ(node_.Run(step.command().unless()), 0) << "a slurmctld that has never run";
  node_.Write("/var/lib/slurm/old/clustername", "");
  node_.Write("/var/lib/slurm/old/job_state", "");
  EXPECT_EQ(node_.Run(step.command().unless()), 1);
  EXPECT_EQ(node_.Run(step.command().argv()), 1);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("/var/lib/slurm/old"), HasSubstr("/var/lib/slurm/new has none")));
  node_.Write("/var/lib/slurm/new/clustername", "");
  node_.Write("/var/lib/slurm/new/job_state", "");
  // cp -a onto a file system that has no fractions of a second.
  Touch("/var/lib/slurm/old/job_state", "2027-03-01 08:00:00.7");
  Touch("/var/lib/slurm/new/job_state", "2027-03-01 08:00:00");
  EXPECT_EQ(node_.Run(step.command().unless()), 0);
  Touch("/var/lib/slurm/old/job_state", "2027-03-01 08:00:05");
  EXPECT_EQ(node_.Run(step.command().unless()), 1) << "a copy of before the last job";
  Touch("/var/lib/slurm/new/job_state", "2027-03-02 08:00:00");
  EXPECT_EQ(node_.Run(step.command().unless()), 0) << "slurmctld has run there since";
}

// A login node that is written above the others in the inventory would run a second slurmctld.
TEST_F(SlurmMovesTest, ASecondSlurmctldDoesNotBeginWithoutThePresentState) {
  node_.Program("systemctl", "exit 3");
  const v1::CommandResource command = Step("login1", "no slurmctld runs elsewhere").command();
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
  AnswersOn("login1 6817");
  EXPECT_EQ(node_.Run(command.argv()), 0) << "its own";
  AnswersOn("login2 6817");
  EXPECT_EQ(node_.Run(command.argv()), 1);
  EXPECT_THAT(node_.output(), HasSubstr("set slurm_controller: login2"));
  node_.Write("/var/lib/slurm/slurmctld/job_state", "");
  EXPECT_EQ(node_.Run(command.argv()), 1)
      << "slurmctld was moved away from here, and the state stayed";
  node_.Program("systemctl", "[[ $* == 'is-active --quiet slurmctld' ]]");
  EXPECT_EQ(node_.Run(command.argv()), 0) << "nothing moves: " << node_.output();
}

// The login node of before may have left the inventory, or be called by another name there.
TEST_F(SlurmMovesTest, TheNodesOfThePresentSlurmConfAreAskedToo) {
  node_.Program("systemctl", "exit 3");
  node_.Install("/etc/slurm/slurm.conf",
                "ClusterName=x\nSlurmctldHost=head(10.0.0.7)\nSlurmctldHost=spare # second\n"
                "SlurmctldHost=login1\n");
  const v1::CommandResource command = Step("login1", "no slurmctld runs elsewhere").command();
  for (const char* host : {"head", "spare", "login2"}) {
    AnswersOn(absl::StrCat(host, " 6817"));
    EXPECT_EQ(node_.Run(command.argv()), 1) << host;
    EXPECT_THAT(node_.output(), HasSubstr(absl::StrCat("slurmctld runs on ", host)));
  }
  AnswersOn("login1 6817");
  EXPECT_EQ(node_.Run(command.argv()), 0) << "its own";
}

// As people write it, and as older versions of Slurm name its hosts.
TEST_F(SlurmMovesTest, ASlurmConfOfOthersIsAskedAsItIsWritten) {
  node_.Program("systemctl", "exit 3");
  Set(R"({"slurmctld_port": 7817})");
  const v1::CommandResource command = Step("login1", "no slurmctld runs elsewhere").command();
  node_.Install("/etc/slurm/slurm.conf",
                " slurmctldhost = head(10.0.0.7)  # first\nControlMachine=older\n"
                "BACKUPCONTROLLER = spare\nSlurmctldPort = 6820-6822\n");
  for (const char* host : {"head", "older", "spare", "login2"})
    for (const char* port : {"6820", "7817"}) {
      AnswersOn(absl::StrCat(host, " ", port));
      EXPECT_EQ(node_.Run(command.argv()), 1) << host << " " << port;
      EXPECT_THAT(node_.output(), HasSubstr(absl::StrCat("slurmctld runs on ", host)));
    }
  AnswersOn("head 6817");
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
  node_.Install("/etc/slurm/slurm.conf", "ControlMachine=head\n");
  EXPECT_EQ(node_.Run(command.argv()), 1) << "Slurm's own port";
}

TEST_F(SlurmMovesTest, LoginNodesAskOnThePortOfSlurmctld) {
  Set(R"({"slurmctld_port": 7817})");
  EXPECT_THAT(Step("login1", "no slurmctld runs elsewhere").command().argv(), Contains("7817"));
  EXPECT_THAT(Step("login2", "slurmctld answers where it has moved to").command().argv(),
              Contains("7817"));
}

// A playbook that gives the role to all login nodes.
TEST_F(SlurmMovesTest, TheRoleOfLoginNodesLeavesTheNodesOfSlurmctldAlone) {
  site_["playbooks/roles.yaml"] = "- play: p\n  hosts: login\n  roles: [slurm_login]\n";
  for (const char* step : {"slurmctld answers where it has moved to", "no slurmctld"}) {
    EXPECT_NE(Step("login1", step).skip_reason(), "") << step;
    EXPECT_EQ(Step("login2", step).skip_reason(), "") << step;
  }
}

TEST_F(SlurmMovesTest, TheOldSlurmctldEndsWhenTheNewOneAnswers) {
  const NodePlan plan = Compile("login2");
  ASSERT_OK(plan.error);
  std::vector<std::string> names;
  for (const v1::Step& step : plan.plan->roles(0).steps()) names.push_back(step.name());
  ASSERT_GE(names.size(), 3u);
  EXPECT_THAT(std::vector<std::string>(names.begin(), names.begin() + 3),
              ElementsAre("a slurm.conf that was here is not taken over unasked",
                          "slurmctld answers where it has moved to", "no slurmctld"))
      << "slurm.conf of a slurmctld that runs would name others";
  const v1::UnitResource unit = Step("login2", "no slurmctld").unit();
  EXPECT_EQ(unit.state(), v1::UNIT_STATE_STOPPED);
  EXPECT_TRUE(unit.has_enabled());
  EXPECT_FALSE(unit.enabled());

  const v1::CommandResource command =
      Step("login2", "slurmctld answers where it has moved to").command();
  EXPECT_TRUE(command.changes_nothing());
  node_.Program("systemctl", "exit 3");
  EXPECT_EQ(node_.Run(command.argv()), 0) << "no slurmctld here";
  node_.Program("systemctl", "exit 0");
  AnswersOn("login2 6817");
  EXPECT_EQ(node_.Run(command.argv()), 1) << "its own";
  EXPECT_THAT(node_.output(), HasSubstr("none answers on login1"));
  AnswersOn("login1 6817");
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
}

// A refused move on the login nodes does not keep the next play from the workers.
TEST_F(SlurmMovesTest, AWorkerStaysWithTheOldSlurmctldUntilTheNewOneAnswers) {
  const v1::CommandResource command =
      Step("c001", "slurmctld answers where it has moved to").command();
  const std::string path = "/etc/default/slurmd";
  EXPECT_TRUE(command.changes_nothing());
  EXPECT_EQ(node_.Run(command.argv()), 0) << "a first installation";
  node_.Write(path, File("c001", path).content());
  EXPECT_EQ(node_.Run(command.argv()), 0) << "no move";
  Set(R"({"slurm_controller": "login2"})");
  node_.Write(path, File("c001", path).content());
  EXPECT_EQ(node_.Run(command.argv()), 1);
  EXPECT_THAT(node_.output(), HasSubstr("no slurmctld answers on login1"));
  AnswersOn("login1 6817");
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
}

// A renamed partition took all of its jobs with it, those that waited too.
TEST_F(SlurmMovesTest, APartitionStaysWhileJobsAreInIt) {
  UseInventory(
      "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, c001: {role: compute, "
      "address: 10.0.0.11}}\npartitions: {gpu: {nodes: c001}}\n");
  Set(R"({"slurm_extra_config": ["MaxJobCount=9", "partitionname = extra Nodes=c001 # kept"]})");
  const v1::CommandResource command =
      Step("login1", "no partition leaves with jobs in it").command();
  EXPECT_TRUE(command.changes_nothing());
  node_.Program("systemctl", "echo inactive; exit 3");
  node_.Program("timeout", "shift; \"$@\"");
  node_.Program("squeue", absl::StrCat("echo \"$@\" >", node_.root(), "/asked; echo 7; echo 8"));
  const auto asked = [&] { return node_.Exists("/asked") ? node_.Read("/asked") : ""; };
  EXPECT_EQ(node_.Run(command.argv()), 0) << "a first installation";
  const std::string conf = "/etc/slurm/slurm.conf";
  node_.Install(conf, "StateSaveLocation=/var/lib/slurm/state\nPartitionName=debug\n");
  EXPECT_EQ(node_.Run(command.argv()), 0) << "a sample";
  node_.Write("/var/lib/slurm/state/job_state", "");
  const std::string state = "StateSaveLocation=/var/lib/slurm/state\n";
  node_.Install(conf, absl::StrCat(state, "PartitionName=DEFAULT MaxTime=1\n",
                                   "PartitionName=gpu Nodes=c001\nPartitionName=extra\n"));
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
  EXPECT_EQ(asked(), "") << "nothing leaves";

  node_.Install(conf, absl::StrCat(state, "PartitionName=gpu Nodes=c001\n",
                                   " partitionname = gpu-old Nodes=c001\nPartitionName=batch\n"));
  EXPECT_EQ(node_.Run(command.argv()), 1);
  EXPECT_THAT(asked(), HasSubstr("--partition=gpu-old,batch"));
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("jobs (2) run or wait in gpu-old,batch"), HasSubstr("state: DRAIN")));
  node_.Program("squeue", "exit 1");
  EXPECT_EQ(node_.Run(command.argv()), 1) << "slurmctld does not answer";
  EXPECT_THAT(node_.output(),
              HasSubstr("slurmctld does not say whether jobs are in gpu-old,batch"));
  node_.Program("squeue", "exit 0");
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
}

// slurmctld said FATAL: CLUSTER ID MISMATCH at its next start, after accounting was turned on.
TEST_F(SlurmMovesTest, SlurmctldForgetsTheNumberOfAnotherSlurmdbd) {
  const char kStep[] = "the number of another slurmdbd is forgotten";
  EXPECT_NE(Step("login1", kStep).skip_reason(), "") << "no accounting";
  Set(R"({"slurm_accounting_host": "login1"})");
  const std::string state = "/var/lib/slurm/slurmctld/clustername";
  const std::string conf = "/etc/slurm/slurm.conf", database = "/etc/slurm/accounting.conf";
  // The state may lie on a server that shows it to slurm alone.
  node_.Program("runuser",
                absl::StrCat("[[ \"$1 $2 $3\" == '-u slurm --' ]] || exit 1\necho \"$4\" >>",
                             node_.root(), "/as_slurm\nshift 3\nexec \"$@\""));
  const auto forgets = [&] {
    const v1::CommandResource command = Step("login1", kStep).command();
    node_.Write(state, "x|4711");
    if (node_.Run(command.unless()) == 0) return false;
    EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
    EXPECT_EQ(node_.Read(state), "x");
    EXPECT_EQ(node_.Run(command.unless()), 0) << "no number is left";
    return true;
  };
  EXPECT_EQ(node_.Run(Step("login1", kStep).command().unless()), 0) << "a first installation";
  node_.Install(conf, "ClusterName=x\n#AccountingStorageHost=login1\n");
  EXPECT_TRUE(forgets()) << "accounting is turned on";
  node_.Install(conf,
                " accountingstoragehost = login1 # here\nAccountingStorageHost=of_the_site\n");
  EXPECT_FALSE(forgets()) << "an accounting.conf that does not name its database yet";
  node_.Install(database, File("login1", database).content());
  EXPECT_FALSE(forgets()) << "nothing changes";
  Set(R"({"slurm_database_name": "other"})");
  EXPECT_TRUE(forgets()) << "another database";
  Set(R"({"slurm_database_name": "slurm_acct_db", "slurm_accounting_host": "login2"})");
  EXPECT_TRUE(forgets()) << "slurmdbd moves";
  EXPECT_THAT(node_.Read("/as_slurm"), AllOf(HasSubstr("grep\n"), HasSubstr("sed\n")));
}

// A run that ended before slurm.conf was written would otherwise not know of the change any more.
TEST_F(SlurmMovesTest, TheNumberIsForgottenBeforeTheFilesThatTell) {
  Set(R"({"slurm_accounting_host": "login1"})");
  const NodePlan plan = Compile("login1");
  ASSERT_OK(plan.error);
  std::vector<std::string> names;
  for (const v1::Step& step : plan.plan->roles(0).steps()) names.push_back(step.name());
  const auto place = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(place("the number of another slurmdbd is forgotten"),
            place("settings for questions to slurmdbd"));
  EXPECT_LT(place("settings for questions to slurmdbd"), place("slurm.conf"));
}

// Behind a filter that drops packets each attempt took minutes, and the last word named nothing.
TEST_F(SlurmMovesTest, ASlurmdbdThatDoesNotAnswerIsNamed) {
  Set(R"({"slurm_accounting_host": "db1", "slurm_accounting_port": 7777})");
  const v1::CommandResource command = Step("login1", "slurmdbd answers").command();
  EXPECT_THAT(command.unless(), IsSupersetOf({"timeout", "db1", "7777"}));
  EXPECT_EQ(node_.Run(command.argv()), 1);
  EXPECT_THAT(node_.output(), HasSubstr("slurmdbd on db1 does not answer on port 7777"));
  AnswersOn("db1 7777");
  EXPECT_EQ(node_.Run(command.argv()), 0) << node_.output();
  EXPECT_EQ(node_.Run(command.unless()), 0);
}

}  // namespace
}  // namespace muster::controller
