#include <sys/utsname.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/session/join.h"
#include "agent/upgrade/upgrade_place.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxTokenBytes = 4096;

absl::StatusOr<std::string> ReadToken(const std::string& path, sys::FileSystem& files) {
  std::string token;
  if (path == "-") {
    char buffer[kMaxTokenBytes + 1];
    token.assign(buffer, std::fread(buffer, 1, sizeof buffer, stdin));
  } else {
    ASSIGN_OR_RETURN(token, files.Read(path, kMaxTokenBytes));
  }
  absl::StripAsciiWhitespace(&token);
  if (token.empty() || token.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path == "-" ? "standard input" : path, " contains no token; see `muster token create`"));
  }
  return token;
}

std::string Describe() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown machine";
  return absl::StrCat("host ", name.nodename, ", ", name.sysname, " ", name.release, " ",
                      name.machine);
}

// A running agent holds the old identity: restart, not start.
absl::Status StartService() {
  sys::RealProcessRunner processes;
  for (const char* verb : {"enable", "restart"}) {
    sys::ProcessSpec spec;
    spec.argv = {"systemctl", verb, kServiceUnit};
    spec.timeout = absl::Minutes(2);
    RETURN_IF_ERROR(
        Annotate(sys::RunChecked(processes, spec).status(),
                 absl::StrCat("joined, but `systemctl ", verb, " ", kServiceUnit, "` failed")));
  }
  return absl::OkStatus();
}

absl::Status Join(const Flags& flags) {
  RealClock clock;
  sys::RealFileSystem files;
  JoinOptions options = flags.join;
  ASSIGN_OR_RETURN(options.token, ReadToken(flags.token_file, files));
  options.description = Describe();
  RETURN_IF_ERROR(Join(options, Paths(flags.state_directory), files, clock,
                       [](absl::string_view line) { std::cout << line << std::endl; }));
  return flags.no_start ? absl::OkStatus() : StartService();
}

}  // namespace

int JoinCommand(const Flags& flags) {
  const absl::Status status = Join(flags);
  if (status.ok()) return 0;
  std::cerr << "muster-agent join: " << status.message() << std::endl;
  return 1;
}

}  // namespace muster::agent
