#include "cli/bootstrap/join_script.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "muster/v1/enrollment.pb.h"

namespace muster::cli {
namespace {

std::string JoinCommand(const v1::CreateTokenResponse& response, const v1::IssuedToken& token) {
  // The token goes through a pipe: arguments are visible to every user of the machine.
  return absl::StrCat("printf %s ", ShellQuote(token.token()), " | muster-agent join --controller ",
                      ShellQuote(response.controller_address()), " --enrollment ",
                      ShellQuote(response.enrollment_address()), " --node ",
                      ShellQuote(token.node_name()), " --ca-pin ", ShellQuote(response.ca_pin()),
                      " --token-file -");
}

// Functions of both texts, each on one line, in what any /bin/sh understands.
//
// apt's own program fetches the package: a bare Debian has neither curl nor wget. It asks the
// controller itself, past any proxy, and gives up after one attempt.
constexpr char kFetch[] =
    "fetch() { PATH=$PATH:/usr/lib/apt apt-helper -qq -o Acquire::Retries=0 "
    "-o Acquire::http::Timeout=20 -o Acquire::http::Proxy=DIRECT -o APT::Sandbox::User=root "
    "download-file \"$1\" \"$d/muster-agent.deb\" || { echo 'cannot fetch the agent: check that "
    "this machine resolves the name in that address, and that the port is open to it' >&2; "
    "return 1; }; "
    "echo \"$2  -\" >\"$d/sum\" && sha256sum -c --quiet \"$d/sum\" <\"$d/muster-agent.deb\"; }";
// Once more with fresh lists of packages: a new machine has none, and an old one's name files that
// are gone. Without a delay between retries: with one, apt 2.6 may wait forever. needrestart only
// lists what maps an old library: Slurm may run on the machine.
constexpr char kInstall[] =
    "apt_get() { DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l apt-get \"$@\" -y -q "
    "-o DPkg::Lock::Timeout=300 -o Acquire::Retries::Delay=false; }; "
    "install_agent() { apt_get install \"$d/muster-agent.deb\" || "
    "{ apt_get update; apt_get install \"$d/muster-agent.deb\"; }; }";

std::string Fetch(const v1::AgentPackage& package) {
  return absl::StrCat("fetch ", ShellQuote(package.url()), " ", ShellQuote(package.sha256()));
}

}  // namespace

std::string ShellQuote(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string JoinLine(const v1::CreateTokenResponse& response, const v1::IssuedToken& token) {
  // In a subshell: its exit status is that of the failed command, and nothing is left in the shell.
  std::string line = "(d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && chmod 755 \"$d\" && ";
  if (response.packages_size() > 0) {
    // One architecture is usual; with several, the paste-ready line is for the first.
    absl::StrAppend(&line, "{ ", kFetch, "; ", kInstall, "; } && ", Fetch(response.packages(0)),
                    " && install_agent && ");
  }
  return absl::StrCat(line, JoinCommand(response, token), ")");
}

std::string JoinScript(const v1::CreateTokenResponse& response, const v1::IssuedToken& token) {
  std::string script =
      "set -e\n"
      "d=$(mktemp -d)\n"
      "trap 'rm -rf \"$d\"' EXIT\n"
      "chmod 755 \"$d\"\n"
      "command -v apt-get >/dev/null || { echo 'this machine has no apt-get, and the agent is a "
      "package for Debian and Ubuntu' >&2; exit 1; }\n";
  if (response.packages_size() > 0) {
    absl::StrAppend(&script, kFetch, "\n", kInstall, "\ncase $(dpkg --print-architecture) in\n");
    for (const v1::AgentPackage& package : response.packages())
      absl::StrAppend(&script, ShellQuote(package.architecture()),
                      ") echo 'step: fetching the agent'\n", Fetch(package), ";;\n");
    absl::StrAppend(
        &script,
        "*) echo \"the controller has no agent package for "
        "$(dpkg --print-architecture)\" >&2; exit 1;;\n",
        "esac\necho 'step: installing the agent'\n"
        "install_agent >\"$d/log\" 2>&1 || { echo 'cannot install the agent, or a package "
        "that it needs from the repositories of this machine' >&2; "
        "tail -n 2 \"$d/log\" >&2; exit 1; }\n");
  }
  return absl::StrCat(script, "echo 'step: joining'\n", JoinCommand(response, token), "\n");
}

}  // namespace muster::cli
