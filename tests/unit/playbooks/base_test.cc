// The programs and commands of the role base, run in a folder that stands for the node's.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

class BaseTest : public RolesFixture {
 protected:
  BaseTest() : RolesFixture("- play: base\n  hosts: all\n  roles: [base]\n", {"base"}) {}
};

// A line that begins with a name is none.
TEST_F(BaseTest, NamesAreOfTheNodesWithAnAddress) {
  UseInventory(
      "cluster: x\nnodes: {login1: {role: login, address: login.site.example}, login2: {role: "
      "login, "
      "address: \"2001:db8::2\"}, c001: {role: compute, address: 10.0.0.11}, c002: {role: "
      "compute}}\n");
  const std::string hosts = File("c001", "/etc/hosts").content();
  EXPECT_THAT(hosts, HasSubstr("\n2001:db8::2 login2\n10.0.0.11 c001\n"));
  EXPECT_THAT(hosts, Not(HasSubstr("login1")));
  EXPECT_THAT(hosts, Not(HasSubstr("c002")));
}

// By manage_etc_hosts it writes /etc/hosts from its template at every boot.
TEST_F(BaseTest, CloudInitWritesTheNamesOfTheNodes) {
  options_.tags = {"names"};
  const v1::Step step = Step("c001", "cluster name resolution by cloud-init");
  EXPECT_EQ(step.skip_reason(), "");
  StandInNode node("cloud-init", {"/etc/"});
  node.Write("/etc/hosts", "10.0.0.11 c001\n");
  EXPECT_EQ(node.Run(step.command().unless()), 0) << "there is no cloud-init";

  node.Write("/etc/cloud/templates/hosts.debian.tmpl", "## template:jinja\n");
  node.Write("/etc/cloud/templates/hosts.suse.tmpl", "of another system\n");
  EXPECT_NE(node.Run(step.command().unless()), 0);
  EXPECT_EQ(node.Run(step.command().argv()), 0) << node.output();
  EXPECT_EQ(node.Read("/etc/cloud/templates/hosts.debian.tmpl"), "10.0.0.11 c001\n");
  EXPECT_EQ(node.Read("/etc/cloud/templates/hosts.suse.tmpl"), "of another system\n");
  EXPECT_FALSE(node.Exists("/etc/cloud/templates/hosts.redhat.tmpl"));
  EXPECT_EQ(node.Run(step.command().unless()), 0);
}

// needrestart reads its settings like this, and restarts what no pattern keeps it from.
constexpr char kNeedrestart[] = R"pl(
our %nrconf = (override_rc => {qr(^dbus) => 0});
eval do { local(@ARGV, $/) = shift; <> };
die $@ if $@;
for my $unit (@ARGV) {
  print "$unit\n" unless grep { $unit =~ /$_/ } keys %{$nrconf{override_rc}};
})pl";

// unattended-upgrades may exchange a library at any time.
TEST_F(BaseTest, NeedrestartLeavesTheProgramsAloneOnWhichJobsDepend) {
  constexpr char kSettings[] = "/etc/needrestart/conf.d/50-muster.conf";
  GiveOs("ubuntu", "24.04");
  StandInNode node("needrestart", {"/etc/"});
  node.Install(kSettings, File("c001", kSettings).content());
  EXPECT_EQ(node.Run(std::vector<std::string>{
                "perl", "-e", kNeedrestart, kSettings, "slurmd.service", "slurmctld.service",
                "munge.service", "nvidia-fabricmanager.service", "nvidia-imex.service",
                "muster-agent.service", "musterd.service", "beegfs-client.service", "dbus.service",
                "ssh.service"}),
            0);
  EXPECT_EQ(node.output(), "ssh.service\n");
  EXPECT_EQ(Step("c001", "folder of needrestart's settings").skip_reason(), "");
  GiveOs("rocky", "9.4");
  EXPECT_EQ(File("c001", kSettings).content(), "");
}

// unattended-upgrades would upgrade packages below running jobs.
TEST_F(BaseTest, UnattendedUpgradesAreOffWhereMusterBringsTheUpdates) {
  constexpr char kSettings[] = "/etc/apt/apt.conf.d/90muster-periodic";
  const auto is_off = [&] { return File("c001", kSettings).state() == v1::PRESENCE_PRESENT; };
  GiveOs("ubuntu", "24.04");
  options_.offer.snapshots["2026-11-26"] = {};
  EXPECT_EQ(File("c001", kSettings).state(), v1::PRESENCE_ABSENT);
  Set(R"({"os_updates": "off"})");
  EXPECT_FALSE(is_off());
  Set(R"({"os_updates": "security"})");
  EXPECT_TRUE(is_off());
  EXPECT_THAT(File("c001", kSettings).content(),
              HasSubstr("\nAPT::Periodic::Unattended-Upgrade \"0\";\n"));
  Set(R"({"os_updates": "off", "os_snapshot": "2026-11-26"})");
  EXPECT_TRUE(is_off());
  Set(R"({"os_unattended_upgrades": "keep"})");
  EXPECT_FALSE(is_off());
  Set(R"({"os_snapshot": "", "os_unattended_upgrades": "off"})");
  EXPECT_TRUE(is_off());
  GiveOs("rocky", "9.4");
  EXPECT_EQ(File("c001", kSettings).content(), "");
  // YAML reads an unquoted off as false.
  for (const char* value : {"false", "\"on\""}) {
    Set(absl::StrCat(R"({"os_unattended_upgrades": )", value, "}"));
    EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

// logind is masked where users need a job to log in.
TEST_F(BaseTest, SharedMemoryOfJobsOutlivesSessions) {
  EXPECT_THAT(File("c001", "/etc/systemd/logind.conf.d/50-muster.conf").content(),
              HasSubstr("[Login]\nRemoveIPC=no\n"));
  const v1::Step restart = Step("c001", "restart logind");
  StandInNode node("logind", {"/etc/"});
  node.Program("systemctl",
               R"(case $* in
                    *is-active*) [[ -e ${0%/bin/*}/runs ]] ;;
                    *) echo "$*" >>"${0%/bin/*}/calls" ;;
                  esac)");
  EXPECT_EQ(node.Run(restart.command().argv()), 0);
  EXPECT_FALSE(node.Exists("/calls"));
  node.Write("/runs", "");
  EXPECT_EQ(node.Run(restart.command().argv()), 0);
  EXPECT_EQ(node.Read("/calls"), "restart systemd-logind.service\n");
}

// systemd as far as units go that are enabled, known and active: folders with a file for each.
// Nothing starts before there is a server.
constexpr char kMountUnits[] = R"(
cd ${0%/bin/*}
unit=${*: -1}
case $1 in
  is-enabled) [[ -e enabled/$unit ]] ;;
  is-active) [[ -e active/$unit ]] ;;
  show) [[ -e known/$unit ]] && echo loaded || echo not-found ;;
  start)
    echo "$*" >>calls
    [[ -e server ]] || exit 1
    shift
    for unit; do touch "active/$unit"; done
    ;;
esac
)";

// A power cut: the nodes were up before the file server, and went on without the homes.
TEST_F(BaseTest, MountsThatFailAtTheBootAreWaitedFor) {
  constexpr char kWait[] = "/usr/local/lib/muster/wait-for-mounts";
  StandInNode node("mounts", {"/etc/", "/usr/local/lib/muster"});
  node.Install(kWait, File("c001", kWait).content());
  node.Program("systemctl", kMountUnits);
  node.Program("systemd-escape", "path=${3#/}; echo \"${path//\\//-}.mount\"");
  node.Program("sleep", "touch ${0%/bin/*}/server");
  const auto run = [&](const std::vector<std::string>& argv) {
    node.Write("/calls", "");
    return node.Run(argv);
  };
  node.Write("/active/other.service", "");
  EXPECT_EQ(run({kWait}), 0) << "nothing is mounted: " << node.output();
  EXPECT_EQ(node.Read("/calls"), "");

  constexpr char kOwner[] = "# Written by Muster for mounts[nfs_client]\n[Mount]\n";
  const std::string units = "/etc/systemd/system/";
  node.Write(units + "home.mount", absl::StrCat(kOwner, "Options=hard\n"));
  node.Write(units + "data\\x2da.mount", absl::StrCat(kOwner, "Options=hard,nofailover\n"));
  node.Write(units + "archive.mount", absl::StrCat(kOwner, "Options=hard,nofail\n"));
  node.Write(units + "later.mount", kOwner);
  node.Write(units + "theirs.mount", "[Mount]\n");
  for (const char* unit : {"home.mount", "data\\x2da.mount", "archive.mount", "theirs.mount"})
    node.Write(absl::StrCat("/enabled/", unit), "");
  EXPECT_EQ(run({kWait}), 0) << node.output();
  EXPECT_EQ(node.Read("/calls"),
            "start data\\x2da.mount home.mount\nstart data\\x2da.mount home.mount\n");
  EXPECT_THAT(node.output(), HasSubstr("not mounted yet: data\\x2da.mount home.mount;"));
  EXPECT_EQ(run({kWait}), 0);
  EXPECT_EQ(node.Read("/calls"), "") << "all is mounted";

  node.Write("/enabled/beegfs-client.service", "");
  node.Write("/known/state.mount", "");
  EXPECT_EQ(run({kWait, "/state/slurmctld"}), 0) << node.output();
  EXPECT_EQ(node.Read("/calls"), "start state.mount\n");
}

TEST_F(BaseTest, MountsAreTriedAgainFromTheNextBootOn) {
  EXPECT_THAT(File("c001", "/etc/systemd/system/muster-mounts.service").content(),
              HasSubstr("\nExecStart=/usr/local/lib/muster/wait-for-mounts\n"));
  const v1::UnitResource unit = Step("c001", "from the next boot on").unit();
  EXPECT_TRUE(unit.enabled());
  EXPECT_EQ(unit.state(), v1::UNIT_STATE_UNSPECIFIED);
}

// firewalld as far as its sets of addresses and the sources of a zone go.
constexpr char kFirewallCmd[] = R"(
cd "${0%/bin/*}/firewalld"
for word; do
  case $word in
    --permanent | --quiet | --type=* | --option=* | --zone=trusted) ;;
    --ipset=*) ipset=${word#*=} ;;
    *) verb=$word ;;
  esac
done
of=${verb#*=}
of=${of#ipset:}
case $verb in
  --state) [[ -e running ]] ;;
  --get-ipsets) find sets -type f -printf '%f ' ;;
  --new-ipset=*) : >"sets/$of" ;;
  --delete-ipset=*) rm -f "sets/$of" "told/$of" ;;
  --add-entries-from-file=*) cat "$of" >"sets/$ipset" ;;
  --set-description=*) echo "$of" >"told/$ipset" ;;
  --get-description) cat "told/$ipset" ;;
  --query-source=*) [[ -e sources/$of ]] ;;
  --add-source=*) : >"sources/$of" ;;
  --remove-source=*) rm "sources/$of" ;;
  --reload) echo once >>reloads ;;
  *) exit 2 ;;
esac)";

TEST_F(BaseTest, FirewalldLetsTheNodesOfTheInventoryInAndNoOthers) {
  constexpr char kProgram[] = "/usr/local/lib/muster/firewalld-nodes";
  const std::vector<std::string> is_set = {kProgram, "is-set"}, set = {kProgram, "set"};
  GiveOs("rocky", "9.4");
  StandInNode node("firewalld", {"/usr/local/lib/muster"});
  for (const char* folder : {"sets", "told", "sources"})
    std::filesystem::create_directories(absl::StrCat(node.root(), "/firewalld/", folder));
  node.Program("firewall-cmd", kFirewallCmd);
  node.Install(kProgram, File("login1", kProgram).content());
  EXPECT_EQ(node.Run(is_set), 0) << "it does not run";

  node.Write("/firewalld/running", "");
  EXPECT_NE(node.Run(is_set), 0);
  EXPECT_EQ(node.Run(set), 0) << node.output();
  EXPECT_EQ(node.Run(is_set), 0) << node.output();
  EXPECT_EQ(node.Read("/firewalld/sets/muster-nodes"), "10.0.0.1\n10.0.0.11\n");
  EXPECT_EQ(node.Read("/firewalld/sets/muster-nodes6"), "2001:db8::2\n");
  EXPECT_TRUE(node.Exists("/firewalld/sources/muster-nodes6"));
  EXPECT_EQ(node.Read("/firewalld/reloads"), "once\n");

  UseInventory(
      "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, c002: {role: compute, "
      "address: 10.0.0.12}, c003: {role: compute}}\n");
  GiveOs("rocky", "9.4");
  node.Install(kProgram, File("login1", kProgram).content());
  EXPECT_NE(node.Run(is_set), 0);
  EXPECT_EQ(node.Run(set), 0) << node.output();
  EXPECT_EQ(node.Run(is_set), 0) << node.output();
  EXPECT_EQ(node.Read("/firewalld/sets/muster-nodes"), "10.0.0.1\n10.0.0.12\n");
  EXPECT_FALSE(node.Exists("/firewalld/sets/muster-nodes6"));
  EXPECT_FALSE(node.Exists("/firewalld/sources/muster-nodes6"));

  // It would open at its next start what its files say.
  std::filesystem::remove(absl::StrCat(node.root(), "/firewalld/running"));
  node.Program("firewall-offline-cmd", kFirewallCmd);
  Set(R"({"base_firewalld": "kept"})");
  EXPECT_EQ(File("login1", kProgram).content(), "");
  const v1::CommandResource command = Step("login1", "firewalld knows no nodes").command();
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  EXPECT_EQ(node.Run(command.unless()), 0);
  EXPECT_FALSE(node.Exists("/firewalld/sets/muster-nodes"));
  EXPECT_FALSE(node.Exists("/firewalld/sources/muster-nodes"));
}

// subscription-manager writes redhat.repo anew wherever dnf runs, unless its settings say
// otherwise.
TEST_F(BaseTest, RepositoriesOfASubscriptionAreSetAsideAndComeBack) {
  constexpr char kProgram[] = "/usr/local/lib/muster/os-sources";
  constexpr char kRepo[] = "/etc/yum.repos.d/redhat.repo";
  const auto run = [&](StandInNode& node, std::vector<std::string> words) {
    words.insert(words.begin(), kProgram);
    return node.Run(words);
  };
  StandInNode node("os-sources", {"/usr/local/lib/muster", "/etc/"});
  node.Install(kProgram, site_["playbooks/roles/base/files/os-sources"]);
  node.Write("/etc/os-release", "ID=rhel\n");
  node.Write("/etc/rhsm/rhsm.conf", "[rhsm]\nmanage_repos = 1\n");
  node.Write(kRepo, "[baseos]\n");
  node.Write("/etc/yum.repos.d/os-day.repo", "[os-day]\n");
  node.Program("subscription-manager",
               absl::StrCat("sed -i \"s/^manage_repos.*/manage_repos = ${2##*=}/\" ", node.root(),
                            "/etc/rhsm/rhsm.conf"));
  EXPECT_NE(run(node, {"is-set", "day"}), 0);
  EXPECT_EQ(run(node, {"set", "day"}), 0) << node.output();
  EXPECT_EQ(run(node, {"is-set", "day"}), 0);
  EXPECT_FALSE(node.Exists(kRepo));
  EXPECT_THAT(node.Read("/etc/rhsm/rhsm.conf"), HasSubstr("\nmanage_repos = 0\n"));

  EXPECT_NE(run(node, {"is-set"}), 0);
  EXPECT_EQ(run(node, {"set"}), 0) << node.output();
  EXPECT_EQ(run(node, {"is-set"}), 0);
  EXPECT_EQ(node.Read(kRepo), "[baseos]\n");
  EXPECT_THAT(node.Read("/etc/rhsm/rhsm.conf"), HasSubstr("\nmanage_repos = 1\n"));
}

}  // namespace
}  // namespace muster::controller
