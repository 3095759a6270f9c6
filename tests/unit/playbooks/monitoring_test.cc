// The roles prometheus, grafana and slurm_metrics: who may use Alertmanager and Grafana, what nodes
// may say, and what Slurm says of a long queue.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/playbooks/roles_fixture.h"
#include "tests/unit/playbooks/stand_in_node.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMonitoring[] = R"(
- play: p
  hosts: login
  roles:
    - prometheus
    - {role: grafana, needs: [prometheus]}
    - slurm_metrics
)";

class MonitoringTest : public RolesFixture {
 protected:
  MonitoringTest() : RolesFixture(kMonitoring, {"prometheus", "grafana", "slurm_metrics"}) {
    Set(R"({"prometheus_host": "login1",
            "grafana_repository": {"uris": ["http://mirror.example"], "key": "KEY"}})");
  }
};

// Root of a node writes what it likes into its exporter.
TEST_F(MonitoringTest, ANodeMeasuresItselfAloneAndWithinBounds) {
  const std::string settings = File("login1", "/etc/prometheus/prometheus.yml").content();
  const size_t nodes = settings.find("- job_name: nodes\n");
  ASSERT_NE(nodes, std::string::npos);
  const std::string job = settings.substr(nodes);
  for (const char* bound : {"sample_limit: 20000", "label_limit: 64", "body_size_limit: 16MB"})
    EXPECT_THAT(job, HasSubstr(absl::StrCat("\n    ", bound, "\n")));
  const auto pattern_of = [&](const std::string& labels, const std::string& action) {
    const std::string before = "{source_labels: " + labels + ", regex: '";
    const size_t at = job.find(before) + before.size();
    const size_t end = job.find("', action: " + action + "}", at);
    EXPECT_NE(end, std::string::npos) << labels;
    return std::regex(job.substr(at, end - at));
  };
  const std::regex dropped = pattern_of("[__name__]", "drop");
  const std::regex kept = pattern_of("[__name__, node]", "keep");
  const auto is_taken = [&](const std::string& name, const std::string& node) {
    return !std::regex_match(name, dropped) && std::regex_match(name + ";" + node, kept);
  };
  for (const char* name : {"muster_nodes", "muster_node_connected", "muster_health_drained_nodes",
                           "muster_rollouts", "muster_slurm_gate_trouble",
                           "muster_authority_expiry_timestamp_seconds", "muster_calls_total"}) {
    EXPECT_FALSE(is_taken(name, "login1")) << name;
  }
  for (const char* name : {"slurm_up", "slurm_nodes"}) {
    EXPECT_TRUE(is_taken(name, "login1")) << name;
    EXPECT_FALSE(is_taken(name, "c001")) << name;
  }
  for (const char* name : {"node_load1", "muster_gpu_count", "process_open_fds", "sl", "s", "up"})
    EXPECT_TRUE(is_taken(name, "c001")) << name;
}

// A user of the node took the port while Alertmanager was restarted, and Prometheus gave them its
// password; people would give theirs to a Grafana of that user's.
TEST_F(MonitoringTest, PortsThatPasswordsGoToAreRootsToGive) {
  for (const char* unit : {"prometheus-alertmanager", "grafana-server"})
    EXPECT_THAT(File("login1", absl::StrCat("/etc/systemd/system/", unit, ".service.d/muster.conf"))
                    .content(),
                HasSubstr("\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n"))
        << unit;
  EXPECT_THAT(File("login1", "/etc/default/prometheus-alertmanager").content(),
              HasSubstr("--web.listen-address=127.0.0.1:393 "));
  EXPECT_THAT(File("login1", "/etc/systemd/system/grafana-server.service.d/muster.conf").content(),
              HasSubstr("\nEnvironment=GF_SERVER_HTTP_PORT=394\n"));
  Set(R"({"alertmanager_listen": "[::1]:1023", "grafana_port": 3000})");
  EXPECT_OK(Compile("login1").error) << "a site may give Grafana another one";
  for (const char* listen : {"127.0.0.1:9093", "127.0.0.1:0", ":alerts", "[::1]:1024"}) {
    Set(absl::StrCat(R"({"alertmanager_listen": ")", listen, R"("})"));
    EXPECT_THAT(Compile("login1").error.ToString(), HasSubstr("alertmanager_listen")) << listen;
  }
}

// The address may be one that the node gets late at boot, and a program that cannot listen ends.
TEST_F(MonitoringTest, BothWaitForTheNetworkAndTryAgain) {
  for (const char* unit : {"prometheus", "prometheus-alertmanager"}) {
    const std::string settings =
        File("login1", absl::StrCat("/etc/systemd/system/", unit, ".service.d/muster.conf"))
            .content();
    EXPECT_THAT(settings, HasSubstr("\nWants=network-online.target\nAfter=network-online.target\n"
                                    "StartLimitIntervalSec=0\n[Service]\nRestart=always\n"))
        << unit;
  }
}

// Alertmanager leaves a port only when Prometheus no longer sends the password there.
TEST_F(MonitoringTest, PrometheusLearnsOfAnotherPortFirst) {
  const NodePlan plan = Compile("login1");
  ASSERT_OK(plan.error);
  std::vector<std::string> names;
  for (const v1::Step& step : plan.plan->roles(0).handlers()) names.push_back(step.name());
  EXPECT_THAT(names,
              ElementsAre("reload prometheus", "restart alertmanager", "restart prometheus"));
}

// With a `date` for each job, those of 18,000 took longer than squeue may.
TEST_F(MonitoringTest, ALongQueueIsReadInTime) {
  constexpr char kProgram[] = "/usr/local/lib/muster/slurm-metrics";
  StandInNode node("slurm-metrics", {"/usr/local/lib/muster"});
  node.Install(kProgram, File("login1", kProgram).content());
  node.Program("scontrol", "echo 'Slurmctld(primary) at login1 is UP'");
  for (const char* program : {"sinfo", "sdiag"}) node.Program(program, "exit 0");
  node.Program("squeue", R"([[ $* == *--states=pending* ]] || exit 0
awk 'BEGIN { for (i = 0; i < 50000; ++i) print (i % 2 ? "gpu" : "batch") "|2026-03-01T0" i % 7 ":00:00" }'
echo 'gpu|2026-02-28T23:59:59'
echo 'long|N/A')");
  node.Program("date", absl::StrCat("echo \"$*\" >>", node.root(), R"(/dates
case $* in
  +%s) echo 5000 ;;
  *2026-03-01T00:00:00*) echo 4000 ;;
  *2026-02-28T23:59:59*) echo 3000 ;;
esac)"));
  const std::string file = node.root() + "/slurm.prom";
  EXPECT_EQ(node.Run(std::vector<std::string>{kProgram, file}), 0) << node.output();
  EXPECT_THAT(node.Read("/slurm.prom"),
              HasSubstr("gauge\nslurm_oldest_pending_seconds{partition=\"batch\"} 1000\n"
                        "slurm_oldest_pending_seconds{partition=\"gpu\"} 2000\n# HELP"));
  const std::string dates = node.Read("/dates");
  EXPECT_EQ(std::count(dates.begin(), dates.end(), '\n'), 3);
}

// The suffix __FILE is one of Grafana's containers.
TEST_F(MonitoringTest, GrafanaReadsTheFileOfItsPassword) {
  EXPECT_THAT(
      File("login1", "/etc/systemd/system/grafana-server.service.d/muster.conf").content(),
      HasSubstr("\nEnvironment=GF_SECURITY_ADMIN_PASSWORD=$__file{/etc/grafana/muster_admin_"
                "password}\n"));
}

// curl, asking a Grafana that has the password in the file `password`.
constexpr char kCurl[] = R"sh(
folder=${0%/bin/*}
for word; do
  case $word in
    admin:*) login=$word ;;
    http://127.0.0.1:394/*) url=$word ;;
  esac
done
[[ -e $folder/runs ]] || exit 7
[[ -n ${login:-} ]] || login=$(sed 's/^user = "\(.*\)"$/\1/')
echo "$login" >>"$folder/logins"
if [[ $login != "admin:$(<"$folder/password")" ]]; then printf 401; exit; fi
printf 200
[[ $url != */password ]] || sed 's/.*"newPassword": "\([^"]*\)".*/\1/' >"$folder/password"
)sh";

TEST_F(MonitoringTest, AGrafanaThatBeganWithoutTheFileLosesThePasswordThatEverybodyKnows) {
  const v1::CommandResource command = Step("login1", "no password that everybody knows").command();
  const std::string mark = "/etc/grafana/muster_admin_set";
  StandInNode node("grafana", {"/etc/grafana"});
  node.Program("curl", kCurl);
  node.Write("/etc/grafana/muster_admin_password", "a/b+c=");
  node.Write("/password", "admin\n");
  EXPECT_EQ(node.Run(command.unless()), 0) << "Grafana does not run";

  node.Write("/runs", "");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  EXPECT_EQ(node.Read("/password"), "a/b+c=");
  EXPECT_TRUE(node.Exists(mark));
  std::filesystem::remove(node.root() + mark);
  node.Write("/logins", "");
  EXPECT_EQ(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Read("/logins"), "admin:a/b+c=\n") << "a wrong password counts";
  // One that somebody has set is theirs, and is asked for once: wrong passwords lock their account.
  node.Write("/password", "of-ann\n");
  EXPECT_NE(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Run(command.argv()), 0) << node.output();
  EXPECT_EQ(node.Read("/password"), "of-ann\n");
  node.Write("/logins", "");
  EXPECT_EQ(node.Run(command.unless()), 0);
  EXPECT_EQ(node.Read("/logins"), "");
}

// Every user of the machine reaches it, and could silence alerts.
TEST_F(MonitoringTest, AlertmanagerAsksForThePasswordThatPrometheusHas) {
  constexpr char kFile[] = "/etc/muster-node/alertmanager-web.yml";
  constexpr char kLogin[] = "/usr/local/lib/muster/alertmanager-login";
  constexpr char kPassword[] = "/etc/prometheus/muster_alertmanager_password";
  const v1::FileResource password = File("login1", kPassword);
  EXPECT_EQ(password.group(), "prometheus");
  EXPECT_EQ(password.mode(), 0640u);
  const v1::Step step = Step("login1", "who may use Alertmanager");
  EXPECT_TRUE(step.sensitive());
  EXPECT_EQ(step.command().environment().at("PASSWORD"), password.content());
  EXPECT_THAT(File("login1", "/etc/default/prometheus-alertmanager").content(),
              HasSubstr(absl::StrCat(" --web.config.file=", kFile, " ")));
  EXPECT_THAT(File("login1", "/etc/prometheus/prometheus.yml").content(),
              HasSubstr(absl::StrCat("basic_auth: {username: muster, password_file: ", kPassword)));

  StandInNode node("alertmanager", {"/etc/muster-node", "/usr/local/lib/muster"});
  node.Install(kLogin, File("login1", kLogin).content());
  node.Write("/etc/muster-node/other", "");
  const auto run = [&](const std::string& word, const char* verb) {
    return node.Run(std::vector<std::string>{"/usr/bin/env", "PASSWORD=" + word, kLogin, verb});
  };
  EXPECT_NE(run("one", "is-set"), 0);
  EXPECT_EQ(run("one", "set"), 0) << node.output();
  EXPECT_THAT(node.Read(kFile), HasSubstr("\nbasic_auth_users: {muster: \"$2b$10$"));
  EXPECT_EQ(run("one", "is-set"), 0) << node.output();
  EXPECT_NE(run("two", "is-set"), 0);
  EXPECT_EQ(run("two", "set"), 0) << node.output();
  EXPECT_EQ(run("two", "is-set"), 0) << node.output();
  node.Write(kFile, "basic_auth_users: {}\n");
  EXPECT_NE(run("two", "is-set"), 0);
}

}  // namespace
}  // namespace muster::controller
