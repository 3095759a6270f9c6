// The check gpu-gemm: all chosen GPUs multiply in parallel, and every bit is compared.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/gemm/burn.h"
#include "agent/burnin/gpu/gemm/cublas.h"
#include "agent/burnin/gpu/gemm/fleet.h"
#include "agent/burnin/gpu/gemm/peaks.h"
#include "agent/burnin/gpu/gpu_work.h"
#include "agent/burnin/gpu/telemetry.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"

namespace muster::burnin {
namespace {

using kernels::Element;

struct Work {
  CheckContext& context;
  const GpuBench& bench;
  const Telemetry& telemetry;
  const Cublas* cublas;  // nullptr: only own kernels
  bool only_cublas;
};

struct TypeEngine {
  Element type;
  std::unique_ptr<GemmEngine> engine;
};

absl::StatusOr<std::unique_ptr<GemmEngine>> MakeEngine(const Work& work, KernelLauncher& kernels,
                                                       Element type) {
  if (work.cublas == nullptr) return MakeOwnEngine(kernels, type);
  absl::StatusOr<std::unique_ptr<GemmEngine>> engine =
      work.cublas->MakeEngine(kernels.context(), type);
  // A library that does not suit the type or the driver must not leave the GPU untested.
  const bool unsuitable =
      absl::IsUnimplemented(engine.status()) || absl::IsFailedPrecondition(engine.status());
  if (engine.ok() || !unsuitable || work.only_cublas) return engine;
  return MakeOwnEngine(kernels, type);
}

// The engines of one GPU for all requested types, or for all that it supports.
absl::StatusOr<std::vector<TypeEngine>> MakeEngines(const Work& work, KernelLauncher& kernels,
                                                    const Gpu& gpu, CheckResult& result) {
  std::vector<TypeEngine> engines;
  std::vector<std::string> lacking;
  const std::vector<std::string> asked = work.context.parameters.Words("types");
  std::vector<std::string> names = asked;
  if (names.empty()) names = {"fp32", "fp64", "fp16", "bf16", "tf32", "fp8", "int8"};
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const Element type, ElementByName(name));
    absl::StatusOr<std::unique_ptr<GemmEngine>> engine = MakeEngine(work, kernels, type);
    if (engine.ok()) {
      engines.push_back({type, *std::move(engine)});
    } else if (!absl::IsUnimplemented(engine.status())) {
      return engine.status();
    } else {
      lacking.push_back(std::string(engine.status().message()));
    }
  }
  // When all types are tested, some are always beyond a GPU; if none remains, it is untested.
  if (!lacking.empty() && (!asked.empty() || engines.empty()))
    AddUnknown(result, absl::StrCat(Describe(gpu), ": ", absl::StrJoin(lacking, "; ")));
  return engines;
}

void AddRates(const Work& work, const CudaContext& cuda, const Gpu& gpu, const TypeEngine& engine,
              absl::Time from, const Readings& rates, CheckResult& result) {
  if (rates.count() == 0) return;
  const absl::string_view variant = ElementName(engine.type);
  const double median = rates.Median();
  AddMetric(result, "tflops_min", variant, gpu.uuid, rates.Lowest());
  AddMetric(result, "tflops_median", variant, gpu.uuid, median);
  AddMetric(result, "tflops_max", variant, gpu.uuid, rates.Highest());
  const absl::StatusOr<int> capability = cuda.driver().ComputeCapability(cuda.device());
  const absl::StatusOr<int> processors =
      cuda.driver().Attribute(cuda.device(), cuda::kMultiprocessorCount);
  const double clock_hz = work.telemetry.MedianClockMhz(gpu.uuid, from) * 1e6;
  if (!capability.ok() || !processors.ok() || clock_hz <= 0) return;
  const std::optional<double> operations =
      OperationsPerClock(*capability, gpu.name, engine.type, engine.engine->tensor());
  if (operations.has_value())
    AddMetric(result, "fraction_of_peak", variant, gpu.uuid,
              median * 1e12 / (*operations * *processors * clock_hz));
}

void AddFindings(const Gpu& gpu, const TypeEngine& engine, uint64_t seed,
                 const BurnOutcome& outcome, CheckResult& result) {
  const absl::string_view type = ElementName(engine.type);
  AddMetric(result, "products", type, gpu.uuid, static_cast<double>(outcome.products));
  AddMetric(result, "verified_products", type, gpu.uuid, static_cast<double>(outcome.verified));
  result.tools.push_back(engine.engine->Tool());
  result.digests.push_back({.name = absl::StrCat("gemm ", type, " ", outcome.size, " seed ", seed,
                                                 " ", engine.engine->Tool()),
                            .subject = gpu.uuid,
                            .value = outcome.digest});
  if (outcome.mismatches > 0)
    AddFault(result, "bit_mismatch", gpu.uuid,
             absl::StrCat(Describe(gpu), ": ", Counted(outcome.mismatches, "element"), " of ",
                          Counted(outcome.verified, absl::StrCat(type, " product")),
                          outcome.mismatches == 1 ? " differs" : " differ", " from the first one"),
             outcome.mismatch_evidence);
  if (outcome.not_finite > 0)
    AddFault(
        result, "nan", gpu.uuid,
        absl::StrCat(Describe(gpu), ": ", Counted(outcome.not_finite, "element"), " of ", type,
                     " products ", outcome.not_finite == 1 ? "is not a number" : "are not numbers",
                     " or infinite"),
        // Reported already if they differ, too.
        outcome.mismatches > 0 ? std::vector<std::string>() : outcome.mismatch_evidence);
  if (!outcome.golden_errors.empty())
    AddFault(result, "wrong_result", gpu.uuid,
             absl::StrCat(Describe(gpu), ": ", outcome.golden_errors.size(),
                          " of the elements of the ", type, " product that the host checked ",
                          outcome.golden_errors.size() == 1 ? "is" : "are", " wrong"),
             outcome.golden_errors);
}

absl::Status BurnGpu(const Work& work, size_t index, const Gpu& gpu, CheckResult& result) {
  CheckContext& context = work.context;
  const checks::Parameters& parameters = context.parameters;
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaContext> cuda, OpenContext(work.bench, gpu));
  KernelLauncher kernels(*cuda);
  ASSIGN_OR_RETURN(const std::vector<TypeEngine> engines, MakeEngines(work, kernels, gpu, result));
  const auto seed = static_cast<uint64_t>(parameters.Number("seed"));
  const absl::Duration duration = absl::Seconds(parameters.Number("duration"));
  const absl::Time start = context.clock.Now();
  const auto stop = [&] { return context.reporter.stopping() || work.telemetry.MustEnd(index); };
  for (const TypeEngine& engine : engines) {
    if (stop()) break;
    const absl::string_view type = ElementName(engine.type);
    const absl::Time from = context.clock.Now();
    const BurnSettings settings = {.type = engine.type,
                                   .size = static_cast<uint64_t>(parameters.Number("size")),
                                   .memory_share = parameters.Number("memory"),
                                   .verify_share = parameters.Number("verify"),
                                   .seed = seed,
                                   .duration = duration / static_cast<int64_t>(engines.size())};
    const auto tell_phase = [&] {
      if (!work.telemetry.IsFirstAtWork(index)) return;
      const double done = absl::FDivDuration(context.clock.Now() - start, duration);
      context.reporter.SetPhase(type, std::min(1.0, done));
    };
    const BurnObserver observer = {.on_rate =
                                       [&](double tflops) {
                                         context.reporter.AddSample({.at = SinceStart(context),
                                                                     .subject = gpu.uuid,
                                                                     .metric = "tflops",
                                                                     .variant = std::string(type),
                                                                     .value = tflops});
                                         tell_phase();
                                       },
                                   .stop = stop};
    tell_phase();
    absl::StatusOr<BurnOutcome> outcome =
        Burn(kernels, *engine.engine, context.clock, settings, observer);
    if (!outcome.ok()) return Annotate(outcome.status(), type);
    AddRates(work, *cuda, gpu, engine, from, outcome->tflops, result);
    AddFindings(gpu, engine, seed, *outcome, result);
  }
  return absl::OkStatus();
}

}  // namespace

CheckResult RunGpuGemm(CheckContext& context) {
  CheckResult result;
  if (std::fmod(context.parameters.Number("size"), kGemmGranule) != 0)
    return Unknown(absl::StrCat("size is not a multiple of ", kGemmGranule));
  const std::optional<GpuBench> bench = OpenBench(context, result);
  if (!bench.has_value()) return result;
  const std::string& engine = context.parameters.Word("engine");
  std::unique_ptr<Cublas> cublas;
  if (engine != "own") {
    absl::StatusOr<std::unique_ptr<Cublas>> loaded = Cublas::Load();
    if (loaded.ok()) {
      cublas = *std::move(loaded);
    } else if (engine == "cublas") {
      AddUnknown(result, absl::StrCat("cuBLAS is not available: ", loaded.status().message()));
      return result;
    }
  }
  Telemetry telemetry(bench->gpus, context.reporter, context.clock, context.started_at);
  const Work work = {context, *bench, telemetry, cublas.get(), engine == "cublas"};
  WorkOnAll(
      *bench,
      [&work](size_t index, const Gpu& gpu, CheckResult& part) {
        return BurnGpu(work, index, gpu, part);
      },
      result);
  telemetry.Finish(result);
  telemetry.AddClockFaults(result);
  CompareDigests(result);
  return result;
}

}  // namespace muster::burnin
