// The check gpu-copy: between the host and each GPU, and from each GPU to each other, one after the
// other, so that no copy takes another's share of a bus.
#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/copy/copies.h"
#include "agent/burnin/gpu/copy/near_memory.h"
#include "agent/burnin/gpu/error_watch.h"
#include "agent/burnin/gpu/gpu_work.h"
#include "agent/burnin/gpu/telemetry.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

class CopyCheck {
 public:
  CopyCheck(CheckContext& context, const GpuBench& bench, const Telemetry& telemetry,
            CheckResult& result)
      : context_(context),
        gpus_(bench.gpus.chosen),
        bench_(bench),
        telemetry_(telemetry),
        settings_({.bytes = static_cast<uint64_t>(context.parameters.Number("size")) / 8 * 8,
                   .time = absl::Seconds(context.parameters.Number("time")),
                   .seed = static_cast<uint64_t>(context.parameters.Number("seed"))}),
        result_(result) {}

  void Run() {
    for (const Gpu& gpu : gpus_) Open(gpu);
    const size_t pairs = context_.parameters.Flag("peers") ? gpus_.size() * (gpus_.size() - 1) : 0;
    steps_ = gpus_.size() + pairs;
    for (size_t i = 0; i < gpus_.size(); ++i) Step(i, i, [&] { return HostCopy(i); });
    for (size_t from = 0; pairs > 0 && from < gpus_.size(); ++from)
      for (size_t to = 0; to < gpus_.size(); ++to)
        if (from != to && contexts_[to] != nullptr)
          Step(from, to, [&] { return PeerCopy(from, to); });
  }

 private:
  void Open(const Gpu& gpu) {
    absl::StatusOr<std::unique_ptr<CudaContext>> cuda = OpenContext(bench_, gpu);
    if (!cuda.ok()) AddGpuError(gpu, cuda.status(), result_);
    contexts_.push_back(cuda.ok() ? *std::move(cuda) : nullptr);
  }

  // Runs in a thread of its own next to the GPU, since a thread's binding to a node lasts. A GPU
  // that has failed once, or is too hot, is left alone.
  template <typename Measure>
  void Step(size_t gpu, size_t peer, Measure measure) {
    const double fraction = static_cast<double>(step_++) / static_cast<double>(steps_);
    stop_ = [this, gpu, peer] {
      return context_.reporter.stopping() || telemetry_.MustEnd(gpu) || telemetry_.MustEnd(peer);
    };
    if (contexts_[gpu] == nullptr || stop_()) return;
    context_.reporter.SetPhase(Describe(gpus_[gpu]), fraction);
    absl::Status status;
    std::thread([&] {
      const NearNode near(context_.files, NumaNodeOf(context_.files, gpus_[gpu].pci_address));
      status = measure();
    }).join();
    if (status.ok()) return;
    AddGpuError(gpus_[gpu], status, result_);
    contexts_[gpu] = nullptr;
  }

  absl::Status HostCopy(size_t i) {
    const std::string& uuid = gpus_[i].uuid;
    ASSIGN_OR_RETURN(const HostCopies copies,
                     MeasureHostCopies(*contexts_[i], context_.clock, settings_, stop_));
    AddMetric(result_, "host_to_gpu_gbytes_per_s", "", uuid, copies.to_device_gbytes_per_s);
    AddMetric(result_, "gpu_to_host_gbytes_per_s", "", uuid, copies.to_host_gbytes_per_s);
    AddMetric(result_, "both_ways_gbytes_per_s", "", uuid, copies.both_gbytes_per_s);
    if (!copies.damage.empty())
      AddFault(result_, "copy_mismatch", uuid,
               absl::StrCat(Describe(gpus_[i]),
                            ": data copied to it and back is damaged: ", copies.damage));
    return absl::OkStatus();
  }

  absl::Status PeerCopy(size_t from, size_t to) {
    absl::StatusOr<PeerCopies> copies =
        MeasurePeerCopies(*contexts_[from], *contexts_[to], context_.clock, settings_, stop_);
    if (!copies.ok())
      return Annotate(copies.status(), absl::StrCat("copying to ", Describe(gpus_[to])));
    AddMetric(result_,
              copies->direct ? "gpu_to_gpu_gbytes_per_s" : "gpu_to_gpu_staged_gbytes_per_s",
              gpus_[to].uuid, gpus_[from].uuid, copies->gbytes_per_s);
    if (!copies->damage.empty())
      AddFault(result_, "copy_mismatch", gpus_[from].uuid,
               absl::StrCat("data copied from ", Describe(gpus_[from]), " to ", Describe(gpus_[to]),
                            " is damaged: ", copies->damage));
    return absl::OkStatus();
  }

  CheckContext& context_;
  const std::vector<Gpu>& gpus_;
  const GpuBench& bench_;
  const Telemetry& telemetry_;
  const CopySettings settings_;
  CheckResult& result_;
  std::function<bool()> stop_;  // of the current step
  std::vector<std::unique_ptr<CudaContext>> contexts_;
  size_t step_ = 0, steps_ = 0;
};

}  // namespace

CheckResult RunGpuCopy(CheckContext& context) {
  CheckResult result;
  const std::optional<GpuBench> bench = OpenBench(context, result);
  if (!bench.has_value()) return result;
  ErrorWatch errors(context, bench->gpus);
  Telemetry telemetry(bench->gpus, context.reporter, context.clock, context.started_at);
  CopyCheck(context, *bench, telemetry, result).Run();
  telemetry.FinishWithoutMetrics(result);
  errors.Finish(result);
  return result;
}

}  // namespace muster::burnin
