// A Slurm that was there before Muster keeps its key, its configuration and its name until somebody
// says what is to become of them: the commands of the roles, run against stand-ins.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Said;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

constexpr char kTakenOverRoles[] = R"(
- play: p
  hosts: all
  roles:
    - users
    - munge
    - {role: slurm_accounting, when: node.name == slurm_accounting_host}
    - {role: slurm_controller, when: node.name in slurm_controllers}
    - {role: slurm_accounts, when: node.name == slurm_controller and slurm_accounting_host != ""}
    - {role: slurm_login, when: node.role == "login" and node.name not in slurm_controllers}
    - {role: slurm_worker_package, when: node.role == "compute"}
    - {role: slurm_worker, when: node.role == "compute"}
)";

class SlurmTakeOverTest : public RolesFixture {
 protected:
  SlurmTakeOverTest()
      : RolesFixture(kTakenOverRoles,
                     {"users", "munge", "slurm_accounting", "slurm_controller", "slurm_accounts",
                      "slurm_login", "slurm_worker_package", "slurm_worker"}),
        node_("slurm-take-over", {"/etc/", "/var/lib/slurm", "/var/spool"}) {
    Runs("nothing");
  }

  // The unit that is active on the node; no other one is. systemctl asks all that it is given.
  void Runs(const std::string& unit) {
    node_.Program("systemctl", absl::StrCat("[[ $1 != show ]] || { echo 4711; exit; }\n"
                                            "[[ $1 == is-active ]] || exit 1\n"
                                            "shift\n"
                                            "for unit; do [[ $unit == ",
                                            unit, " ]] && echo active || echo inactive; done"));
  }
  int RunStep(const std::string& node, const std::string& name) {
    const v1::CommandResource command = Step(node, name).command();
    EXPECT_TRUE(command.changes_nothing()) << "it runs in check mode, too";
    return node_.Run(command.argv(), command.input());
  }

  static constexpr char kKey[] =
      "the key of a Slurm that was here stays (muster secret set munge_key --roles munge -f "
      "/etc/munge/munge.key)";
  static constexpr char kConfiguration[] = "a Slurm that was here is not taken over unasked";
  static constexpr char kJobs[] = "jobs of a Slurm that is taken over stay";
  static constexpr char kName[] = "the state is of this cluster";
  static constexpr char kUnaskedWorker[] = "a slurmd that was here is not taken over unasked";
  static constexpr char kWorker[] =
      "a slurmd that was here stays until slurmctld hands out its configuration";
  static constexpr char kConf[] = "/etc/slurm/slurm.conf";
  static constexpr char kMusters[] = "# Written by Muster from the inventory\nClusterName=x\n";
  StandInNode node_;
};

// Their homes are others on each distribution, and cannot change while slurmctld and munge run.
TEST_F(SlurmTakeOverTest, TheDaemonsAccountsKeepTheirHomes) {
  for (const char* account : {"munge's account", "slurm's account"}) {
    const v1::UserResource user = Step("login1", account).user();
    EXPECT_TRUE(user.system()) << account;
    EXPECT_FALSE(user.create_home()) << account;
  }
}

// Its daemons would not have understood each other any more, and jobs would have ended.
TEST_F(SlurmTakeOverTest, AnotherKeyStaysWhileSlurmRuns) {
  EXPECT_EQ(RunStep("c001", kKey), 0) << "a bare machine";
  node_.Write("/etc/munge/munge.key", "THEIRS");
  EXPECT_EQ(RunStep("c001", kKey), 0) << "the package has made it";
  for (const char* daemon : {"slurmd", "slurmctld", "slurmdbd"}) {
    Runs(daemon);
    EXPECT_EQ(RunStep("c001", kKey), 1) << daemon;
  }
  // A root that is not running: systemctl ignores the request, and exits with 0.
  node_.Program("systemctl", "exit 0");
  EXPECT_EQ(RunStep("c001", kKey), 0);

  Runs("slurmd");
  secrets_.secrets["munge_key"] = std::string("THEIRS\0\xff", 8);
  EXPECT_EQ(RunStep("c001", kKey), 1) << "the beginning of another one";
  secrets_.secrets["munge_key"] = "THEIRS";
  EXPECT_EQ(RunStep("c001", kKey), 0) << "it has become the cluster's";
}

// Of any version: such a key is replaced as it always was.
TEST_F(SlurmTakeOverTest, WhatMusterHasSetUpGetsItsKey) {
  node_.Write("/etc/munge/munge.key", "BEFORE");
  Runs("slurmd");
  node_.Write("/etc/systemd/system/slurmd.service.d/muster.conf", "[Unit]\n");
  EXPECT_EQ(RunStep("c001", kKey), 0);
  std::filesystem::remove_all(node_.root() + "/etc/systemd");
  Runs("slurmdbd");
  node_.Write("/etc/slurm/slurmdbd.conf", "# Written by Muster; changes made here are lost.\n");
  EXPECT_EQ(RunStep("login2", kKey), 0);
  std::filesystem::remove(node_.root() + "/etc/slurm/slurmdbd.conf");
  Runs("slurmctld");
  node_.Write(kConf, "# slurm.conf file generated by configurator.html.\n");
  EXPECT_EQ(RunStep("login1", kKey), 1);
  node_.Write(kConf, kMusters);
  EXPECT_EQ(RunStep("login1", kKey), 0);
}

// Jobs on nodes that had not joined ended.
TEST_F(SlurmTakeOverTest, AConfigurationOfOthersStaysWhileThereAreJobs) {
  EXPECT_EQ(RunStep("login1", kConfiguration), 0) << "a first installation";
  node_.Install(kConf, "ClusterName=x\n statesavelocation = /var/spool/state  # fast\n");
  EXPECT_EQ(RunStep("login1", kConfiguration), 0) << "a sample, or one that has never run";
  node_.Write("/var/spool/state/job_state", "");
  EXPECT_EQ(RunStep("login1", kConfiguration), 1);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("docs/first-cluster.md"), HasSubstr("set slurm_take_over: true")));
  node_.Write(kConf, kMusters);
  EXPECT_EQ(RunStep("login1", kConfiguration), 0);
  node_.Write(kConf, "ClusterName=x\nInclude /shared/state.conf\n");
  EXPECT_EQ(RunStep("login1", kConfiguration), 0);
  Runs("slurmctld");
  EXPECT_EQ(RunStep("login1", kConfiguration), 1) << "wherever its state is";
  Set(R"({"slurm_take_over": true})");
  EXPECT_NE(Step("login1", kConfiguration).skip_reason(), "");
}

// It is written as people write it, or is Slurm's own default.
TEST_F(SlurmTakeOverTest, TheStateOfAConfigurationOfOthersComesAlong) {
  const v1::CommandResource command = Step("login1", "the state comes along").command();
  node_.Install(kConf, "StateSaveLocation = /var/spool/state # fast\n");
  node_.Write("/var/spool/state/clustername", "x");
  EXPECT_EQ(node_.Run(command.unless()), 1);
  EXPECT_EQ(node_.Run(command.argv()), 1);
  EXPECT_THAT(node_.output(), HasSubstr("/var/spool/state/. "));
  node_.Write(kConf, "ClusterName=x\n");
  EXPECT_EQ(node_.Run(command.unless()), 0);
  node_.Write("/var/spool/clustername", "x");
  EXPECT_EQ(node_.Run(command.unless()), 1);
}

// Its default folder has the mail, cron's tables and whatever else of the node, too.
TEST_F(SlurmTakeOverTest, SlurmsFilesAloneLeaveTheFolderThatOthersUse) {
  for (const char* folder : {"/var/spool", "/var/spool/", "/var/lib", "/etc/slurm", "/"}) {
    SCOPED_TRACE(folder);
    Set(absl::StrCat(R"({"slurm_state_directory": ")", folder, R"("})"));
    EXPECT_THAT(Compile("login1").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  for (const char* folder : {"/var/spool/slurm", "/slurm", "/var/lib/slurm/slurmctld"}) {
    Set(absl::StrCat(R"({"slurm_state_directory": ")", folder, R"("})"));
    EXPECT_OK(Compile("login1").error);
  }

  node_.Write(kConf, "ClusterName=x\n");
  for (const char* file : {"clustername", "job_state", "job_state.old", "hash.7/job.17/script",
                           "assoc_mgr_state", "cron/root", "slurmd/cred_state"})
    node_.Write(absl::StrCat("/var/spool/", file), "x");
  const v1::CommandResource command = Step("login1", "the state comes along").command();
  EXPECT_EQ(node_.Run(command.argv()), 1);
  // The command of the message, with the paths of a node.
  std::string copy = absl::StrReplaceAll(node_.output(), {{node_.root(), ""}});
  const size_t begin = copy.find("find ");
  const size_t end = copy.find("; then apply again");
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << copy;
  copy = copy.substr(begin, end - begin);
  const std::string to = node_.root() + "/var/lib/slurm/slurmctld";
  std::filesystem::create_directories(to);
  ASSERT_EQ(node_.Run(std::vector<std::string>{"bash", "-c", copy}), 0) << node_.output();
  EXPECT_EQ(node_.Run(command.unless()), 0);
  std::vector<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(to))
    there.push_back(entry.path().filename());
  EXPECT_THAT(there, UnorderedElementsAre("clustername", "job_state", "job_state.old", "hash.7",
                                          "assoc_mgr_state"));
}

// slurmd reported no steps in its new folder, and slurmctld ended the jobs.
TEST_F(SlurmTakeOverTest, SlurmdsSpoolFolderStays) {
  Set(R"({"slurm_take_over": true})");
  EXPECT_EQ(RunStep("login1", kJobs), 0) << "a first installation";
  node_.Write(kConf, "ClusterName=x\n");
  EXPECT_EQ(RunStep("login1", kJobs), 0) << "a sample, or one that has never run";
  node_.Write("/var/spool/job_state", "");
  EXPECT_EQ(RunStep("login1", kJobs), 1) << "Slurm's own default";
  EXPECT_THAT(node_.output(), HasSubstr("/var/spool/slurmd\" to slurm_extra_config"));
  node_.Write(kConf, "slurmdspooldir = /scratch/slurmd.%n # fast\n");
  EXPECT_EQ(RunStep("login1", kJobs), 1);
  EXPECT_THAT(node_.output(), HasSubstr("add \"SlurmdSpoolDir=/scratch/slurmd.%n\" to "));
  Set(R"({"slurm_extra_config": ["MaxJobCount=9", " slurmdspooldir = /scratch/slurmd.%n # kept"]})");
  EXPECT_EQ(RunStep("login1", kJobs), 0) << node_.output();
  node_.Write(kConf, kMusters);
  EXPECT_EQ(RunStep("login1", kJobs), 0);
}

// Before anything of the state was changed: what root writes, slurm cannot read.
TEST_F(SlurmTakeOverTest, ASlurmctldOfAnotherAccountIsStoppedFirst) {
  Set(R"({"slurm_take_over": true})");
  node_.Install(kConf, "SlurmdSpoolDir=/var/lib/slurm/slurmd\n");
  node_.Write("/var/spool/job_state", "");
  Runs("slurmctld");
  for (const char* user : {"root", "slurmadm"}) {
    node_.Program("ps", absl::StrCat("[[ $* == *' 4711' ]] && echo ", user));
    EXPECT_EQ(RunStep("login1", kJobs), 1) << user;
    EXPECT_THAT(node_.output(), HasSubstr("run systemctl stop slurmctld there"));
  }
  node_.Program("ps", "echo slurm");
  EXPECT_EQ(RunStep("login1", kJobs), 0) << node_.output();
  node_.Program("ps", "echo root");
  Runs("nothing");
  EXPECT_EQ(RunStep("login1", kJobs), 0) << "it was stopped: " << node_.output();
}

// slurmctld would begin an empty state where it cannot read the one that is there.
TEST_F(SlurmTakeOverTest, TheStateBelongsToSlurmsAccount) {
  const v1::CommandResource command = Step("login1", "the state follows slurm's account").command();
  EXPECT_EQ(command.argv(0), "chown");
  std::vector<std::string> names;
  const NodePlan plan = Compile("login1");
  for (const v1::RolePlan& role : plan.plan->roles())
    for (const v1::Step& step : role.steps()) names.push_back(step.name());
  const auto at = std::find(names.begin(), names.end(), "the state follows slurm's account");
  ASSERT_TRUE(at != names.end() && at + 1 != names.end());
  EXPECT_EQ(*(at + 1), "slurm.conf") << "what may be refused comes before";
  EXPECT_EQ(node_.Run(command.unless()), 0) << "a first installation";
  node_.Write("/var/lib/slurm/slurmctld/job_state", "");
  node_.Program("stat", "echo UNKNOWN");
  EXPECT_EQ(node_.Run(command.unless()), 1);
  node_.Program("stat", "echo slurm");
  EXPECT_EQ(node_.Run(command.unless()), 0);
}

// slurmctld said FATAL: CLUSTER NAME MISMATCH, and was gone.
TEST_F(SlurmTakeOverTest, ARenamedClusterIsNotTheOneOfTheState) {
  EXPECT_EQ(RunStep("login1", kName), 0) << "a first installation";
  const std::string path = "/var/lib/slurm/slurmctld/clustername";
  node_.Write(path, "");
  EXPECT_EQ(RunStep("login1", kName), 0);
  // Slurm makes small letters of it; from 24.11 on there is a number behind it.
  for (const char* same : {"x", "x\n", "X\n", "x|4711", "x|0\n"}) {
    node_.Write(path, same);
    EXPECT_EQ(RunStep("login1", kName), 0) << same << node_.output();
  }
  node_.Write(path, "old");
  EXPECT_EQ(RunStep("login1", kName), 1);
  node_.Write(path, "old|4711");
  EXPECT_EQ(RunStep("login1", kName), 1);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("is of cluster old, and the inventory is of cluster x"),
                    HasSubstr("stop slurmctld on login1 and rm "),
                    HasSubstr("/var/lib/slurm/slurmctld/clustername, and apply again")));
}

// Such a cluster worked, and was refused.
TEST_F(SlurmTakeOverTest, ANameOfAnotherSpellingStaysByALineOfSlurmConf) {
  Set(R"({"slurm_extra_config": ["ClusterName=not_this", "clustername = Old_Name # kept"]})");
  const std::string path = "/var/lib/slurm/slurmctld/clustername";
  node_.Write(path, "old_name|4711");
  EXPECT_EQ(RunStep("login1", kName), 0) << node_.output();
  node_.Write(path, "x|4711");
  EXPECT_EQ(RunStep("login1", kName), 1);
  Set(R"({"slurm_accounting_host": "login1"})");
  EXPECT_EQ(Step("login1", "QOS, accounts, users and limits").slurm_accounts().cluster(),
            "old_name");
}

// slurmd would not have started by a slurmctld whose slurm.conf was left in place.
TEST_F(SlurmTakeOverTest, ASlurmdOfOthersGoesOverBehindSlurmctld) {
  node_.Program("scontrol", "exit 1");
  EXPECT_EQ(RunStep("c001", kWorker), 0) << "a bare machine";
  Runs("slurmd");
  EXPECT_EQ(RunStep("c001", kWorker), 1) << "slurmctld does not answer";
  EXPECT_THAT(node_.output(), HasSubstr("what the role slurm_controller says on login1"));
  const auto says = [&](const char* host, const char* parameters, const char* version) {
    node_.Program("scontrol", absl::StrCat("echo 'SLURM_VERSION           = ", version,
                                           "\nSlurmctldHost[0]        = ", host,
                                           "\nSlurmctldHost[1]        = login1"
                                           "\nSlurmctldParameters     = ",
                                           parameters, "'"));
    return RunStep("c001", kWorker);
  };
  constexpr char kHandsOut[] = "cloud_dns,enable_configless";
  EXPECT_EQ(says("login1", "(null)", "22.05.8"), 1);
  EXPECT_EQ(says("login1", kHandsOut, "21.08.5"), 1) << "it would not understand the new slurmd";
  for (const char* other : {"head", "login10", "login10(10.0.0.1)"})
    EXPECT_EQ(says(other, kHandsOut, "22.05.8"), 1) << other;
  for (const char* version : {"22.05.8", "24.11.5"})
    EXPECT_EQ(says("login1", kHandsOut, version), 0) << node_.output();
  EXPECT_EQ(says("login1(10.0.0.1)", kHandsOut, "22.05.8"), 0) << node_.output();
  node_.Program("scontrol", "exit 1");
  node_.Write("/etc/systemd/system/slurmd.service.d/muster.conf", "[Unit]\n");
  EXPECT_EQ(RunStep("c001", kWorker), 0) << "Muster's own";
}

TEST_F(SlurmTakeOverTest, ASlurmdOfOthersIsNotTakenOverUnasked) {
  EXPECT_EQ(RunStep("c001", kUnaskedWorker), 0) << "a bare machine";
  Runs("slurmd");
  EXPECT_EQ(RunStep("c001", kUnaskedWorker), 1);
  node_.Write("/etc/default/slurmd", File("c001", "/etc/default/slurmd").content());
  EXPECT_EQ(RunStep("c001", kUnaskedWorker), 0) << "Muster's own, whose drop-in was lost";
  std::filesystem::remove_all(node_.root() + "/etc/default");
  node_.Write("/etc/systemd/system/slurmd.service.d/muster.conf", "[Unit]\n");
  EXPECT_EQ(RunStep("c001", kUnaskedWorker), 0) << "Muster's own";
  Set(R"({"slurm_take_over": true})");
  EXPECT_NE(Step("c001", kUnaskedWorker).skip_reason(), "");
}

// The next start of a slurmd in /opt waited for a file that never came.
TEST_F(SlurmTakeOverTest, ASlurmdOfNoPackageStays) {
  constexpr char kPackage[] = "no slurmd runs that is of no package";
  EXPECT_EQ(RunStep("c001", kPackage), 0) << "a bare machine";
  Runs("slurmd");
  EXPECT_EQ(RunStep("c001", kPackage), 1);
  Set(R"({"slurm_take_over": true})");
  EXPECT_EQ(RunStep("c001", kPackage), 1);
  node_.Write("/etc/systemd/system/slurmd.service.d/muster.conf", "[Unit]\n");
  EXPECT_EQ(RunStep("c001", kPackage), 0) << "Muster's own";
}

// It got another database before slurm_controller refused.
TEST_F(SlurmTakeOverTest, ASlurmdbdOfOthersIsNotTakenOverUnasked) {
  constexpr char kAccounting[] = "a slurmdbd that was here is not taken over unasked";
  Set(R"({"slurm_accounting_host": "login1", "slurm_database_name": "slurm_db"})");
  EXPECT_EQ(RunStep("login1", kAccounting), 0) << "a first installation";
  Runs("slurmdbd");
  EXPECT_EQ(RunStep("login1", kAccounting), 1) << "wherever its settings are";
  node_.Write("/etc/slurm/slurmdbd.conf", "StorageLoc=old\n");
  EXPECT_EQ(RunStep("login1", kAccounting), 1);
  EXPECT_THAT(node_.output(), HasSubstr("uses database slurm_db on this node"));
  node_.Write("/etc/slurm/slurmdbd.conf", "# Written by Muster; changes made here are lost.\n");
  EXPECT_EQ(RunStep("login1", kAccounting), 0);
  Set(R"({"slurm_take_over": true})");
  EXPECT_NE(Step("login1", kAccounting).skip_reason(), "");
}

// MariaDB's package put MySQL's data aside, and slurmdbd began with an empty database.
TEST_F(SlurmTakeOverTest, AMySqlIsNotReplaced) {
  constexpr char kMySql[] = "a MySQL that is here stays";
  Set(R"({"slurm_accounting_host": "login1"})");
  node_.Program("dpkg-query", "exit 1");
  EXPECT_EQ(RunStep("login1", kMySql), 0) << "a first installation";
  node_.Program("dpkg-query", "echo config-files mysql-server-core-8.0");
  EXPECT_EQ(RunStep("login1", kMySql), 0) << "it was removed";
  node_.Program("dpkg-query", "echo installed mysql-server-core-8.0");
  EXPECT_EQ(RunStep("login1", kMySql), 1);
  EXPECT_THAT(node_.output(), HasSubstr("MySQL (mysql-server-core-8.0)"));
  Set(R"({"slurm_take_over": true})");
  EXPECT_EQ(RunStep("login1", kMySql), 1) << "whoever set up slurmdbd";
  GiveOs("rocky", "9.4");
  EXPECT_NE(Step("login1", kMySql).skip_reason(), "") << "dnf refuses by itself";
}

// Packages that SchedMD's slurm.spec makes have no file for logrotate. logrotate refuses a file
// with a log that another one has.
TEST_F(SlurmTakeOverTest, LogsDoNotGrowForEver) {
  constexpr char kProgram[] = "/usr/local/lib/muster/slurm-log-rotation";
  constexpr char kFolder[] = "/etc/logrotate.d/";
  const struct {
    const char *node, *daemon, *as;
  } kDaemons[] = {{"login1", "slurmctld", "    su slurm slurm\n"},
                  {"login1", "slurmdbd", "    su slurm slurm\n"},
                  {"c001", "slurmd", ""}};
  Set(R"({"slurm_accounting_host": "login1"})");
  for (const auto& c : kDaemons) {
    SCOPED_TRACE(c.daemon);
    const std::string step = absl::StrCat(c.daemon, "'s log does not grow for ever");
    const v1::CommandResource command = Step(c.node, step).command();
    StandInNode node(absl::StrCat("logs-", c.daemon), {"/etc/", "/usr/local/lib/muster"});
    node.Install(kProgram, File(c.node, kProgram).content());
    const std::string own = absl::StrCat(kFolder, "muster-", c.daemon);
    const auto is_there = [&] {
      if (node.Run(command.unless()) != 0) {
        EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
      }
      EXPECT_EQ(node.Run(command.unless()), 0) << "a second time: " << node.output();
      return node.Exists(own);
    };
    node.Write("/etc/logrotate.conf", "# /var/log/slurm/*.log\nweekly\n");
    node.Write(absl::StrCat(kFolder, "dnf"), "/var/log/dnf.log {\n}\n");
    EXPECT_TRUE(is_there());
    EXPECT_THAT(node.Read(own), HasSubstr(absl::StrCat("\n/var/log/slurm/", c.daemon, ".log {\n",
                                                       c.as, "    weekly\n")));
    EXPECT_THAT(node.Read(own),
                HasSubstr(absl::StrCat(" --kill-who=main --signal=USR2 ", c.daemon, ".service ")));
    node.Write(own, "# Written by Muster; changes made here are lost.\n");
    EXPECT_NE(node.Run(command.unless()), 0) << "a file of before";
    EXPECT_TRUE(is_there());
    EXPECT_THAT(node.Read(own), HasSubstr("weekly"));

    const std::string site = absl::StrCat(kFolder, "of-the-site");
    for (const char* log : {"/var/log/slurm/*.log", "/var/log/slurm*/*.log", "/var/log/*/slurm*"}) {
      node.Write(site, absl::StrCat("/var/log/a.log \"", log, "\" {\n  daily\n}\n"));
      EXPECT_FALSE(is_there()) << log;
    }
    node.Write(site, absl::StrCat("/var/log/slurm/", c.daemon, ".log{\n  daily\n}\n"));
    EXPECT_FALSE(is_there());
    node.Write(site, "/var/log/slurm/other.log /var/log/slurm/slurm.log /var/log/*.log {\n}\n");
    EXPECT_TRUE(is_there()) << "of other logs";
    for (const auto& other : kDaemons) {
      node.Write(site, absl::StrCat("/var/log/slurm/", other.daemon, ".log {\n}\n"));
      EXPECT_EQ(is_there(), other.daemon != c.daemon) << other.daemon;
    }
    node.Write(absl::StrCat(kFolder, "slurm.rpmsave"), "/var/log/slurm/*.log {\n}\n");
    node.Write(site, "");
    node.Write(absl::StrCat(kFolder, "slurm.dpkg-dist"), "/var/log/slurm/*.log {\n}\n");
    EXPECT_TRUE(is_there()) << "files that logrotate passes over";

    // The init script signals nobody, and the log is compressed at once.
    const std::string package = absl::StrCat(kFolder, c.daemon);
    const std::string log = absl::StrCat("/var/log/slurm-llnl/", c.daemon, ".log /var/log/slurm/",
                                         c.daemon, ".log {\n  size=5M\n  postrotate\n      ");
    node.Write(package, absl::StrCat(log, "/usr/sbin/invoke-rc.d --quiet ", c.daemon,
                                     " reconfig >/dev/null\n      /bin/sleep 1\n  endscript\n}\n"));
    EXPECT_FALSE(is_there());
    EXPECT_EQ(node.Read(package), absl::StrCat(log, "systemctl kill --kill-who=main --signal=USR2 ",
                                               c.daemon, ".service 2>/dev/null || true; sleep 1\n",
                                               "      /bin/sleep 1\n  endscript\n}\n"));
    const std::string works = absl::StrCat(log, "start-stop-daemon -s USR2 --stop -q\n");
    node.Write(package, works);
    EXPECT_FALSE(is_there());
    EXPECT_EQ(node.Read(package), works) << "Debian 13's, or a site's own";
  }
}

// Commands there left the old cluster, although slurm_controller had refused.
TEST_F(SlurmTakeOverTest, ASlurmConfOfOthersStaysOnOtherLoginNodes) {
  constexpr char kLogin[] = "a slurm.conf that was here is not taken over unasked";
  node_.Program("squeue", "exit 0");
  EXPECT_EQ(RunStep("login2", kLogin), 0) << "a first installation";
  node_.Write(kConf, "ClusterName=x\n");
  EXPECT_EQ(RunStep("login2", kLogin), 1);
  node_.Program("squeue", "exit 1");
  EXPECT_EQ(RunStep("login2", kLogin), 0) << "a sample";
  node_.Program("squeue", "exit 0");
  node_.Write(kConf, kMusters);
  EXPECT_EQ(RunStep("login2", kLogin), 0);
  Set(R"({"slurm_take_over": true})");
  EXPECT_NE(Step("login2", kLogin).skip_reason(), "");
}

}  // namespace
}  // namespace muster::controller
