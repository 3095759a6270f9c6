#include "agent/sys/apt/apt_arguments.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

// Seconds that apt itself waits, in case somebody takes the lock between our look and its own.
constexpr char kAptLockTimeout[] = "120";

// The options of every apt-get that chooses packages, whether it simulates or not.
constexpr const char* kChoice[] = {
    // Otherwise apt-get takes an unknown name for a regular expression: "libc6.dev" for 158
    // packages.
    "APT::Cmd::Pattern-Only=true",
    // Ubuntu offers an update to a part of all machines at first, each by its own machine-id: nodes
    // with one and the same repository would end with different packages.
    "APT::Get::Always-Include-Phased-Updates=true",
};

void AppendChoice(std::vector<std::string>& argv) {
  for (const char* option : kChoice) {
    argv.emplace_back("-o");
    argv.emplace_back(option);
  }
}

// The arguments of `apt-get install` for the transaction.
std::vector<std::string> Words(const PackageTransaction& transaction, bool changes_held) {
  std::vector<std::string> arguments = {"install", transaction.install_recommends
                                                       ? "--install-recommends"
                                                       : "--no-install-recommends"};
  if (transaction.only_upgrade) arguments.emplace_back("--only-upgrade");
  if (transaction.allow_downgrade) arguments.emplace_back("--allow-downgrades");
  // apt-get keeps holding packages that only its own resolver would change, with this option too.
  if (changes_held) arguments.emplace_back("--allow-change-held-packages");
  if (transaction.purge) arguments.emplace_back("--purge");
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), transaction.install.begin(), transaction.install.end());
  for (const std::string& name : transaction.remove) arguments.push_back(absl::StrCat(name, "-"));
  return arguments;
}

std::vector<std::string> Simulation(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"apt-get", "--simulate", "--yes",
                                   "--quiet", "-o",         "Debug::NoLocking=true"};
  AppendChoice(argv);
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

}  // namespace

absl::Status CheckAptName(const std::string& name) {
  const bool plain =
      !name.empty() && absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
      !absl::EndsWith(name, "-") && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.' || c == '_' || c == ':';
      });
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("package '", absl::CHexEscape(name),
                   "': apt takes this for a pattern, a task or a package to remove; write names of "
                   "packages, and state: absent for those that should go"));
}

std::vector<std::string> AptGet(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"apt-get", "--yes", "--quiet"};
  for (const std::string& option : {
           absl::StrCat("APT::Status-Fd=", sys::kStatusFd),
           std::string("Dpkg::Options::=--force-confdef"),
           std::string("Dpkg::Options::=--force-confold"),
           absl::StrCat("DPkg::Lock::Timeout=", kAptLockTimeout),
           std::string("Dpkg::Use-Pty=0"),
           std::string("Acquire::Retries=3"),
           // With a delay, which is the default, apt 2.6 waits for ever after a server has answered
           // a request for an InRelease file with an error.
           std::string("Acquire::Retries::Delay=false"),
       }) {
    argv.emplace_back("-o");
    argv.push_back(option);
  }
  AppendChoice(argv);
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::map<std::string, std::string> AptEnvironment() {
  return {{"DEBIAN_FRONTEND", "noninteractive"},
          {"DEBCONF_NONINTERACTIVE_SEEN", "true"},
          {"APT_LISTCHANGES_FRONTEND", "none"},
          {"NEEDRESTART_MODE", "l"}};
}

std::vector<std::string> AptGetTransaction(const PackageTransaction& transaction,
                                           bool changes_held) {
  return AptGet(Words(transaction, changes_held));
}

std::vector<std::string> AptGetSimulation(const PackageTransaction& transaction,
                                          bool changes_held) {
  return Simulation(Words(transaction, changes_held));
}

std::vector<std::string> AptGetUpgradeSimulation() {
  return Simulation({"upgrade", "--with-new-pkgs"});
}

std::vector<std::string> AptGetFixBroken() {
  return AptGet({"--fix-broken", "--no-remove", "install"});
}

std::vector<std::string> DpkgConfigureAll() {
  return {"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"};
}

}  // namespace muster::agent
