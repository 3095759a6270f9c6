// muster-agent discover: a machine that is no node tells the controller what it is.
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "agent/commands.h"
#include "agent/discovery/discovery.h"

#include "agent/facts/gather.h"
#include "common/base/clock.h"
#include "common/base/text/kernel_arguments.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr char kDiscoveryAnswer[] = "/run/muster-discovery/answer";
constexpr char kDiscoveryWord[] = "muster.discovery";

}  // namespace

int DiscoverCommand() {
  std::ostringstream line;
  line << std::ifstream("/proc/cmdline").rdbuf();
  const std::map<std::string, std::string> words = ParseKernelArguments(line.str());
  const auto url = words.find(kDiscoveryWord);
  if (url == words.end()) {
    std::cerr
        << "muster-agent discover: this machine was not booted for discovery: the kernel's command "
           "line has no "
        << kDiscoveryWord << "=URL. Name an image by the variable boot_unknown of the inventory\n";
    return 1;
  }
  // They live as long as the process: a probe that hangs may still use them.
  auto& clock = *new RealClock;
  auto& processes = *new sys::RealProcessRunner;
  auto& gatherer = *new FactsGatherer({.processes = &processes}, AllProbes(), clock);
  sys::RealFileSystem files;
  sys::CurlHttpClient http;
  Discovery discovery(
      {.http = http,
       .files = files,
       .clock = clock,
       .facts = gatherer,
       .scratch = kDiscoveryAnswer,
       // systemd passes it on to the console and the journal.
       .say = [](absl::string_view said) { std::cout << "muster: " << said << std::endl; }},
      url->second);
  discovery.UntilAdopted();
  std::cout << "muster: adopted; rebooting" << std::endl;
  return 0;
}

}  // namespace muster::agent
