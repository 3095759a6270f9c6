#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/image/folder_blobs.h"
#include "agent/image/image_files.h"
#include "agent/image/result_text.h"
#include "agent/image/root_place.h"
#include "agent/image/root_plan.h"
#include "agent/image/root_processes.h"
#include "agent/image/root_run.h"
#include "agent/image/seal.h"
#include "agent/image/service_ban.h"
#include "agent/resources/types.h"
#include "agent/state/paths.h"
#include "agent/sys/accounts.h"
#include "agent/sys/apt/apt_package_manager.h"
#include "agent/sys/root_unit_manager.h"
#include "agent/sys/shared_transactions.h"
#include "agent/transfer/downloader.h"
#include "agent/transfer/transfers.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"
#include "common/value/disk_layout.h"
#include "common/value/image_files.h"

namespace muster::agent {
namespace {

// The builder gives the root a /run of its own, of which nothing becomes part of the image.
constexpr char kWorkFolder[] = "/run/muster-image";

// SIGTERM and SIGINT, which stay blocked: somebody has to ask for them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  // Whether one has come. From any thread; does not block.
  bool HaveCome() {
    const timespec now = {};
    if (::sigtimedwait(&signals_, nullptr, &now) > 0) come_ = true;
    return come_;
  }

 private:
  sigset_t signals_;
  std::atomic<bool> come_{false};
};

absl::Status CheckProxy(const std::string& proxy) {
  if (proxy.empty() || absl::StartsWith(proxy, "http://")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--proxy: '", proxy, "' does not begin with http://"));
}

// systemctl then changes files and asks no manager; what it would start, it ignores.
// The builder's variables that programs get, too: the time of files that they make, by which an
// initramfs is the same from the same packages, and the hosts that are reached without the proxy.
constexpr const char* kBuilderVariables[] = {"SOURCE_DATE_EPOCH", "no_proxy"};

std::map<std::string, std::string> OfflineVariables() {
  std::map<std::string, std::string> variables = {{"SYSTEMD_OFFLINE", "1"}};
  for (const char* name : kBuilderVariables) {
    if (const char* const value = ::getenv(name); value != nullptr) variables.emplace(name, value);
  }
  return variables;
}

// For programs of the root. The proxy is for this process too, whose downloads obey it.
std::map<std::string, std::string> Variables(const std::string& proxy,
                                             const std::string& apt_configuration) {
  std::map<std::string, std::string> variables = OfflineVariables();
  variables.emplace("APT_CONFIG", apt_configuration);
  // dpkg's own defaults, and no wait for the disk after each file: a build that is cut off is made
  // anew.
  variables.emplace("DPKG_FORCE", "security-mac,downgrade,unsafe-io");
  if (proxy.empty()) return variables;
  for (const char* name : {"http_proxy", "https_proxy"}) {
    variables.emplace(name, proxy);
    ::setenv(name, proxy.c_str(), /*overwrite=*/1);
  }
  return variables;
}

// The records are the only part of the agent's state that belongs to the image: without them the
// agent of a node that boots it would unpack each archive again.
absl::Status CloseState(const Paths& state, sys::FileSystem& files) {
  for (const std::string& folder : {state.root(), state.RecordDirectory()}) {
    ASSIGN_OR_RETURN(const auto stat, files.Stat(folder));
    if (stat.has_value()) RETURN_IF_ERROR(files.SetAttributes(folder, {.mode = 0700}));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ImageApplyReport> ApplyInRoot(const Flags& flags, const v1::Plan& plan,
                                                 StopSignals& signals, sys::FileSystem& files,
                                                 Clock& clock) {
  // One of its own for each process: another one's journal is never continued.
  const Paths work(absl::StrCat(kWorkFolder, "/", ::getpid()));
  RETURN_IF_ERROR(files.Remove(work.root(), /*recursive=*/true));
  const absl::Cleanup forget = [&] { (void)files.Remove(work.root(), /*recursive=*/true); };
  RETURN_IF_ERROR(files.MakeDirectory(work.root(), 0755));
  for (const std::string& folder : {work.JournalDirectory(), work.BlobDirectory()})
    RETURN_IF_ERROR(files.MakeDirectory(folder, 0700));
  // apt's helpers read it too, as a user of their own.
  const std::string apt_configuration = work.root() + "/apt.conf";
  RETURN_IF_ERROR(files.WriteAtomically(
      apt_configuration, "APT::Keep-Downloaded-Packages \"false\";\n", {.mode = 0644}));

  sys::RealProcessRunner real_processes;
  RootProcesses processes(real_processes, Variables(flags.proxy, apt_configuration));
  RootUnitManager units(processes);
  SharedTransactions packages(
      std::make_unique<AptPackageManager>(files, processes, clock,
                                          AptOptions{.work_folder = work.root() + "/apt"}),
      clock);
  SystemAccounts accounts(processes);
  sys::CurlHttpClient http;
  Downloader downloader({}, http, files, clock);
  FolderBlobs blobs(flags.blob_directory);
  Transfers transfers(work.BlobDirectory(), files, blobs, downloader, clock);
  transfers.SetPlans({std::make_shared<const v1::Plan>(PlanForRoot(plan))});
  const Paths state(flags.state_directory);
  ResourceRecords records(state.RecordDirectory(), files);
  BlkidBlockDevices disks;
  ResourceContext context = {files,     processes, units, packages, accounts,
                             transfers, records,   clock, disks};
  context.is_running = false;

  ServiceBan ban(files);
  RETURN_IF_ERROR(ban.Begin());
  v1::ImageApplyReport report = RunInRoot(
      plan,
      {.journal_directory = work.JournalDirectory(),
       .factory = [&context](const v1::Step& step,
                             bool want_diff) { return MakeResource(step, context, want_diff); },
       .on_result =
           [](const v1::StepResult& result) { std::cout << DescribeResult(result) << std::flush; },
       .stopping =
           [&] {
             if (!signals.HaveCome()) return false;
             transfers.Stop();
             return true;
           }},
      clock);
  RETURN_IF_ERROR(ban.End());
  RETURN_IF_ERROR(CloseState(state, files));
  return report;
}

absl::Status ApplyImage(const Flags& flags) {
  // Before any thread: all of them inherit the mask.
  StopSignals signals;
  ::signal(SIGPIPE, SIG_IGN);
  // What roles run makes the files that it makes on a node, whatever the umask of who builds.
  ::umask(022);
  RealClock clock;
  sys::RealFileSystem files;
  RETURN_IF_ERROR(CheckIsRoot(files));
  RETURN_IF_ERROR(CheckProxy(flags.proxy));
  ASSIGN_OR_RETURN(const v1::Plan plan, ReadPlan(flags.plan_file, files));
  ASSIGN_OR_RETURN(const v1::ImageApplyReport report,
                   ApplyInRoot(flags, plan, signals, files, clock));
  RETURN_IF_ERROR(WriteReport(report, flags.report_file, files));
  if (report.outcome().succeeded()) return absl::OkStatus();
  return absl::InternalError(report.outcome().message());
}

absl::Status SealImage(const Flags& flags) {
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  if (!flags.image_file.empty()) {
    ASSIGN_OR_RETURN(const std::string image, files.Read(flags.image_file));
    const std::string path = flags.root + kImageInRoot;
    RETURN_IF_ERROR(files.MakeDirectory(path.substr(0, path.rfind('/')), 0755));
    RETURN_IF_ERROR(files.WriteAtomically(path, image, {.mode = 0644}));
  }
  ASSIGN_OR_RETURN(
      SealedRoot sealed,
      SealRoot({.root = flags.root, .newest = absl::FromUnixSeconds(flags.newest)}, processes));
  v1::ImageManifest manifest;
  for (v1::ImagePackage& package : sealed.packages) *manifest.add_packages() = std::move(package);
  RETURN_IF_ERROR(
      files.WriteAtomically(flags.manifest_file, manifest.SerializeAsString(), {.mode = 0644}));
  ASSIGN_OR_RETURN(const std::string list, WriteImageFiles(std::move(sealed.files)));
  return files.WriteAtomically(flags.files_file, list, {.mode = 0644});
}

}  // namespace

int ImageFactsCommand(const Flags& flags) {
  // They live as long as the process: a probe that hangs may still use them.
  auto& clock = *new RealClock;
  auto& real_processes = *new sys::RealProcessRunner;
  auto& processes = *new RootProcesses(real_processes, OfflineVariables());
  const absl::StatusOr<std::string> facts = SerializedRootFacts(processes, clock);
  if (!facts.ok()) return ExitStatus("image facts", facts.status());
  std::cout << *facts << std::flush;
  if (std::cout.good()) return 0;
  return ExitStatus("image facts", absl::UnavailableError("standard output cannot be written"));
}

int ImageApplyCommand(const Flags& flags) { return ExitStatus("image apply", ApplyImage(flags)); }

int ImageSealCommand(const Flags& flags) { return ExitStatus("image seal", SealImage(flags)); }

}  // namespace muster::agent
