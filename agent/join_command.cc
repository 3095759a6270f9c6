#include <sys/utsname.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/session/join.h"
#include "agent/session/tpm.h"
#include "agent/sys/boot_words.h"
#include "agent/upgrade/upgrade_place.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/join_word.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxTokenBytes = 4096;
// The kernel's resource manager, which lets several programs use the TPM.
constexpr char kTpmDevice[] = "/dev/tpmrm0";
// In memory.
constexpr char kTpmFolder[] = "/run/muster-tpm";

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

// systemd passes it on to the console and the journal, where the command is a unit's.
void Tell(absl::string_view line) { std::cout << line << std::endl; }

absl::Status Join(const Flags& flags) {
  RealClock clock;
  sys::RealFileSystem files;
  JoinOptions options = flags.join;
  ASSIGN_OR_RETURN(options.token, ReadToken(flags.token_file, files));
  options.description = Describe();
  RETURN_IF_ERROR(Join(options, Paths(flags.state_directory), files, clock, Tell));
  return flags.no_start ? absl::OkStatus() : StartService();
}

absl::StatusOr<JoinOptions> OptionsOfBoot(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::optional<std::string> value, ReadBootWord(files, kJoinWord));
  if (!value.has_value())
    return absl::FailedPreconditionError(
        "this machine was not booted to join: the kernel's command line has no muster.join=. The "
        "inventory's variable `boot_join` has the boot server write it");
  ASSIGN_OR_RETURN(JoinWord word, ParseJoinWord(*value));
  if (word.node.empty()) {  // it was signed for all
    ASSIGN_OR_RETURN(const std::optional<std::string> node, ReadBootWord(files, kNodeWord));
    if (!node.has_value())
      return absl::FailedPreconditionError(absl::StrCat(
          "the boot server has not told this machine which node it is: ", kBootWordsFolder,
          " has no ", kNodeWord));
    word.node = *node;
  }
  JoinOptions options;
  options.node_name = word.node;
  options.enrollment = word.enrollment;
  options.controller = word.controller;
  options.ca_pin = word.ca_pin;
  options.description = Describe();
  return options;
}

// nullopt: the machine has none.
absl::StatusOr<std::optional<std::string>> FindTpm(const Flags& flags, sys::FileSystem& files) {
  if (!flags.tcti.empty()) return flags.tcti;
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> device, files.Stat(kTpmDevice));
  if (!device.has_value()) return std::nullopt;
  return absl::StrCat("device:", kTpmDevice);
}

absl::Status JoinBoot(const Flags& flags) {
  RealClock clock;
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  ASSIGN_OR_RETURN(JoinOptions options, OptionsOfBoot(files));
  const Paths paths(flags.state_directory);
  // From a disk each boot asks.
  ASSIGN_OR_RETURN(const bool has_joined, HasJoined(options, paths, files, clock));
  if (has_joined) {
    Tell("muster: this machine has joined before");
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> tcti, FindTpm(flags, files));
  std::optional<Tpm> tpm;
  if (tcti.has_value())
    options.tpm = &tpm.emplace(
        Tpm::Means{.processes = processes, .files = files, .folder = kTpmFolder, .tcti = *tcti});
  Tell(absl::StrCat("muster: joining as ", options.node_name,
                    tcti.has_value() ? ", proved by the TPM" : ", without a TPM"));
  RETURN_IF_ERROR(Join(options, paths, files, clock,
                       [](absl::string_view line) { Tell(absl::StrCat("muster: ", line)); }));
  return StartService();
}

}  // namespace

int JoinCommand(const Flags& flags) { return ExitStatus("join", Join(flags)); }

int JoinBootCommand(const Flags& flags) { return ExitStatus("join-boot", JoinBoot(flags)); }

}  // namespace muster::agent
