// Tests the hardware of a node, one check per process: the agent starts it, or a person does.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/metrics/metrics_text.h"
#include "agent/burnin/gpu/metrics/xid_events.h"
#include "agent/burnin/input.h"
#include "agent/burnin/json_lines.h"
#include "agent/burnin/power/power_meter.h"
#include "agent/burnin/system/kernel_log.h"
#include "agent/burnin/table_output.h"
#include "agent/burnin/worker.h"
#include "common/base/clock.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kLiveInterval = absl::Milliseconds(250);
constexpr absl::Duration kLineInterval = absl::Seconds(1);

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// The second signal ends the program: SA_RESETHAND.
void StopAtSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted.store(true); };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int PrintMetrics(const CommandLine& line) {
  sys::RealFileSystem files;
  std::string text = MetricsText(SampleGpus(files), line.expected_gpus);
  if (line.metrics_of_power) {
    sys::RealProcessRunner processes;
    sys::ProcessControl control;
    if (const std::optional<double> watts = PowerMeter(files, processes).Watts(control))
      text += PowerText(*watts);
  }
  if (line.metrics_file.empty()) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const absl::Status written = files.WriteAtomically(line.metrics_file, text, {.mode = 0644});
  if (!written.ok())
    std::fprintf(stderr, "muster-burnin: %s\n", std::string(written.message()).c_str());
  return written.ok() ? 0 : 1;
}

int PrintXids(unsigned seconds) {
  RealClock clock;
  const auto print = [](absl::string_view line) {
    std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stdout);
  };
  const absl::Status heard = HearXids(
      clock, absl::Seconds(seconds),
      [&print](unsigned gpus) { print(absl::StrCat("listening to ", Counted(gpus, "GPU"))); },
      print);
  if (heard.ok()) return 0;
  std::fprintf(stderr, "muster-burnin: %s\n", std::string(heard.message()).c_str());
  return 1;
}

int PrintKernelErrors(double since_seconds) {
  KernelLogReader reader(since_seconds);
  for (std::string line; std::getline(std::cin, line);) reader.Take(line);
  for (const std::string& line : reader.findings().broken) std::printf("%s\n", line.c_str());
  return reader.findings().broken_count == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  CommandLine line;
  int exit_code = 0;
  if (!ParseCommandLine(argc, argv, line, exit_code)) return exit_code;
  if (line.metrics) return PrintMetrics(line);
  if (line.xids) return PrintXids(line.hear_seconds);
  if (line.kernel_errors) return PrintKernelErrors(line.since_seconds);
  if (line.check == nullptr) {
    std::fputs(CheckList().c_str(), stdout);
    return 0;
  }
  StopAtSignals();
  RealClock clock;
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  const bool live = !line.json && isatty(STDOUT_FILENO) == 1;
  std::unique_ptr<Output> output;
  if (line.json) {
    output = std::make_unique<JsonLines>();
  } else {
    output = std::make_unique<TableOutput>(live);
  }
  WorkerReporter reporter(*output, clock, interrupted, live ? kLiveInterval : kLineInterval);
  if (line.json || line.ranks > 1) StartReadingInput(STDIN_FILENO, line.json, reporter);
  exit_code = RunWorker(line, {clock, files, processes}, reporter, *output);
  // Do not wait for threads that hang in a driver or in a read of standard input.
  std::fflush(stdout);
  std::_Exit(exit_code);
}

}  // namespace
}  // namespace muster::burnin

int main(int argc, char** argv) { return muster::burnin::Main(argc, argv); }
