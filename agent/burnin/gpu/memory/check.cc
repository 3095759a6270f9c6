// The check gpu-memory: patterns through nearly all memory of all chosen GPUs in parallel.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/error_watch.h"
#include "agent/burnin/gpu/gpu_work.h"
#include "agent/burnin/gpu/memory/patterns.h"
#include "agent/burnin/gpu/telemetry.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"

namespace muster::burnin {
namespace {

// Share of the requested memory that must be available: the rest are odd pieces between others'
// allocations.
constexpr double kEnough = 0.99;

void AddFindings(const Gpu& gpu, double share, const MemoryOutcome& outcome, CheckResult& result) {
  const double tested =
      static_cast<double>(outcome.tested_bytes) / static_cast<double>(outcome.free_bytes);
  AddMetric(result, "memory_tested_bytes", "", gpu.uuid, static_cast<double>(outcome.tested_bytes));
  AddMetric(result, "memory_tested_share", "", gpu.uuid, tested);
  AddMetric(result, "passes", "", gpu.uuid, outcome.passes);
  if (outcome.bandwidth_gbytes_per_s > 0)
    AddMetric(result, "memory_gbytes_per_s", "", gpu.uuid, outcome.bandwidth_gbytes_per_s);
  if (outcome.mismatches > 0)
    AddFault(
        result, "bit_mismatch", gpu.uuid,
        absl::StrCat(Describe(gpu), ": ", Counted(outcome.mismatches, "word"), " of its memory ",
                     outcome.mismatches == 1 ? "was" : "were", " not what had been written"),
        outcome.evidence);
  if (!outcome.checksum_errors.empty())
    AddFault(
        result, "checksum_mismatch", gpu.uuid,
        absl::StrCat(Describe(gpu), ": the sums of the written and the read data differ ",
                     Counted(outcome.checksum_errors.size(), "time"), ", though no word differed"),
        outcome.checksum_errors);
  if (tested < kEnough * share)
    AddUnknown(result, absl::StrFormat("%s: only %.0f %% of its free memory could be allocated",
                                       Describe(gpu), tested * 100));
}

absl::Status TestGpu(CheckContext& context, const GpuBench& bench, const Telemetry& telemetry,
                     size_t index, const Gpu& gpu, CheckResult& result) {
  const checks::Parameters& parameters = context.parameters;
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaContext> cuda, OpenContext(bench, gpu));
  KernelLauncher kernels(*cuda);
  const MemorySettings settings = {.share = parameters.Number("memory"),
                                   .procedures = parameters.Words("patterns"),
                                   .passes = static_cast<int>(parameters.Number("passes")),
                                   .seed = static_cast<uint64_t>(parameters.Number("seed")),
                                   .fade = absl::Seconds(parameters.Number("fade-time"))};
  const MemoryObserver observer = {
      .on_progress =
          [&](absl::string_view procedure, double fraction) {
            if (telemetry.IsFirstAtWork(index)) context.reporter.SetPhase(procedure, fraction);
          },
      .stop = [&] { return context.reporter.stopping() || telemetry.MustEnd(index); },
      .on_load = [&](bool loaded) { telemetry.SetLoaded(index, loaded); }};
  ASSIGN_OR_RETURN(const MemoryOutcome outcome,
                   TestMemory(kernels, context.clock, settings, observer));
  AddFindings(gpu, settings.share, outcome, result);
  return absl::OkStatus();
}

}  // namespace

CheckResult RunGpuMemory(CheckContext& context) {
  CheckResult result;
  if (context.parameters.Words("patterns").empty())
    return Unknown("'patterns' is empty: nothing would be tested");
  const std::optional<GpuBench> bench = OpenBench(context, result);
  if (!bench.has_value()) return result;
  ErrorWatch errors(context, bench->gpus);
  Telemetry telemetry(bench->gpus, context.reporter, context.clock, context.started_at);
  WorkOnAll(
      *bench,
      [&](size_t index, const Gpu& gpu, CheckResult& part) {
        return TestGpu(context, *bench, telemetry, index, gpu, part);
      },
      result);
  telemetry.Finish(result);
  errors.Finish(result);
  return result;
}

}  // namespace muster::burnin
