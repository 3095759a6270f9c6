#include "bench/swarm/swarm_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/pki/key.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/store/soci/store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/gpu_node_facts.h"

extern char** environ;

namespace muster::bench {
namespace {

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A TCP port of the loopback that is free now.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  int port = 0;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    port = ntohs(address.sin_port);
  }
  close(fd);
  return port;
}

bool Listens(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return listens;
}

// Appends the output to `log`.
absl::StatusOr<pid_t> Spawn(std::vector<std::string> arguments, const std::string& log,
                            const std::string& directory) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, absl::StrCat("starting ", arguments[0]));
  return pid;
}

std::string NodeName(size_t i) { return i == 0 ? "login1" : absl::StrFormat("c%05d", i); }

}  // namespace

absl::StatusOr<ProcessUse> UseOf(pid_t pid) {
  ProcessUse use;
  for (const absl::string_view line :
       absl::StrSplit(ReadFile(absl::StrCat("/proc/", pid, "/status")), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    double value = 0;
    if (words.size() < 2 || !absl::SimpleAtod(words[1], &value)) continue;
    if (words[0] == "VmRSS:") use.rss_mib = value / 1024;
    if (words[0] == "VmHWM:") use.peak_rss_mib = value / 1024;
    if (words[0] == "Threads:") use.threads = static_cast<int>(value);
  }
  if (use.threads == 0) return absl::NotFoundError(absl::StrCat("process ", pid, " is gone"));
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  const std::vector<std::string> words = absl::StrSplit(stat.substr(stat.rfind(')') + 2), ' ');
  double user = 0, system = 0;
  if (words.size() > 13 && absl::SimpleAtod(words[11], &user) &&
      absl::SimpleAtod(words[12], &system)) {
    use.cpu_s = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return use;
}

void ResetPeak(pid_t pid) { std::ofstream(absl::StrCat("/proc/", pid, "/clear_refs")) << "5"; }

absl::StatusOr<std::unique_ptr<SwarmCluster>> SwarmCluster::Make(Programs programs, size_t nodes) {
  const char* base = std::getenv("TMPDIR");
  std::string folder =
      absl::StrCat(base == nullptr ? "/tmp" : base, "/", NewShortId("muster-swarm"));
  std::filesystem::create_directories(folder);
  std::unique_ptr<SwarmCluster> cluster(new SwarmCluster(std::move(programs), std::move(folder)));
  RETURN_IF_ERROR(cluster->MakeAuthority());
  RETURN_IF_ERROR(cluster->WriteSettings(nodes));
  RETURN_IF_ERROR(cluster->EnrollAll(nodes));
  return cluster;
}

SwarmCluster::~SwarmCluster() {
  KillController();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

absl::Status SwarmCluster::MakeAuthority() {
  port_ = FreePort();
  return Muster({"init", "--cluster", "swarm", "--controller", absl::StrCat("localhost:", port_),
                 "--directory", absl::StrCat(folder_, "/etc")});
}

absl::Status SwarmCluster::WriteSettings(size_t nodes) {
  std::filesystem::create_directories(folder_ + "/packages");
  std::filesystem::create_directories(folder_ + "/inventory");
  std::ofstream(folder_ + "/etc/controller.yaml")
      << "cluster: swarm\ncontroller_address: localhost:" << port_
      << "\nlisten: 127.0.0.1:" << port_
      << "\nenrollment_listen: 127.0.0.1:0\npackage_listen: 127.0.0.1:0\nmetrics_listen: "
         "127.0.0.1:0\nweb_listen: 127.0.0.1:0\npki_directory: "
      << folder_ << "/etc/pki\nstate_directory: " << folder_
      << "/state\npackage_directory: " << folder_ << "/packages\n";
  std::ofstream inventory(folder_ + "/inventory/cluster.yaml");
  inventory << "cluster: swarm\nnodes:\n  login1: {role: login, address: 10.0.0.1}\n";
  if (nodes > 1) {
    inventory << "  \"c[00001-" << absl::StrFormat("%05d", nodes - 1)
              << "]\": {role: compute, groups: [h100]}\n";
  }
  inventory << "groups:\n  h100: {vars: {gpu_driver_branch: \"535\"}}\npartitions:\n  gpu: {nodes: "
               "compute, default: true, max_time: 7-00:00:00}\n";
  return inventory.flush().good() ? absl::OkStatus()
                                  : absl::InternalError("the inventory cannot be written");
}

absl::Status SwarmCluster::EnrollAll(size_t nodes) {
  ASSIGN_OR_RETURN(const controller::CertificateAuthority ca,
                   controller::CertificateAuthority::Load(folder_ + "/etc/pki"));
  ca_pem_ = ca.roots().pem;
  ASSIGN_OR_RETURN(const pki::KeyAndCsr key, pki::MakeKeyAndCsr("swarm"));
  key_pem_ = key.key_pem;
  csr_pem_ = key.csr_pem;
  std::filesystem::create_directories(folder_ + "/state");
  ASSIGN_OR_RETURN(const std::unique_ptr<controller::Store> store,
                   controller::OpenStore(folder_ + "/state/muster.db"));
  const absl::Time now = absl::Now();
  return store->Update([&](controller::Transaction& txn) -> absl::Status {
    for (size_t i = 0; i < nodes; ++i) {
      controller::NodeRecord node;
      node.uuid = NewUuid();
      node.name = NodeName(i);
      node.state = controller::NodeRecord::kEnrolled;
      node.enrolled_at = now;
      ASSIGN_OR_RETURN(controller::IssuedCertificate issued,
                       ca.IssueNode(key.csr_pem, node.uuid, node.name, now));
      RETURN_IF_ERROR(txn.nodes().Put(node));
      RETURN_IF_ERROR(txn.certificates().Insert(issued.record));
      machines_.push_back({node.uuid, node.name, std::move(issued.pem)});
    }
    return absl::OkStatus();
  });
}

absl::Status SwarmCluster::StartController() {
  ASSIGN_OR_RETURN(controller_,
                   Spawn({programs_.musterd, "--config", folder_ + "/etc/controller.yaml"},
                         folder_ + "/musterd.log", "/"));
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (absl::Now() < deadline) {
    if (Listens(port_)) return absl::OkStatus();
    int status = 0;
    if (waitpid(controller_, &status, WNOHANG) == controller_) {
      controller_ = -1;
      break;
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::UnavailableError(
      absl::StrCat("musterd does not listen: ", ReadFile(folder_ + "/musterd.log")));
}

void SwarmCluster::KillController() {
  if (controller_ <= 0) return;
  kill(controller_, SIGKILL);
  waitpid(controller_, nullptr, 0);
  controller_ = -1;
}

absl::Status SwarmCluster::Muster(const std::vector<std::string>& arguments) {
  const std::string log = folder_ + "/muster.log";
  std::vector<std::string> all = {programs_.muster, "--config", folder_ + "/etc/admin"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(std::move(all), log, programs_.site));
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return ErrnoStatus(errno, "waiting for muster");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  const std::string said = ReadFile(log);
  return absl::InternalError(
      absl::StrCat("muster ", arguments[0],
                   " failed: ", said.substr(said.size() - std::min<size_t>(said.size(), 2000))));
}

absl::StatusOr<std::string> SwarmCluster::Ask(const std::vector<std::string>& arguments) {
  const std::string log = folder_ + "/muster.log";
  const size_t before = ReadFile(log).size();
  RETURN_IF_ERROR(Muster(arguments));
  return ReadFile(log).substr(before);
}

absl::StatusOr<std::string> SwarmCluster::IssueUser(const std::string& name,
                                                    controller::Role role) const {
  ASSIGN_OR_RETURN(const controller::CertificateAuthority ca,
                   controller::CertificateAuthority::Load(folder_ + "/etc/pki"));
  ASSIGN_OR_RETURN(controller::IssuedCertificate issued,
                   ca.IssueUser(csr_pem_, name, role, absl::Now(),
                                absl::Now() + controller::CertificateAuthority::kUserLifetime));
  return std::move(issued.pem);
}

testing::AgentSwarm::Options SwarmCluster::SwarmOptions() const {
  testing::AgentSwarm::Options options;
  options.address = absl::StrCat("localhost:", port_);
  options.ca_pem = ca_pem_;
  options.key_pem = key_pem_;
  options.facts = testing::FactsOfAGpuNode();
  return options;
}

}  // namespace muster::bench
