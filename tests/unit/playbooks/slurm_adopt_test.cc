// The program of the role slurm_controller that has slurmctld adopt its files, run against
// stand-ins for scontrol and systemctl.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "muster/v1/plan.pb.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kAdopt[] = "/usr/local/lib/muster/slurm-adopt";
constexpr char kNoAnswer[] =
    "echo 'slurm_reconfigure error: Socket timed out on send/recv operation' >&2; exit 1";
constexpr char kAsk[] = "scontrol reconfigure, by adopt.conf\n";
constexpr char kRestart[] = "systemctl is-active --quiet slurmctld\nsystemctl restart slurmctld\n";
constexpr char kAfterAllFiles[] = "t 4102444800000000";

class SlurmAdoptTest : public RolesFixture {
 protected:
  SlurmAdoptTest()
      : RolesFixture("- play: p\n  hosts: login\n  roles: [slurm_controller]\n",
                     {"slurm_controller"}),
        node_("slurm-adopt", {"/etc/slurm", "/var/log/slurm", "/usr/local/lib/muster"}) {
    Set(R"({"slurm_accounting_host": "login2"})");
    // What slurmctld is: UP, DOWN, STARTING, which is UP at the next look, or LOADING, which is UP
    // after ten looks.
    node_.Program("scontrol", absl::StrCat("cd ", node_.root(), R"(
if [[ $1 == ping ]]; then
  [[ ${SLURM_CONF##*/} == adopt-ping.conf ]] || exit 2
  echo "ping" >>pings
  up=1
  for node in primary:login1 backup:login2; do
    file=state.${node#*:}
    [[ -e $file ]] || continue
    state=$(<"$file")
    if [[ $state == STARTING ]]; then echo UP >"$file"; state=DOWN; fi
    if [[ $state == LOADING ]] && (($(wc -l <pings) > 10)); then state=UP; fi
    if [[ $state == UP ]]; then up=0; fi
    echo "Slurmctld(${node%:*}) at ${node#*:} is $state"
  done
  exit "$up"
fi
echo "scontrol $*, by ${SLURM_CONF##*/}" >>calls
. ./reconfigure)"));
    node_.Program("systemctl", absl::StrCat("cd ", node_.root(), R"(
echo "systemctl $*" >>calls
if [[ $1 == restart ]]; then touch restarted; . ./restart; else . ./is-active; fi)"));
    node_.Program("busctl", absl::StrCat("cat ", node_.root(), "/began"));
    node_.Write("/var/log/slurm/slurmctld.log", "its last words\n");
    node_.Write("/etc/slurm/slurm.conf", "ClusterName=x\n");
    node_.Write("/state.login1", "UP\n");
    node_.Write("/began", "t 1000000000000000\n");
    node_.Write("/is-active", "exit 0\n");
    node_.Write("/restart", "echo UP >state.login1\n");
    node_.Write("/reconfigure", "exit 0\n");
  }

  // A sleep moves its clock on by 20 s; nothing else takes time.
  int Adopt(const std::string& node, const std::vector<std::string>& words = {}) {
    node_.Install(kAdopt, absl::StrReplaceAll(
                              File(node, kAdopt).content(),
                              {{"\nset -euo pipefail\n",
                                "\nset -euo pipefail\nsleep() { SECONDS=$((SECONDS + 20)); }\n"}}));
    node_.Write("/calls", "");
    node_.Write("/pings", "");
    std::vector<std::string> argv = {kAdopt};
    argv.insert(argv.end(), words.begin(), words.end());
    return node_.Run(argv);
  }
  std::string Calls() const { return node_.Read("/calls"); }

  StandInNode node_;
};

TEST_F(SlurmAdoptTest, OneRequestIsEnough) {
  EXPECT_EQ(Adopt("login1", {"3"}), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
}

// The last of two lines counts, and slurm.conf may have one.
TEST_F(SlurmAdoptTest, ItWaitsForScontrolWhateverTheSiteHasCommandsWait) {
  EXPECT_THAT(File("login1", "/etc/slurm/adopt.conf").content(),
              HasSubstr("\nInclude /etc/slurm/slurm.conf\nMessageTimeout=60\n"));
  EXPECT_THAT(File("login1", "/etc/slurm/adopt-ping.conf").content(),
              HasSubstr("\nInclude /etc/slurm/slurm.conf\nMessageTimeout=10\n"));
  EXPECT_THAT(File("login1", kAdopt).content(),
              AllOf(HasSubstr("\nreadonly ping_seconds=20\n"),
                    HasSubstr("\nreadonly request_seconds=130\n")));
}

TEST_F(SlurmAdoptTest, ASlurmctldThatStartsIsWaitedFor) {
  node_.Write("/state.login1", "STARTING\n");
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
}

// A restart would have it begin again, and again at the next apply.
TEST_F(SlurmAdoptTest, ASlurmctldThatReadsALargeStateIsNotRestarted) {
  node_.Write("/state.login1", "LOADING\n");
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
  // After a restart it has as long.
  node_.Write("/restart", ": >pings; echo LOADING >state.login1\n");
  node_.Write("/reconfigure", absl::StrCat("if [[ -e restarted ]]; then exit 0; fi\n",
                                           "echo DOWN >state.login1\n", kNoAnswer));
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kRestart, kAsk));
}

TEST_F(SlurmAdoptTest, TheLimitOfTheTrialCountsWhereItIsLarger) {
  Set(R"({"slurm_trial_seconds": 900})");
  EXPECT_THAT(File("login1", kAdopt).content(), HasSubstr("\nreadonly start_seconds=900\n"));
}

TEST_F(SlurmAdoptTest, AnAnswerThatComesLateIsAskedForOnceMore) {
  node_.Write("/reconfigure", absl::StrCat("if [[ -e asked ]]; then exit 0; fi; touch asked\n",
                                           "echo STARTING >state.login1\n", kNoAnswer));
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kAsk));
  // One that takes no request in is not restarted: it may be at work.
  node_.Write("/reconfigure", "exit 124");  // what a timeout says
  EXPECT_EQ(Adopt("login1"), 1);
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kAsk));
  EXPECT_THAT(node_.output(), HasSubstr("its last words"));
}

// Slurm 24.11.5: every request hung, and so did each slurmd that asked for its files.
TEST_F(SlurmAdoptTest, ASlurmctldThatHangsIsRestartedOnce) {
  node_.Write("/reconfigure", absl::StrCat("if [[ -e restarted ]]; then exit 0; fi\n",
                                           "echo DOWN >state.login1\n", kNoAnswer));
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kRestart, kAsk));
}

TEST_F(SlurmAdoptTest, ASlurmctldThatHangsAlreadyIsRestartedFirst) {
  node_.Write("/state.login1", "DOWN\n");
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kRestart, kAsk));
}

TEST_F(SlurmAdoptTest, ASlurmctldThatHangsForEverIsRestartedNoMoreThanOnce) {
  for (const char* restart : {"echo DOWN >state.login1", "echo UP >state.login1", "exit 1"}) {
    SCOPED_TRACE(restart);
    node_.Write("/state.login1", "UP\n");
    node_.Write("/restart", restart);
    node_.Write("/reconfigure", absl::StrCat("echo DOWN >state.login1\n", kNoAnswer));
    EXPECT_EQ(Adopt("login1"), 1);
    EXPECT_THAT(Calls(), ::testing::StartsWith(absl::StrCat(kAsk, kRestart)));
    EXPECT_THAT(absl::StrReplaceAll(Calls(), {{kAsk, ""}}), kRestart);
    EXPECT_THAT(node_.output(), AllOf(HasSubstr("systemctl restart slurmdbd on login2"),
                                      HasSubstr("/var/log/slurm/slurmctld.log on login1"),
                                      HasSubstr("its last words")));
  }
}

TEST_F(SlurmAdoptTest, AConnectionThatBreaksIsNoRefusal) {
  for (const char* words :
       {"Socket timed out on send/recv operation", "Unable to contact slurm controller",
        "Zero Bytes were transmitted or received", "a message of zero length",
        "Communication connection failure"}) {
    SCOPED_TRACE(words);
    std::filesystem::remove(node_.root() + "/asked");
    node_.Write("/reconfigure",
                absl::StrCat("if [[ -e asked ]]; then exit 0; fi; touch asked\n",
                             "echo 'slurm_reconfigure error: ", words, "' >&2; exit 1"));
    EXPECT_EQ(Adopt("login1"), 0) << node_.output();
    EXPECT_EQ(Calls(), absl::StrCat(kAsk, kAsk));
  }
}

TEST_F(SlurmAdoptTest, ABackupThatIsToLeadIsRestarted) {
  constexpr char kStandby[] =
      "echo 'slurm_reconfigure error: Slurm backup controller in standby mode' >&2; exit 1";
  node_.Write("/reconfigure", absl::StrCat("if [[ -e restarted ]]; then exit 0; fi\n", kStandby));
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kRestart, kAsk));
  EXPECT_THAT(node_.output(), HasSubstr("waits as a backup"));
  // It still takes a moment to lead: both tries are left.
  std::filesystem::remove(node_.root() + "/restarted");
  node_.Write("/reconfigure",
              absl::StrCat("if (($(wc -l <calls) > 4)); then exit 0; fi\n", kStandby));
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kRestart, kAsk, kAsk));
  // Not more than once.
  node_.Write("/reconfigure", kStandby);
  EXPECT_EQ(Adopt("login1"), 1);
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kRestart, kAsk, kAsk));
}

TEST_F(SlurmAdoptTest, ARefusalFailsAtOnceWithItsWords) {
  node_.Write("/reconfigure",
              "echo 'slurm_reconfigure error: Invalid node name specified' >&2; exit 1");
  EXPECT_EQ(Adopt("login1"), 1);
  EXPECT_EQ(Calls(), kAsk);
  EXPECT_THAT(node_.output(),
              AllOf(HasSubstr("Invalid node name specified"), HasSubstr("its last words")));
}

TEST_F(SlurmAdoptTest, ASlurmctldThatHasEndedIsNotStarted) {
  node_.Write("/state.login1", "DOWN\n");
  node_.Write("/is-active", "exit 3\n");
  EXPECT_EQ(Adopt("login1"), 1);
  EXPECT_EQ(Calls(), "systemctl is-active --quiet slurmctld\n");
  EXPECT_THAT(node_.output(), HasSubstr("its last words"));
}

TEST_F(SlurmAdoptTest, AfterAFirstStartThereIsNothingToDo) {
  node_.Write("/began", kAfterAllFiles);
  EXPECT_EQ(Adopt("login1", {"0"}), 0) << node_.output();
  EXPECT_EQ(Calls(), "");
  // The slurmd of a worker still has the files of before.
  EXPECT_EQ(Adopt("login1", {"1"}), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
  // So has slurmctld.
  node_.Write("/began", "t 1000000000000000\n");
  EXPECT_EQ(Adopt("login1", {"0"}), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
}

// Slurm 23.11.4 of Ubuntu 24.04: the next step of a job failed, and its node was drained.
TEST_F(SlurmAdoptTest, ASlurmdThatWouldForgetItsJobsIsNotToldToReconfigure) {
  const std::string plain = File("login1", "/etc/slurm/slurm.conf").content();
  for (const char* version : {"23.11.0", "23.11.4", "23.11.6"}) {
    SCOPED_TRACE(version);
    facts_["c001"]["slurm"] = {{"version", version}};
    node_.Write("/began", "t 1000000000000000\n");
    EXPECT_EQ(Adopt("login1", {"1"}), 0) << node_.output();
    EXPECT_EQ(Calls(), kRestart);
    node_.Write("/began", kAfterAllFiles);
    EXPECT_EQ(Adopt("login1"), 0) << node_.output();
    EXPECT_EQ(Calls(), "");
    node_.Write("/state.login1", "DOWN\n");
    node_.Write("/began", "t 1000000000000000\n");
    EXPECT_EQ(Adopt("login1"), 0) << node_.output();
    EXPECT_EQ(Calls(), kRestart) << "no more than once";
  }
  for (const char* version : {"22.05.8", "23.11.7", "23.11.10", "24.11.5"}) {
    SCOPED_TRACE(version);
    facts_["c001"]["slurm"] = {{"version", version}};
    EXPECT_EQ(Adopt("login1", {"1"}), 0) << node_.output();
    EXPECT_EQ(Calls(), kAsk);
    EXPECT_EQ(File("login1", "/etc/slurm/slurm.conf").content(), plain);
  }
  // What a worker gets, before it has said a version; those of Debian 12 are told, whatever
  // slurmctld is.
  GiveOs("ubuntu", "24.04");
  EXPECT_EQ(Adopt("login1", {"1"}), 0) << node_.output();
  EXPECT_EQ(Calls(), kRestart);
  facts_["c001"]["os"]["id"] = "debian";
  facts_["c001"]["os"]["version_id"] = "12";
  EXPECT_EQ(Adopt("login1", {"1"}), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
}

// slurmd compares its slurm.conf with slurmctld's, and none of the files beside it.
TEST_F(SlurmAdoptTest, SlurmConfTellsOfTheFilesBesideIt) {
  facts_["c001"]["slurm"] = {{"version", "23.11.4"}};
  const auto conf = [&] { return File("login1", "/etc/slurm/slurm.conf").content(); };
  const std::string before = conf();
  EXPECT_THAT(before, HasSubstr("\n# Files beside it: "));
  Set(R"({"slurm_plugins": ["pyxis"]})");
  const std::string with_pyxis = conf();
  EXPECT_NE(with_pyxis, before) << "plugstack.conf";
  facts_["c001"]["gpus"] = {{{"device_path", "/dev/nvidia0"}, {"slurm_type", "h100"}}};
  const std::string with_gpu = conf();
  facts_["c001"]["gpus"][0]["device_path"] = "/dev/nvidia1";
  EXPECT_NE(conf(), with_gpu) << "gres.conf";
}

class SlurmdFilesTest : public RolesFixture {
 protected:
  SlurmdFilesTest()
      : RolesFixture("- play: p\n  hosts: compute\n  roles: [slurm_worker]\n", {"slurm_worker"}) {}
};

TEST_F(SlurmdFilesTest, ASlurmdThatIsNotToldTakesNewFilesByARestart) {
  constexpr char kStep[] = "slurmd has the files of slurmctld";
  StandInNode node("slurmd-files", {"/run/slurm"});
  facts_["c001"]["slurm"] = {{"version", "24.11.5"}};
  EXPECT_NE(Step("c001", kStep).skip_reason(), "");
  facts_["c001"]["slurm"] = {{"version", "23.11.4"}};
  const v1::CommandResource command = Step("c001", kStep).command();
  EXPECT_EQ(command.environment().at("SLURM_CONF"), "/run/slurm/conf/slurm.conf");
  const auto has_them = [&](const std::string& says) {
    node.Program("scontrol", says);
    return node.Run(command.unless()) == 0;
  };
  EXPECT_TRUE(has_them("echo 'HASH_VAL                = Match'"));
  EXPECT_FALSE(has_them("echo 'HASH_VAL                = Different Ours=0x1 Slurmctld=0x2'"));
  EXPECT_TRUE(has_them("exit 1")) << "slurmctld does not answer";
  node.Program("sleep", "exit 0");
  node.Program("systemctl", "echo \"$*\"; exit 1");
  node.Program("scontrol", "echo 'HASH_VAL = Different Ours=0x1 Slurmctld=0x2'");
  EXPECT_EQ(node.Run(command.argv()), 1);
  EXPECT_THAT(node.output(), AllOf(HasSubstr("restart slurmd.service"), HasSubstr("does not get")));
  node.Program("scontrol", "echo 'HASH_VAL = Match'");
  EXPECT_EQ(node.Run(command.argv()), 0) << "the second start of systemd's own";
}

TEST_F(SlurmAdoptTest, WorkersCountUnlessTheySayThatTheyHaveNoSlurm) {
  const auto workers = [&] { return Step("login1", "adopt the configuration").command().argv(1); };
  EXPECT_EQ(workers(), "1") << "its facts do not say it";
  facts_["c001"]["slurm"] = {{"version", ""}};
  EXPECT_EQ(workers(), "0");
  facts_["c001"]["slurm"] = {{"version", "24.11.5"}};
  EXPECT_EQ(workers(), "1");
}

TEST_F(SlurmAdoptTest, ABackupThatWaitsHandsOutNothing) {
  Set(R"({"slurm_backup_controllers": ["login2"], "slurm_state_directory": "/state/slurmctld",
          "slurm_shared_folders": ["/state"], "slurm_takeover_seconds": 0})");
  node_.Write("/state.login2", "UP\n");
  EXPECT_EQ(Adopt("login2"), 0) << node_.output();
  EXPECT_EQ(Calls(), "");
  node_.Write("/state.login1", "DOWN\n");
  EXPECT_EQ(Adopt("login2"), 0) << node_.output();
  EXPECT_EQ(Calls(), kAsk);
  // One that hangs is restarted by its own node, whoever leads meanwhile.
  node_.Write("/reconfigure", absl::StrCat("if [[ -e restarted ]]; then exit 0; fi\n", kNoAnswer));
  EXPECT_EQ(Adopt("login2"), 1);
  EXPECT_EQ(Calls(), absl::StrCat(kAsk, kAsk));
  EXPECT_EQ(Adopt("login1"), 0) << node_.output();
  EXPECT_EQ(Calls(), absl::StrCat(kRestart, kAsk));
}

}  // namespace
}  // namespace muster::controller
