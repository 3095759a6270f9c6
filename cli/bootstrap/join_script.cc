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

std::string Fetch(const v1::AgentPackage& package) {
  return absl::StrCat("curl -fsS --noproxy '*' -o \"$d/muster-agent.deb\" ",
                      ShellQuote(package.url()), " && echo ", ShellQuote(package.sha256() + "  -"),
                      " >\"$d/sum\" && sha256sum -c --quiet \"$d/sum\" <\"$d/muster-agent.deb\"");
}

// Without a delay between retries: with one, apt 2.6 may wait forever.
constexpr char kInstall[] =
    "DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o DPkg::Lock::Timeout=300 "
    "-o Acquire::Retries::Delay=false "
    "\"$d/muster-agent.deb\"";

}  // namespace

std::string ShellQuote(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string JoinLine(const v1::CreateTokenResponse& response, const v1::IssuedToken& token) {
  // In a subshell: its exit status is that of the failed command, and nothing is left in the shell.
  std::string line = "(d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && chmod 755 \"$d\" && ";
  if (response.packages_size() > 0) {
    // One architecture is usual; with several, the paste-ready line is for the first.
    absl::StrAppend(&line, Fetch(response.packages(0)), " && ", kInstall, " && ");
  }
  return absl::StrCat(line, JoinCommand(response, token), ")");
}

std::string JoinScript(const v1::CreateTokenResponse& response, const v1::IssuedToken& token) {
  std::string script =
      "set -e\n"
      "d=$(mktemp -d)\n"
      "trap 'rm -rf \"$d\"' EXIT\n"
      "chmod 755 \"$d\"\n"
      "command -v apt-get >/dev/null || { echo 'this machine has no apt-get' >&2; exit 1; }\n";
  if (response.packages_size() > 0) {
    absl::StrAppend(&script, "case $(dpkg --print-architecture) in\n");
    for (const v1::AgentPackage& package : response.packages())
      absl::StrAppend(&script, ShellQuote(package.architecture()),
                      ") echo 'step: fetching the agent'\n", Fetch(package), ";;\n");
    absl::StrAppend(&script,
                    "*) echo \"the controller has no agent package for "
                    "$(dpkg --print-architecture)\" >&2; exit 1;;\n",
                    "esac\necho 'step: installing the agent'\n", kInstall,
                    " >\"$d/log\" 2>&1 || { tail -n 5 \"$d/log\" >&2; exit 1; }\n");
  }
  return absl::StrCat(script, "echo 'step: joining'\n", JoinCommand(response, token), "\n");
}

}  // namespace muster::cli
