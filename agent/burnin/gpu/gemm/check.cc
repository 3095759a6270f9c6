// The check gpu-gemm: all chosen GPUs multiply in parallel, and every bit is compared.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/error_watch.h"
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
  bool is_own;  // Muster's own kernel
};

// A library, GPU or driver that is not meant for a type, as opposed to one that fails at it.
bool IsUnsuitable(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status);
}

absl::StatusOr<TypeEngine> OwnEngineOf(KernelLauncher& kernels, Element type) {
  ASSIGN_OR_RETURN(std::unique_ptr<GemmEngine> engine, MakeOwnEngine(kernels, type));
  return TypeEngine{type, std::move(engine), true};
}

absl::StatusOr<TypeEngine> MakeEngine(const Work& work, KernelLauncher& kernels, Element type) {
  if (work.cublas == nullptr) return OwnEngineOf(kernels, type);
  absl::StatusOr<std::unique_ptr<GemmEngine>> engine =
      work.cublas->MakeEngine(kernels.context(), type);
  if (engine.ok()) return TypeEngine{type, *std::move(engine), false};
  // A library that does not suit the type or the driver must not leave the GPU untested.
  if (!IsUnsuitable(engine.status()) || work.only_cublas) return engine.status();
  return OwnEngineOf(kernels, type);
}

// The types that were asked for, or all, and why they were not measured.
class NotMeasured {
 public:
  void Add(absl::string_view type, absl::string_view why) {
    reasons_.push_back(absl::StrCat(type, ": ", why));
  }
  // Names them in the GPU's attribute "not_measured". When all types are tested, some are always
  // beyond a GPU; one that was asked for, or a GPU without any, makes the result unknown.
  void Report(const Gpu& gpu, bool asked, bool measured_any, CheckResult& result) const {
    if (reasons_.empty()) return;
    const std::string all = absl::StrJoin(reasons_, "; ");
    result.subjects.push_back({.id = gpu.uuid, .attributes = {{"not_measured", all}}});
    if (asked || !measured_any)
      AddUnknown(result, absl::StrCat(Describe(gpu), ": not measured: ", all));
  }

 private:
  std::vector<std::string> reasons_;
};

constexpr const char* kAllTypes[] = {"fp32", "fp64", "fp16", "bf16", "tf32", "fp8", "int8"};

// The engines of one GPU for all requested types, or for all that it supports.
absl::StatusOr<std::vector<TypeEngine>> MakeEngines(const Work& work, KernelLauncher& kernels,
                                                    NotMeasured& not_measured) {
  std::vector<TypeEngine> engines;
  std::vector<std::string> names = work.context.parameters.Words("types");
  if (names.empty()) names.assign(std::begin(kAllTypes), std::end(kAllTypes));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const Element type, ElementByName(name));
    absl::StatusOr<TypeEngine> engine = MakeEngine(work, kernels, type);
    if (engine.ok()) {
      engines.push_back(*std::move(engine));
    } else if (IsUnsuitable(engine.status())) {
      not_measured.Add(name, engine.status().message());
    } else {
      return engine.status();
    }
  }
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
  NotMeasured not_measured;
  ASSIGN_OR_RETURN(std::vector<TypeEngine> engines, MakeEngines(work, kernels, not_measured));
  const auto seed = static_cast<uint64_t>(parameters.Number("seed"));
  const absl::Duration duration = absl::Seconds(parameters.Number("duration"));
  const absl::Time start = context.clock.Now();
  const auto stop = [&] { return context.reporter.stopping() || work.telemetry.MustEnd(index); };
  bool measured_any = false;
  for (TypeEngine& engine : engines) {
    const absl::string_view type = ElementName(engine.type);
    if (stop()) {
      not_measured.Add(type, "the test of the GPU was ended before");
      continue;
    }
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
    const BurnObserver observer = {
        .on_rate =
            [&](double tflops) {
              context.reporter.AddSample({.at = SinceStart(context),
                                          .subject = gpu.uuid,
                                          .metric = "tflops",
                                          .variant = std::string(type),
                                          .value = tflops});
              tell_phase();
            },
        .stop = stop,
        .on_load = [&](bool loaded) { work.telemetry.SetLoaded(index, loaded); }};
    tell_phase();
    absl::StatusOr<BurnOutcome> outcome =
        Burn(kernels, *engine.engine, context.clock, settings, observer);
    // A library may refuse a type only when it is to multiply.
    if (IsUnsuitable(outcome.status()) && !engine.is_own && !work.only_cublas) {
      absl::StatusOr<TypeEngine> own = OwnEngineOf(kernels, engine.type);
      if (own.ok()) {
        engine = *std::move(own);
        outcome = Burn(kernels, *engine.engine, context.clock, settings, observer);
      }
    }
    if (IsUnsuitable(outcome.status())) {
      not_measured.Add(type, outcome.status().message());
      continue;
    }
    if (!outcome.ok()) return Annotate(outcome.status(), type);
    measured_any = true;
    AddRates(work, *cuda, gpu, engine, from, outcome->tflops, result);
    AddFindings(gpu, engine, seed, *outcome, result);
  }
  // A GPU whose test was ended says so itself.
  const bool asked = !parameters.Words("types").empty();
  not_measured.Report(gpu, asked && !stop(), measured_any || stop(), result);
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
  ErrorWatch errors(context, bench->gpus);
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
  errors.Finish(result);
  CompareDigests(result);
  return result;
}

}  // namespace muster::burnin
