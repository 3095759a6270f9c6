#include "cli/bootstrap/bootstrap.h"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "cli/absolute_path.h"
#include "cli/bootstrap/join_script.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/show.h"
#include "cli/verbs/token.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/sys/process/process.h"
#include "muster/v1/enrollment.pb.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

// Installing over a slow line takes minutes, not hours.
constexpr absl::Duration kMachineTimeout = absl::Minutes(15);
// From the end of a join until the agent's stream is up.
constexpr absl::Duration kConnectTimeout = absl::Seconds(30);

std::string SshAccount(const BootstrapTarget& target, const BootstrapOptions& options) {
  return absl::StrCat(options.user, "@", target.address);
}

std::vector<std::string> SshCommand(const BootstrapTarget& target,
                                    const BootstrapOptions& options) {
  std::vector<std::string> argv = {"ssh"};
  if (!options.ssh_config.empty())
    argv.insert(argv.end(), {"-F", AbsolutePath(options.ssh_config)});
  argv.insert(argv.end(), {"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
                           "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
                           SshAccount(target, options)});
  // Not root: sudo without a password, as on provisioning accounts.
  if (options.user != "root") argv.insert(argv.end(), {"sudo", "-n"});
  argv.insert(argv.end(), {"sh", "-s"});
  return argv;
}

// The most informative lines: the last three that are not our own progress.
std::string LastWords(absl::string_view output) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n', absl::SkipWhitespace()))
    if (!absl::StartsWith(line, "step: ")) lines.emplace_back(absl::StripAsciiWhitespace(line));
  if (lines.size() > 3) lines.erase(lines.begin(), lines.end() - 3);
  return absl::StrJoin(lines, "; ");
}

// What ssh and sudo say when they would have had to ask, and what to do about it.
struct SshRefusal {
  const char* words;
  const char* remedy;
};
constexpr SshRefusal kSshRefusals[] = {
    {"Host key verification failed.",
     "connect once by `ssh USER@ADDRESS`, compare the host key and accept it, or put it into "
     "known_hosts by ssh-keyscan"},
    {"Permission denied (",
     "nobody can enter a password here: give the account your key by "
     "`ssh-copy-id USER@ADDRESS` (for root on Debian through another account and `su -c`, since "
     "root takes no password by ssh), or name another account by --user"},
    {"sudo: a password is required",
     "let the account run sudo without a password, or bootstrap as root"},
};

std::string RemedyOf(absl::string_view words, const std::string& account) {
  for (const SshRefusal& refusal : kSshRefusals)
    if (absl::StrContains(words, refusal.words))
      return absl::StrCat("; ", absl::StrReplaceAll(refusal.remedy, {{"USER@ADDRESS", account}}));
  return "";
}

absl::Status BootstrapOne(const BootstrapTarget& target, const BootstrapOptions& options,
                          sys::ProcessRunner& processes,
                          const std::function<void(const std::string&)>& on_step) {
  sys::ProcessSpec spec;
  spec.argv = SshCommand(target, options);
  spec.input = target.script;
  spec.timeout = kMachineTimeout;
  // After a Ctrl-C nobody installs any more: the script there ends when it next says something.
  spec.die_with_parent = true;
  // ssh finds its agent and its user's keys through these variables.
  for (const char* name : {"HOME", "SSH_AUTH_SOCK", "USER"})
    if (const char* value = std::getenv(name)) spec.environment[name] = value;
  spec.on_line = [&on_step](absl::string_view line) {
    if (absl::ConsumePrefix(&line, "step: ")) on_step(std::string(line));
  };
  ASSIGN_OR_RETURN(const sys::ProcessResult result, processes.Run(spec));
  if (result.ok()) return absl::OkStatus();
  if (result.timed_out)
    return absl::DeadlineExceededError(
        absl::StrCat("not finished after ", absl::FormatDuration(kMachineTimeout)));
  const std::string words = LastWords(result.output);
  // 255 is ssh's own failure; everything else comes from the script on the machine.
  return absl::UnavailableError(
      words.empty() ? absl::StrCat("ssh ", target.address, " exited with ", result.exit_code)
                    : absl::StrCat(words, RemedyOf(words, SshAccount(target, options))));
}

// Prints a plain line per step: dozens of machines scroll by, and logs keep it. What machines say
// that have not joined is anybody's.
class PrintingObserver final : public BootstrapObserver {
 public:
  explicit PrintingObserver(size_t total) : total_(total) {}
  void OnStep(const std::string& node, const std::string& step) override {
    std::cerr << node << ": " << CleanLine(step) << "\n";
  }
  void OnDone(const std::string& node, const absl::Status& status) override {
    ++done_;
    std::cerr << "[" << done_ << "/" << total_ << "] " << node << ": "
              << (status.ok() ? "joined" : absl::StrCat("FAILED: ", CleanLine(status.message())))
              << "\n";
  }

 private:
  const size_t total_;
  size_t done_ = 0;
};

struct Machines {
  std::map<std::string, std::string> addresses;  // by name, of the nodes to bootstrap
  std::vector<std::string> members;              // connected already: left alone
};

absl::StatusOr<Machines> FindMachines(const Connection& connection, const std::string& selector) {
  v1::NodeService::Stub stub(connection.channel());
  v1::ListNodesRequest request;
  request.set_selector(selector);
  v1::ListNodesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &v1::NodeService::Stub::ListNodes, request, &response));
  Machines machines;
  for (const v1::Node& node : response.nodes()) {
    if (node.connected()) {
      machines.members.push_back(node.name());
    } else {
      machines.addresses[node.name()] = node.address().empty() ? node.name() : node.address();
    }
  }
  return machines;
}

// The names of `nodes` that are still not connected after kConnectTimeout.
absl::StatusOr<std::vector<std::string>> AwaitConnected(Context& context,
                                                        const Connection& connection,
                                                        const std::vector<std::string>& nodes) {
  v1::NodeService::Stub stub(connection.channel());
  v1::ListNodesRequest request;
  request.set_selector(FoldHostlist(nodes));
  const absl::Time deadline = context.clock->Now() + kConnectTimeout;
  while (true) {
    v1::ListNodesResponse response;
    RETURN_IF_ERROR(Call(connection, stub, &v1::NodeService::Stub::ListNodes, request, &response));
    std::vector<std::string> away;
    for (const v1::Node& node : response.nodes())
      if (!node.connected() && node.state() != v1::NODE_STATE_PENDING) away.push_back(node.name());
    if (away.empty() || context.clock->Now() >= deadline) return away;
    context.clock->Sleep(absl::Milliseconds(200));
  }
}

}  // namespace

std::map<std::string, absl::Status> BootstrapAll(const std::vector<BootstrapTarget>& targets,
                                                 const BootstrapOptions& options,
                                                 sys::ProcessRunner& processes,
                                                 BootstrapObserver& observer) {
  absl::Mutex mutex;
  std::map<std::string, absl::Status> results;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < targets.size(); i = next++) {
      const BootstrapTarget& target = targets[i];
      const absl::Status status =
          BootstrapOne(target, options, processes, [&](const std::string& step) {
            absl::MutexLock lock(&mutex);
            observer.OnStep(target.node, step);
          });
      absl::MutexLock lock(&mutex);
      results[target.node] = status;
      observer.OnDone(target.node, status);
    }
  };
  std::vector<std::thread> workers;
  const size_t count = std::min<size_t>(targets.size(), std::max(1, options.parallel));
  for (size_t i = 0; i < count; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  return results;
}

absl::StatusOr<int> Bootstrap(Context& context, const BootstrapOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const Machines machines, FindMachines(*connection, options.nodes));
  const auto& addresses = machines.addresses;
  if (addresses.empty() && machines.members.empty())
    return absl::NotFoundError(absl::StrCat("no node in the inventory matches ", options.nodes));
  // So that the same command can be repeated when some have failed.
  if (!machines.members.empty())
    std::cerr << FoldHostlist(machines.members) << ": already joined and connected; left alone\n";
  if (addresses.empty()) return kExitClean;
  std::vector<std::string> names;
  for (const auto& [name, address] : addresses) names.push_back(name);

  TokenOptions token_options;
  token_options.nodes = FoldHostlist(names);
  v1::CreateTokenResponse tokens;
  RETURN_IF_ERROR(CreateTokens(*connection, token_options, &tokens));
  if (tokens.packages_size() == 0)
    return absl::FailedPreconditionError(
        "the controller has no agent package to offer; put muster-agent_*.deb into its package "
        "folder (/usr/share/muster/packages)");
  std::vector<BootstrapTarget> targets;
  for (const v1::IssuedToken& token : tokens.tokens())
    targets.push_back(
        {token.node_name(), addresses.at(token.node_name()), JoinScript(tokens, token)});

  sys::RealProcessRunner processes;
  PrintingObserver observer(targets.size());
  const auto results = BootstrapAll(targets, options, processes, observer);
  std::vector<std::string> joined, failed;
  for (const auto& [node, status] : results) (status.ok() ? joined : failed).push_back(node);
  if (!joined.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> away,
                     AwaitConnected(context, *connection, joined));
    if (!away.empty()) {
      std::cerr << FoldHostlist(away) << ": joined, but the agent has not connected in "
                << absl::FormatDuration(kConnectTimeout)
                << "; see journalctl -u muster-agent there\n";
      failed.insert(failed.end(), away.begin(), away.end());
    }
  }
  if (failed.empty()) {
    Words(context) << Counted(joined.size(), "node") << " joined: " << FoldHostlist(joined) << "\n";
    return kExitClean;
  }
  Words(context)
      << joined.size() << " of " << Counted(targets.size(), "node")
      << " joined; failed: " << FoldHostlist(failed)
      << "\nRun the same command again to retry; it skips the nodes that are connected.\n";
  return kExitFailed;
}

}  // namespace muster::cli
