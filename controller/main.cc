// musterd: reads its settings, runs the controller until SIGTERM, and keeps systemd informed.
#include <pthread.h>
#include <systemd/sd-daemon.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "controller/backup_command.h"
#include "controller/config.h"
#include "controller/controller.h"
#include "controller/flags.h"
#include "controller/grpc_log.h"
#include "controller/log.h"
#include "controller/service/front/credentials.h"
#include "controller/store/soci/store.h"

namespace muster::controller {
namespace {

// TimeoutStartSec= of musterd.service.
constexpr absl::Duration kStartTimeout = absl::Minutes(5);

// Blocks SIGTERM and SIGINT in every thread; the main one receives them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Has systemd wait for the check of a large store besides. Once, before it: SQLite calls nobody
// back while it checks.
void ExtendStart(const Config& config) {
  std::error_code none;
  const std::uintmax_t bytes =
      std::filesystem::file_size(config.state_directory + "/muster.db", none);
  if (none) return;
  sd_notify(0, absl::StrCat("EXTEND_TIMEOUT_USEC=",
                            absl::ToInt64Microseconds(kStartTimeout + LongestCheck(bytes)))
                   .c_str());
}

// Returns at the first signal. Until then, notifies systemd's watchdog twice in each of its periods
// as long as the store answers.
int WaitForSignal(const sigset_t& signals, Controller& controller) {
  uint64_t watchdog_us = 0;
  const bool is_watched = sd_watchdog_enabled(0, &watchdog_us) > 0;
  const uint64_t period_us = is_watched ? watchdog_us / 2 : 3'600'000'000;
  const timespec period = {static_cast<time_t>(period_us / 1'000'000),
                           static_cast<long>(period_us % 1'000'000 * 1000)};
  while (true) {
    const int signal = sigtimedwait(&signals, nullptr, &period);
    if (signal > 0) return signal;
    if (!is_watched) continue;
    controller.CheckAlive();
    sd_notify(0, "WATCHDOG=1");
  }
}

// Returns when an exchange of musterd has decided for this version, with 0, or at a signal.
absl::StatusOr<int> WaitOutProbation(const sigset_t& signals, Controller& controller) {
  if (!controller.IsOnProbation()) return 0;
  LogInfo("is on probation after its exchange: welcomes agents, and does and accepts nothing else");
  constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 200'000'000};
  while (controller.IsOnProbation()) {
    const int signal = sigtimedwait(&signals, nullptr, &kLook);
    if (signal > 0) return signal;
    sd_notify(0, "WATCHDOG=1");
    RETURN_IF_ERROR(controller.LeaveProbation());
  }
  LogInfo("has passed its probation");
  return 0;
}

absl::Status Run(const Flags& flags) {
  const sigset_t signals = BlockSignals();
  ASSIGN_OR_RETURN(const Config config, LoadConfig(flags.config));
  RealClock clock;
  ExtendStart(config);
  ASSIGN_OR_RETURN(const std::unique_ptr<Controller> controller, Controller::Start(config, clock));
  LogInfo(absl::StrCat("musterd ", kVersion, " serves cluster ", config.cluster, ": port ",
                       controller->port(), ", enrollment ", controller->enrollment_port(),
                       ", packages ", controller->package_port()));
  sd_notify(0, "READY=1");
  ASSIGN_OR_RETURN(int signal, WaitOutProbation(signals, *controller));
  if (signal == 0) signal = WaitForSignal(signals, *controller);
  sd_notify(0, "STOPPING=1");
  LogInfo(absl::StrCat("ends on signal ", signal, "; agents finish their plans and wait"));
  controller->Shutdown();
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::controller

int main(int argc, char** argv) {
  using muster::controller::Flags;
  // gRPC 1.51 reads in pieces of 8 or 64 KiB, whatever its arguments say (constants.h), unless this
  // experiment is off. Read once, at the first use of gRPC.
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/1);
  // Debian builds absl with deadlock detection, which orders all mutexes of the process at each
  // lock, behind a single lock of its own. Tests keep it on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (argc > 1 && absl::string_view(argv[1]) == "backup") {
    const absl::Status done = muster::controller::RunBackupCommand(
        absl::MakeSpan(argv + 2, static_cast<size_t>(argc - 2)));
    if (done.ok()) return 0;
    std::fprintf(stderr, "musterd backup: %s\n", std::string(done.message()).c_str());
    if (absl::IsInvalidArgument(done)) std::fputs(muster::controller::kBackupUsage, stderr);
    return 1;
  }
  if (const absl::Status hardened = muster::controller::HardenTls(); !hardened.ok()) {
    std::fprintf(stderr, "musterd: %s\n", std::string(hardened.message()).c_str());
    return 1;
  }
  const absl::StatusOr<Flags> flags =
      muster::controller::ParseFlags(absl::MakeSpan(argv + 1, static_cast<size_t>(argc - 1)));
  if (!flags.ok()) {
    std::fprintf(stderr, "musterd: %s\n\n%s", std::string(flags.status().message()).c_str(),
                 muster::controller::kUsage);
    return 1;
  }
  if (flags->show_help) return std::fputs(muster::controller::kUsage, stdout) < 0;
  if (flags->show_version) return std::printf("musterd %s\n", muster::kVersion) < 0;
  if (flags->show_state_directory) {
    const auto config = muster::controller::LoadConfig(flags->config);
    if (config.ok()) return std::printf("%s\n", config->state_directory.c_str()) < 0;
    std::fprintf(stderr, "musterd: %s\n", std::string(config.status().message()).c_str());
    return 1;
  }
  muster::controller::StartLog();
  muster::controller::RouteGrpcLog();
  const absl::Status ran = muster::controller::Run(*flags);
  if (ran.ok()) return 0;
  muster::controller::LogError(ran.message());
  return 1;
}
