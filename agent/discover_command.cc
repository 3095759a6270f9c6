// muster-agent discover: a machine that is no node tells the controller what it is.
#include <iostream>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/discovery/discovery.h"
#include "agent/facts/gather.h"
#include "agent/sys/boot_words.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr char kDiscoveryAnswer[] = "/run/muster-discovery/answer";
constexpr char kDiscoveryWord[] = "muster.discovery";

}  // namespace

int DiscoverCommand() {
  sys::RealFileSystem files;
  const absl::StatusOr<std::optional<std::string>> url = ReadBootWord(files, kDiscoveryWord);
  if (!url.ok()) return ExitStatus("discover", url.status());
  if (!url->has_value())
    return ExitStatus(
        "discover",
        absl::FailedPreconditionError(absl::StrCat(
            "this machine was not booted for discovery: the kernel's command line has no ",
            kDiscoveryWord, "=URL. Name an image by the variable boot_unknown of the inventory")));
  // They live as long as the process: a probe that hangs may still use them.
  auto& clock = *new RealClock;
  auto& processes = *new sys::RealProcessRunner;
  auto& gatherer = *new FactsGatherer({.processes = &processes}, AllProbes(), clock);
  sys::CurlHttpClient http;
  Discovery discovery(
      {.http = http,
       .files = files,
       .clock = clock,
       .facts = gatherer,
       .scratch = kDiscoveryAnswer,
       // systemd passes it on to the console and the journal.
       .say = [](absl::string_view said) { std::cout << "muster: " << said << std::endl; }},
      **url);
  discovery.UntilAdopted();
  std::cout << "muster: adopted; rebooting" << std::endl;
  return 0;
}

}  // namespace muster::agent
