// muster-agent disk: an image on the disk of this machine.
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/disk/boot_entries.h"
#include "agent/disk/boot_report.h"
#include "agent/disk/disk_tools.h"
#include "agent/disk/installer.h"
#include "agent/disk/settler.h"
#include "agent/disk/signed_files.h"
#include "agent/facts/nic_addresses.h"
#include "agent/facts/probe.h"
#include "agent/flags.h"
#include "agent/session/disk_order.h"
#include "agent/state/paths.h"
#include "agent/sys/block_devices.h"
#include "agent/sys/boot_words.h"
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
// On the file system that has room for a root.
constexpr char kSignedFolder[] = "/run/muster/image/signed";
constexpr char kAnswerFolder[] = "/run/muster-disk";
constexpr size_t kMaxReason = 300;
// How often a report is repeated that nobody takes.
constexpr int kReports = 5;
constexpr absl::Duration kReportInterval = absl::Seconds(10);

// systemd passes it on to the console and the journal.
void Say(absl::string_view line) { std::cout << "muster: " << line << std::endl; }

// Completes the order of a machine whose kernel image was signed, so that the command line is all
// that it believes: the controller says what becomes of the disk.
absl::Status CompleteOrder(disk::InstallOrder& order, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const JoinWord join, ParseJoinWord(order.join));
  DiskQuestion question = {.macs = {}, .root_sha256 = order.sha256};
  ASSIGN_OR_RETURN(question.macs, EthernetAddresses({}));
  ASSIGN_OR_RETURN(const auto server, ReadBootWord(files, "muster.server"));
  RealClock clock;
  ASSIGN_OR_RETURN(const DiskOrder answer, AskForDiskOrder(join, question, clock, Say));
  sys::CurlHttpClient http;
  disk::SignedFiles fetcher({.files = files,
                             .http = http,
                             .clock = clock,
                             .server = server.value_or(""),
                             .folder = kSignedFolder});
  const auto fetch = [&](const DiskOrder::File& file) {
    return fetcher.Fetch(file.path, file.sha256, file.bytes);
  };
  order.image = answer.image;
  order.device = answer.device;
  order.node = answer.node;
  ASSIGN_OR_RETURN(order.signed_loader, fetch(answer.loader));
  ASSIGN_OR_RETURN(order.signed_kernel, fetch(answer.kernel));
  return absl::OkStatus();
}

// Without an image where the kernel image was signed.
absl::StatusOr<disk::InstallOrder> OrderOfBoot(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string line, files.Read("/proc/cmdline"));
  std::map<std::string, std::string> words = ParseKernelArguments(line);
  ASSIGN_OR_RETURN(const auto install, ReadBootWord(files, "muster.install"));
  ASSIGN_OR_RETURN(const auto report, ReadBootWord(files, "muster.report"));
  disk::InstallOrder order = {.root_file = kFetchedRoot,
                              .sha256 = words["muster.sha256"],
                              .image = words["muster.install"],
                              .report = report.value_or(""),
                              .join = words[kJoinWord],
                              .device = words["muster.disk"]};
  if (install.has_value() && IsSha256(order.sha256)) return order;
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

absl::StatusOr<disk::Installed> WriteDisk(disk::InstallOrder order, sys::FileSystem& files) {
  if (order.image.empty()) RETURN_IF_ERROR(CompleteOrder(order, files));
  sys::RealProcessRunner processes;
  BlkidBlockDevices devices;
  disk::DiskPrograms tools(processes);
  disk::Installer installer(
      {.files = files, .tools = tools, .devices = devices, .say = Say, .on_piece = Progress()});
  return installer.Install(order);
}

absl::Status Install() {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const disk::InstallOrder order, OrderOfBoot(files));
  const absl::StatusOr<disk::Installed> installed = WriteDisk(order, files);
  sys::CurlHttpClient http;
  disk::ReportWords words = {{"phase", "written"}};
  if (!installed.ok())
    words = {{"phase", "not_written"},
             {"why", std::string(installed.status().message().substr(0, kMaxReason))}};
  // Without it the machine would be told to write its disk once more.
  RealClock clock;
  absl::Status told = disk::Report(order.report, words, kAnswerFolder, files, http);
  for (int again = 0; again < kReports && !told.ok(); ++again) {
    Say(told.message());
    clock.Sleep(kReportInterval);
    told = disk::Report(order.report, words, kAnswerFolder, files, http);
  }
  return installed.status();
}

absl::Status Settle(const Flags& flags) {
  RealClock clock;
  sys::RealFileSystem files;
  std::map<std::string, std::string> words;
  for (const char* name : {"muster.slot", "muster.esp"}) {
    ASSIGN_OR_RETURN(const auto word, ReadBootWord(files, name));
    words[name] = word.value_or("");
  }
  sys::RealProcessRunner processes;
  SdBusUnitManager units(processes, clock);
  disk::DiskPrograms tools(processes);
  sys::CurlHttpClient http;
  disk::Settler settler(
      {.files = files,
       .tools = tools,
       .clock = clock,
       .greeted = Paths(flags.state_directory).Greeted(),
       .say = Say,
       .report = [&files, &http](const disk::BootEntry& entry, absl::string_view phase) {
         const auto url = entry.words.find("muster.report");
         return disk::Report(url == entry.words.end() ? "" : url->second,
                             {{"phase", std::string(phase)}}, kAnswerFolder, files, http);
       }});
  ASSIGN_OR_RETURN(const disk::Settler::End end, settler.Settle(words));
  return end == disk::Settler::End::kGoBack ? units.StartReboot() : absl::OkStatus();
}

}  // namespace

int DiskInstallCommand(const Flags&) { return ExitStatus("disk install", Install()); }

int DiskSettleCommand(const Flags& flags) { return ExitStatus("disk settle", Settle(flags)); }

}  // namespace muster::agent
