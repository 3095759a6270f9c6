// muster-agent disk: an image on the disk of this machine.
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/disk/boot_entries.h"
#include "agent/disk/boot_report.h"
#include "agent/disk/disk_tools.h"
#include "agent/disk/installer.h"
#include "agent/disk/settler.h"
#include "agent/flags.h"
#include "agent/state/paths.h"
#include "agent/sys/block_devices.h"
#include "agent/sys/sd_bus_unit_manager.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/join_word.h"
#include "common/base/text/kernel_arguments.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

// The initramfs keeps the root here that it has fetched and verified.
constexpr char kFetchedRoot[] = "/run/muster/image/root";
constexpr char kAnswer[] = "/run/muster-disk/answer";
constexpr size_t kMaxReason = 300;
// How often a report is repeated that nobody takes.
constexpr int kReports = 5;
constexpr absl::Duration kReportInterval = absl::Seconds(10);

// systemd passes it on to the console and the journal.
void Say(absl::string_view line) { std::cout << "muster: " << line << std::endl; }

std::map<std::string, std::string> BootWords() {
  std::ostringstream line;
  line << std::ifstream("/proc/cmdline").rdbuf();
  return ParseKernelArguments(line.str());
}

absl::StatusOr<disk::InstallOrder> OrderOfBoot(const std::map<std::string, std::string>& words) {
  const auto word = [&](const char* name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string() : found->second;
  };
  disk::InstallOrder order = {.root_file = kFetchedRoot,
                              .sha256 = word("muster.sha256"),
                              .image = word("muster.install"),
                              .report = word("muster.report"),
                              .join = word(kJoinWord),
                              .device = word("muster.disk")};
  if (!order.image.empty() && IsSha256(order.sha256)) return order;
  return absl::FailedPreconditionError(
      "this boot is not one that installs an image: the kernel's command line has no "
      "muster.install=IMAGE and muster.sha256=DIGEST. `muster boot set NODE IMAGE` orders one");
}

// A share of a second is enough for people who watch.
std::function<void(uint64_t, uint64_t)> Progress() {
  return [last = -1](uint64_t done, uint64_t total) mutable {
    const int tenth = total == 0 ? 10 : static_cast<int>(done * 10 / total);
    if (tenth == last) return;
    last = tenth;
    Say(absl::StrCat(tenth * 10, " % written"));
  };
}

absl::Status Install() {
  ASSIGN_OR_RETURN(const disk::InstallOrder order, OrderOfBoot(BootWords()));
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  BlkidBlockDevices devices;
  disk::DiskPrograms tools(processes);
  sys::CurlHttpClient http;
  disk::Installer installer(
      {.files = files, .tools = tools, .devices = devices, .say = Say, .on_piece = Progress()});
  const absl::StatusOr<disk::Installed> installed = installer.Install(order);
  disk::ReportWords words = {{"phase", "written"}};
  if (!installed.ok())
    words = {{"phase", "not_written"},
             {"why", std::string(installed.status().message().substr(0, kMaxReason))}};
  // Without it the machine would be told to write its disk once more.
  RealClock clock;
  absl::Status told = disk::Report(order.report, words, kAnswer, http);
  for (int again = 0; again < kReports && !told.ok(); ++again) {
    Say(told.message());
    clock.Sleep(kReportInterval);
    told = disk::Report(order.report, words, kAnswer, http);
  }
  return installed.status();
}

absl::Status Settle(const Flags& flags) {
  RealClock clock;
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  SdBusUnitManager units(processes, clock);
  disk::DiskPrograms tools(processes);
  sys::CurlHttpClient http;
  disk::Settler settler({.files = files,
                         .tools = tools,
                         .clock = clock,
                         .greeted = Paths(flags.state_directory).Greeted(),
                         .say = Say,
                         .report = [&http](const disk::BootEntry& entry, absl::string_view phase) {
                           const auto url = entry.words.find("muster.report");
                           return disk::Report(url == entry.words.end() ? "" : url->second,
                                               {{"phase", std::string(phase)}}, kAnswer, http);
                         }});
  ASSIGN_OR_RETURN(const disk::Settler::End end, settler.Settle(BootWords()));
  return end == disk::Settler::End::kGoBack ? units.StartReboot() : absl::OkStatus();
}

}  // namespace

int DiskInstallCommand(const Flags&) { return ExitStatus("disk install", Install()); }

int DiskSettleCommand(const Flags& flags) { return ExitStatus("disk settle", Settle(flags)); }

}  // namespace muster::agent
