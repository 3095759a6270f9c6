#include <signal.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/command/command_run.h"
#include "agent/command/command_supervisor.h"
#include "agent/commands.h"
#include "agent/constants.h"
#include "agent/engine/engine.h"
#include "agent/facts/gather.h"
#include "agent/facts/probe.h"
#include "agent/flags.h"
#include "agent/health/health_monitor.h"
#include "agent/health/local_report.h"
#include "agent/health/renewal_trouble.h"
#include "agent/log.h"
#include "agent/memory.h"
#include "agent/reading/node_reader.h"
#include "agent/reading/reading_watch.h"
#include "agent/resources/types.h"
#include "agent/service_notify.h"
#include "agent/session/blob_fetcher.h"
#include "agent/session/permit_requests.h"
#include "agent/session/session.h"
#include "agent/slurm/slurm_commands.h"
#include "agent/slurm/slurm_requests.h"
#include "agent/state/identity.h"
#include "agent/sys/accounts.h"
#include "agent/sys/apt/apt_package_manager.h"
#include "agent/sys/dnf/dnf_package_manager.h"
#include "agent/sys/package_family.h"
#include "agent/sys/sd_bus_unit_manager.h"
#include "agent/sys/shared_transactions.h"
#include "agent/transfer/downloader.h"
#include "agent/transfer/transfers.h"
#include "agent/validation/check_supervisor.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/sys/boot_id.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"

namespace muster::agent {
namespace {

class GathererSource final : public FactsSource {
 public:
  explicit GathererSource(FactsGatherer& gatherer) : gatherer_(gatherer) {}
  v1::Facts Gather(bool with_packages) override { return gatherer_.Gather(with_packages); }

 private:
  FactsGatherer& gatherer_;
};

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Waits for a signal to stop; false after `patience`.
bool AwaitSignal(absl::Duration patience) {
  const sigset_t signals = StopSignals();
  const timespec limit = absl::ToTimespec(patience);
  return ::sigtimedwait(&signals, nullptr, &limit) > 0;
}

// Whether a step will need its content. A step that waits for an earlier one will.
bool HasWork(const v1::Step& step, ResourceContext& context) {
  const auto resource = MakeResource(step, context, /*want_diff=*/false);
  if (!resource.ok()) return false;
  const auto changes = (*resource)->Check();
  return changes.ok() ? !changes->empty() : absl::IsFailedPrecondition(changes.status());
}

// Supervises the threads until a signal comes. False: the agent must be restarted.
bool Supervise(const Engine& engine, const Session& session, const Journal& journal,
               ServiceNotify& notify, Clock& clock) {
  MemoryKeeper memory;
  while (!AwaitSignal(kSupervisionInterval)) {
    if (journal.broken()) {
      LogError("the journal's disk failed; restarting to read its present content");
      return false;
    }
    const absl::Time now = clock.Now();
    const bool alive =
        now - engine.last_alive() < kThreadPatience && now - session.last_alive() < kThreadPatience;
    if (alive) notify.Alive();
    const std::string plan = engine.active_plan_id();
    notify.Status(absl::StrCat(session.status_text(),
                               plan.empty() ? "" : absl::StrCat("; running plan ", plan)));
    if (memory.Look(plan.empty(), ResidentBytes())) {
      ReturnMemory();
      memory.Returned(ResidentBytes());
    }
  }
  return true;
}

std::unique_ptr<PackageManager> MakePackagesOfFamily(sys::FileSystem& files,
                                                     sys::ProcessRunner& processes, Clock& clock) {
  if (DetectPackageFamily(files) == PackageFamily::kApt)
    return std::make_unique<AptPackageManager>(files, processes, clock);
  utsname kernel{};
  ::uname(&kernel);
  return std::make_unique<DnfPackageManager>(files, processes, clock,
                                             DnfOptions{.machine = kernel.machine});
}

PackageManager& MakePackages(sys::FileSystem& files, sys::ProcessRunner& processes, Clock& clock) {
  return *new SharedTransactions(MakePackagesOfFamily(files, processes, clock), clock);
}

// The whole agent. Its parts live as long as the process: a hanging step may still use them when
// the process ends.
absl::StatusOr<int> RunAgent(const Flags& flags) {
  auto& clock = *new RealClock;
  auto& files = *new sys::RealFileSystem;
  auto& processes = *new sys::RealProcessRunner;
  auto& paths = *new Paths(flags.state_directory);
  ASSIGN_OR_RETURN(const Identity identity, LoadIdentity(paths, files));
  RETURN_IF_ERROR(MakeStateDirectories(paths, files));
  ASSIGN_OR_RETURN(const std::string boot_id, sys::ReadBootId(files));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Journal> opened,
      Journal::Open({.directory = paths.JournalDirectory(), .node_uuid = identity.node_uuid},
                    clock));
  Journal& journal = *opened.release();
  if (!journal.opening_note().empty()) LogError(journal.opening_note());

  auto& mailbox = *new Mailbox([](absl::string_view note) { LogInfo(note); });
  auto& channel = *new CurrentChannel;
  auto& units = *new SdBusUnitManager(processes, clock);
  PackageManager& packages = MakePackages(files, processes, clock);
  auto& accounts = *new SystemAccounts(processes);
  auto& http = *new sys::CurlHttpClient;
  auto& downloader = *new Downloader({}, http, files, clock);
  auto& blobs = *new BlobFetcher(channel, clock);
  auto& transfers = *new Transfers(paths.BlobDirectory(), files, blobs, downloader, clock);
  auto& records = *new ResourceRecords(paths.RecordDirectory(), files);
  auto& context = *new ResourceContext{files,
                                       processes,
                                       units,
                                       packages,
                                       accounts,
                                       transfers,
                                       records,
                                       clock,
                                       *new BlkidBlockDevices,
                                       AgentPlace(paths),
                                       ControllerPlace(paths)};
  auto& gatherer = *new FactsGatherer({.processes = &processes}, AllProbes(), clock);
  auto& reboots = *new PermitRequests(boot_id, files, accounts, mailbox, clock);
  auto& engine = *new Engine(
      {.node_uuid = identity.node_uuid,
       .reboots = {.boot_id = boot_id,
                   .gate = &reboots,
                   .look = [&gatherer] { return gatherer.Gather(); },
                   .on_back =
                       [&mailbox](v1::Facts now) {
                         v1::FactsReport report;
                         *report.mutable_facts() = std::move(now);
                         mailbox.AddFacts(std::move(report));
                       }},
       .on_plans = [&transfers](Transfers::Plans plans) { transfers.SetPlans(std::move(plans)); }},
      [&context](const v1::Step& step, bool want_diff) {
        return MakeResource(step, context, want_diff);
      },
      journal, clock, mailbox);
  auto& facts = *new GathererSource(gatherer);
  auto& checks = *new CheckSupervisor({.boot_id = boot_id,
                                       .active_plan = [&engine] { return engine.active_plan_id(); },
                                       .wake = [&mailbox] { mailbox.Wake(); },
                                       .note = [](absl::string_view note) { LogInfo(note); }},
                                      paths.CheckDirectory(), files, processes, clock);
  RETURN_IF_ERROR(checks.Recover());
  auto& slurm_commands = *new SlurmCommands(processes);
  auto& slurm = *new SlurmRequests(
      [&slurm_commands](const v1::SlurmRequest& request) { return slurm_commands.Answer(request); },
      [&mailbox] { mailbox.Wake(); }, clock);
  auto& command_runner = *new CommandRunner(files, processes, units);
  if (const absl::Status ended = command_runner.EndLeftovers(); !ended.ok())
    LogError(absl::StrCat("ending what commands of an earlier agent left: ", ended.message()));
  auto& commands = *new CommandSupervisor(
      [&command_runner](const v1::StartCommand& command, sys::ProcessControl& control) {
        return command_runner.Run(command, control);
      },
      [&mailbox] { mailbox.Wake(); });
  auto& trends = *new health::Trends;
  auto& gpu_names = *new health::GpuNames;
  auto& renewal = *new health::RenewalTrouble;
  const health::ProbeContext probing = {.processes = &processes,
                                        .units = &units,
                                        .clock = &clock,
                                        .trends = &trends,
                                        .gpus = &gpu_names,
                                        .renewal = &renewal,
                                        .state_directory = flags.state_directory};
  const auto xids = std::make_shared<health::XidInbox>();
  auto& health_monitor =
      *new health::HealthMonitor({.boot_id = boot_id,
                                  .record_path = paths.Health(),
                                  .local_report = health::kLocalReport,
                                  // systemd writes it in every container.
                                  .is_container = ::access("/run/systemd/container", F_OK) == 0,
                                  .probes = health::MakeProbes(probing),
                                  .xids = xids,
                                  .xid_probe = health::MakeXidProbe(probing, xids),
                                  .run_site =
                                      [&command_runner](const v1::StartCommand& command) {
                                        sys::ProcessControl control;
                                        return command_runner.Run(command, control);
                                      },
                                  .wake = [&mailbox] { mailbox.Wake(); },
                                  .note = [](absl::string_view note) { LogInfo(note); },
                                  .since_boot = &health::TimeSinceBoot},
                                 trends, gpu_names, files, clock);
  auto& reader = *new NodeReader({}, processes, clock);
  auto& readings =
      *new ReadingWatch([&reader] { return reader.Read(); }, [&mailbox] { mailbox.Wake(); }, clock);
  auto& session = *new Session({.agent_version = kVersion, .boot_id = boot_id}, paths, files,
                               engine, journal, mailbox, reboots, checks, slurm, commands,
                               health_monitor, renewal, readings, facts, channel, clock);

  LogInfo(absl::StrCat("muster-agent ", kVersion, " on ", identity.node_name, " (",
                       identity.node_uuid, "), controller ", identity.controller_address));
  transfers.Start([&context](const v1::Step& step) { return HasWork(step, context); });
  engine.Start();
  health_monitor.Start();
  readings.Start();
  std::thread conversation([&session] { session.Run(); });
  ServiceNotify notify;
  notify.Ready();
  const bool healthy = Supervise(engine, session, journal, notify, clock);
  notify.Stopping();
  engine.Stop();
  transfers.Stop();
  checks.Shutdown("the agent was stopped");
  commands.Shutdown();
  health_monitor.Stop();
  const absl::Time deadline = clock.Now() + kStopPatience;
  while (healthy && !engine.has_ended() && clock.Now() < deadline) {
    clock.Sleep(absl::Milliseconds(50));
  }
  // The session stops last: it still sends the reports of the last steps.
  mailbox.SetStopping();
  conversation.join();
  LogInfo(engine.has_ended() ? "stopped" : "stopped; the journal keeps the running step");
  return healthy ? 0 : 1;
}

}  // namespace

int RunCommand(const Flags& flags) {
  KeepMemorySmall();
  KeepHwlocSmall();
  // Before any thread: all of them inherit the mask, and only the main thread waits for signals.
  const sigset_t signals = StopSignals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  StartLog(flags.verbose);
  const absl::StatusOr<int> exit_code = RunAgent(flags);
  if (!exit_code.ok()) LogError(exit_code.status().message());
  // Without destructors or exit handlers: a hung step must not keep the process alive.
  ::_exit(exit_code.value_or(1));
}

}  // namespace muster::agent
