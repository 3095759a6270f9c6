#include "agent/burnin/worker.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/power/node_power.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr int kExitStatus[] = {0, 1, 2, 2};  // by Outcome
constexpr size_t kMaxKeyBytes = 4096;

CheckFunction FindRunner(absl::string_view name) {
  for (const CheckRunner& runner : CheckRunners())
    if (runner.name == name) return runner.run;
  return nullptr;
}

CheckResult Run(const CommandLine& line, const WorkerEnvironment& environment,
                WorkerReporter& reporter, absl::Time started_at) {
  const CheckFunction function = FindRunner(line.check->name);
  if (function == nullptr)
    return Unknown(absl::StrCat("this version does not implement ", line.check->name));
  absl::StatusOr<checks::Parameters> parameters =
      checks::Parameters::Parse(*line.check, line.parameters);
  if (!parameters.ok()) return Unknown(std::string(parameters.status().message()));
  CheckContext context = {.parameters = *parameters,
                          .reporter = reporter,
                          .clock = environment.clock,
                          .files = environment.files,
                          .processes = environment.processes,
                          .started_at = started_at,
                          .rank = line.rank,
                          .ranks = line.ranks,
                          .force = line.force};
  if (!line.key_file.empty()) {
    absl::StatusOr<std::string> key = environment.files.Read(line.key_file, kMaxKeyBytes);
    if (!key.ok()) return Unknown(std::string(Annotate(key.status(), "--key-file").message()));
    context.pair_key = *std::move(key);
  }
  const bool loads = line.check->load != checks::Load::kIdle;
  NodePower power(context, /*ask_meter=*/loads);
  if (loads) power.MeasureRest();
  return function(context);
}

}  // namespace

int RunWorker(const CommandLine& line, const WorkerEnvironment& environment,
              WorkerReporter& reporter, Output& output) {
  FinishedCheck finished;
  finished.check = std::string(line.check->name);
  finished.started_at = environment.clock.Now();
  finished.result = Run(line, environment, reporter, finished.started_at);
  finished.duration = environment.clock.Now() - finished.started_at;
  if (const std::string stop = reporter.stop_reason(); !stop.empty()) {
    // Measurements up to then are of no interest; faults are.
    finished.result.outcome = Outcome::kUnknown;
    finished.result.reason = absl::StrCat("stopped: ", stop);
  }
  FinishResult(*line.check, finished.result);
  finished.samples = reporter.Finish();
  output.Write(finished);
  return kExitStatus[static_cast<int>(finished.result.outcome)];
}

}  // namespace muster::burnin
