// The check gpu-collective: an all-reduce over the GPUs of one node, by NCCL.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/collective/nccl.h"
#include "agent/burnin/gpu/error_watch.h"
#include "agent/burnin/gpu/gpu_work.h"
#include "agent/burnin/gpu/telemetry.h"
#include "agent/burnin/readings.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// All-reduces whose rates are kept one by one: those of a day would fill the memory.
constexpr size_t kMaxRates = 65536;

// The part of one GPU.
struct Rank {
  std::unique_ptr<CudaContext> cuda;
  DeviceMemory from, to;
  CudaStream stream;
};

// GPU i sends i + 1 everywhere: their sum is a small integer, exact in FP32.
uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

class AllReduce {
 public:
  AllReduce(CheckContext& context, const GpuBench& bench, const Nccl& nccl,
            const Telemetry& telemetry, CheckResult& result)
      : context_(context), bench_(bench), nccl_(nccl), telemetry_(telemetry), result_(result) {}
  ~AllReduce() {
    for (const Nccl::Part& part : parts_) nccl_.Disconnect(part.communicator);
  }

  absl::Status Run() {
    for (size_t i = 0; i < bench_.gpus.chosen.size(); ++i) {
      if (const absl::Status status = Prepare(i); !status.ok()) {
        AddGpuError(bench_.gpus.chosen[i], status, result_);
        return absl::OkStatus();
      }
    }
    RETURN_IF_ERROR(Connect());
    RETURN_IF_ERROR(Measure());
    return Verify();
  }

 private:
  size_t count() const {
    return static_cast<size_t>(context_.parameters.Number("size")) / sizeof(float);
  }
  size_t bytes() const { return count() * sizeof(float); }

  absl::Status Prepare(size_t i) {
    Rank rank;
    ASSIGN_OR_RETURN(rank.cuda, OpenContext(bench_, bench_.gpus.chosen[i]));
    ASSIGN_OR_RETURN(rank.from, rank.cuda->Allocate(bytes()));
    ASSIGN_OR_RETURN(rank.to, rank.cuda->Allocate(bytes()));
    ASSIGN_OR_RETURN(rank.stream, rank.cuda->CreateStream());
    RETURN_IF_ERROR(rank.cuda->MakeCurrent());
    const CudaDriver& driver = rank.cuda->driver();
    RETURN_IF_ERROR(driver.ToStatus(
        driver.functions().MemsetD32Async(rank.from.get(), BitsOf(static_cast<float>(i + 1)),
                                          count(), rank.stream.get()),
        "cuMemsetD32Async"));
    RETURN_IF_ERROR(rank.cuda->Synchronize(rank.stream.get()));
    ranks_.push_back(std::move(rank));
    return absl::OkStatus();
  }

  absl::Status Connect() {
    std::vector<cuda::Device> devices;
    for (const Rank& rank : ranks_) devices.push_back(rank.cuda->device());
    const absl::StatusOr<std::vector<void*>> communicators = nccl_.Connect(devices);
    // Usually a library that does not suit the driver.
    if (!communicators.ok()) return absl::FailedPreconditionError(communicators.status().message());
    for (size_t i = 0; i < ranks_.size(); ++i)
      parts_.push_back(
          {(*communicators)[i], ranks_[i].from.get(), ranks_[i].to.get(), ranks_[i].stream.get()});
    return absl::OkStatus();
  }

  absl::Status Once() {
    RETURN_IF_ERROR(nccl_.AllReduce(parts_, count()));
    for (const Rank& rank : ranks_) RETURN_IF_ERROR(rank.cuda->Synchronize(rank.stream.get()));
    return absl::OkStatus();
  }

  // The GPUs work together: one that is too hot ends the test for all.
  bool MustEnd() const {
    bool end = context_.reporter.stopping();
    for (size_t i = 0; i < ranks_.size(); ++i) end |= telemetry_.MustEnd(i);
    return end;
  }

  absl::Status Measure() {
    RETURN_IF_ERROR(Once());  // sets up the rings
    std::vector<std::unique_ptr<UnderLoad>> load;
    for (size_t i = 0; i < ranks_.size(); ++i)
      load.push_back(std::make_unique<UnderLoad>(telemetry_, i));
    const absl::Time start = context_.clock.Now();
    const absl::Duration time = absl::Seconds(context_.parameters.Number("duration"));
    Readings rates(kMaxRates);
    do {
      const absl::Time from = context_.clock.Now();
      RETURN_IF_ERROR(Once());
      const double seconds = absl::ToDoubleSeconds(context_.clock.Now() - from);
      rates.Add({from - start, static_cast<double>(bytes()) / std::max(seconds, 1e-9) / 1e9});
      context_.reporter.SetPhase(
          "all-reduce", std::min(1.0, absl::FDivDuration(context_.clock.Now() - start, time)));
    } while (context_.clock.Now() - start < time && !MustEnd());
    const double algbw = rates.Median();
    const auto n = static_cast<double>(ranks_.size());
    AddMetric(result_, "allreduce_algbw_gbytes_per_s", "", "", algbw);
    // The load of each link, whatever the number of GPUs: every byte is sent 2(n−1)/n times.
    AddMetric(result_, "allreduce_busbw_gbytes_per_s", "", "", algbw * 2 * (n - 1) / n);
    return absl::OkStatus();
  }

  absl::Status Verify() {
    const auto n = static_cast<float>(ranks_.size());
    const uint32_t expected = BitsOf(n * (n + 1) / 2);
    std::vector<uint32_t> received(count());
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const Rank& rank = ranks_[i];
      RETURN_IF_ERROR(
          rank.cuda->CopyToHost(received.data(), rank.to.get(), bytes(), rank.stream.get()));
      RETURN_IF_ERROR(rank.cuda->Synchronize(rank.stream.get()));
      const auto wrong = received.size() - static_cast<size_t>(std::count(
                                               received.begin(), received.end(), expected));
      if (wrong == 0) continue;
      const auto first = std::find_if(received.begin(), received.end(),
                                      [&](uint32_t word) { return word != expected; });
      AddFault(result_, "wrong_result", bench_.gpus.chosen[i].uuid,
               absl::StrFormat("%s: %d of %d sums are wrong, the first at %d: 0x%08x, not 0x%08x",
                               Describe(bench_.gpus.chosen[i]), wrong, received.size(),
                               first - received.begin(), *first, expected));
    }
    return absl::OkStatus();
  }

  CheckContext& context_;
  const GpuBench& bench_;
  const Nccl& nccl_;
  const Telemetry& telemetry_;
  CheckResult& result_;
  std::vector<Rank> ranks_;
  std::vector<Nccl::Part> parts_;
};

// The GPUs were there nevertheless, and may have had faults.
CheckResult SkippedOf(CheckResult seen, std::string reason) {
  CheckResult skipped = Skipped(std::move(reason));
  skipped.subjects = std::move(seen.subjects);
  skipped.faults = std::move(seen.faults);
  return skipped;
}

}  // namespace

CheckResult RunGpuCollective(CheckContext& context) {
  CheckResult result;
  const std::optional<GpuBench> bench = OpenBench(context, result);
  if (!bench.has_value()) return result;
  if (bench->gpus.chosen.size() < 2)
    return SkippedOf(std::move(result),
                     "a collective needs two GPUs or more, but there is only one");
  const absl::StatusOr<std::unique_ptr<Nccl>> nccl = Nccl::Load();
  if (absl::IsNotFound(nccl.status()))
    return SkippedOf(std::move(result),
                     "this check needs NCCL, which is not installed: install libnccl2");
  if (!nccl.ok()) {
    AddUnknown(result, absl::StrCat("NCCL cannot be used: ", nccl.status().message()));
    return result;
  }
  if (const absl::StatusOr<std::string> tool = (*nccl)->Tool(); tool.ok())
    result.tools.push_back(*tool);
  ErrorWatch errors(context, bench->gpus);
  Telemetry telemetry(bench->gpus, context.reporter, context.clock, context.started_at);
  const absl::Status status = AllReduce(context, *bench, **nccl, telemetry, result).Run();
  if (absl::IsFailedPrecondition(status)) {
    AddUnknown(result, status.message());
  } else if (!status.ok()) {
    AddFault(result, "collective_error", "", std::string(status.message()));
  }
  telemetry.Finish(result);
  errors.Finish(result);
  return result;
}

}  // namespace muster::burnin
