#include "agent/burnin/gpu/cool_down.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/bounded.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kCoolInterval = absl::Seconds(1);
constexpr absl::Duration kCoolTimeout = absl::Seconds(10);
constexpr double kCooler = 1;  // degrees, as NVML counts

// By GPU; nullopt: it does not report one.
using Temperatures = std::vector<std::optional<double>>;

// DeadlineExceeded: one of them hangs, which is a fault in `result`.
absl::StatusOr<Temperatures> Read(Clock& clock, const Gpus& gpus, CheckResult& result) {
  Temperatures all;
  for (const Gpu& gpu : gpus.chosen) {
    // The thread may outlive this function: it gets its own reference to the library.
    const auto celsius = RunBounded<absl::StatusOr<double>>(
        clock, kCoolTimeout, [gpu, nvml = gpus.nvml] { return gpu.nvml.TemperatureCelsius(); });
    if (!celsius.has_value()) {
      AddFault(result, "driver_hangs", gpu.uuid,
               absl::StrCat("NVML has not answered for ", absl::FormatDuration(kCoolTimeout),
                            " to a query of the temperature"));
      return absl::DeadlineExceededError("the NVIDIA driver does not answer");
    }
    all.push_back(celsius->ok() ? std::optional<double>(**celsius) : std::nullopt);
  }
  return all;
}

void Tell(CheckContext& context, const Gpus& gpus, const Temperatures& now) {
  size_t warmest = gpus.chosen.size();
  for (size_t i = 0; i < now.size(); ++i) {
    if (!now[i].has_value()) continue;
    context.reporter.AddSample({.at = context.clock.Now() - context.started_at,
                                .subject = gpus.chosen[i].uuid,
                                .metric = "temperature_celsius",
                                .value = *now[i]});
    if (warmest == now.size() || *now[i] > *now[warmest]) warmest = i;
  }
  if (warmest == now.size()) return;
  const Gpu& gpu = gpus.chosen[warmest];
  context.reporter.SetPhase(absl::StrFormat("cooling: %s %.0f °C, waiting for %.0f °C", gpu.uuid,
                                            *now[warmest], RestCelsius(gpu.heat_limit)),
                            std::nullopt);
}

}  // namespace

double RestCelsius(const std::optional<HeatLimit>& limit) {
  if (!limit.has_value()) return kRestCelsius;
  return std::min(kRestCelsius, limit->celsius - kRestBelowLimit);
}

bool CoolDown::Waits(absl::Time now, const std::vector<double>& above) {
  double sum = 0;
  for (const double degrees : above) sum += std::max(0.0, degrees);
  if (sum <= 0) return false;
  if (!least_.has_value() || sum <= *least_ - kCooler) {
    least_ = sum;
    progress_ = now;
  }
  return now < end_ && now < progress_ + kSettled;
}

absl::Status AwaitRest(CheckContext& context, const Gpus& gpus, CheckResult& result) {
  CoolDown cooling(context.clock.Now(), absl::Seconds(context.parameters.Number("cool-down")));
  for (;;) {
    ASSIGN_OR_RETURN(const Temperatures now, Read(context.clock, gpus, result));
    std::vector<double> above;
    for (size_t i = 0; i < now.size(); ++i)
      if (now[i].has_value()) above.push_back(*now[i] - RestCelsius(gpus.chosen[i].heat_limit));
    if (!cooling.Waits(context.clock.Now(), above)) {
      for (size_t i = 0; i < now.size(); ++i) {
        if (now[i].value_or(0) <= RestCelsius(gpus.chosen[i].heat_limit)) continue;
        for (Subject& subject : result.subjects)
          if (subject.id == gpus.chosen[i].uuid)
            subject.attributes["warm_at_start_celsius"] = absl::StrCat(*now[i]);
      }
      return absl::OkStatus();
    }
    Tell(context, gpus, now);
    if (context.reporter.stopping()) return absl::CancelledError("stopped while GPUs were cooling");
    context.clock.Sleep(kCoolInterval);
  }
}

}  // namespace muster::burnin
