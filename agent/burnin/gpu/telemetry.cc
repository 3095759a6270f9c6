#include "agent/burnin/gpu/telemetry.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/gpu/clock_reasons.h"
#include "common/base/clock.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(250);
// NVML answers within milliseconds; on a GPU that resets itself it takes seconds.
constexpr absl::Duration kHangTimeout = absl::Seconds(10);
// HW slowdown may flash when clocks change: shorter is no fault.
constexpr absl::Duration kThrottleGrace = absl::Seconds(1);

struct Reading {
  absl::Time at;
  double celsius = 0, watts = 0, mhz = 0;
  unsigned long long reasons = 0;
};

struct Series {
  std::vector<Reading> readings;
  bool has_celsius = false, has_watts = false, has_mhz = false, has_reasons = false;
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

struct Telemetry::State {
  State(const Gpus& gpus, Reporter& reporter, Clock& clock, absl::Time started_at)
      : gpus(gpus), reporter(reporter), clock(clock), started_at(started_at) {}

  const Gpus gpus;
  Reporter& reporter;
  Clock& clock;
  const absl::Time started_at;

  absl::Mutex mutex;
  bool stop ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;
  std::string asking ABSL_GUARDED_BY(mutex);  // uuid of the GPU that is being read
  std::vector<Series> series ABSL_GUARDED_BY(mutex);
};

namespace {

void AddSample(Reporter& reporter, const std::string& uuid, absl::Duration at, const char* metric,
               double value) {
  reporter.AddSample({.at = at, .subject = uuid, .metric = metric, .value = value});
}

bool Take(const absl::StatusOr<double>& value, double& out) {
  if (value.ok()) out = *value;
  return value.ok();
}

}  // namespace

// Asks one GPU; the lock is not held while the driver works.
template <typename State>
static void ReadOne(State& state, size_t i) {
  const Gpu& gpu = state.gpus.chosen[i];
  {
    absl::MutexLock lock(&state.mutex);
    state.asking = gpu.uuid;
  }
  Reading reading = {.at = state.clock.Now()};
  Series seen;
  seen.has_celsius = Take(gpu.nvml.TemperatureCelsius(), reading.celsius);
  seen.has_watts = Take(gpu.nvml.PowerWatts(), reading.watts);
  seen.has_mhz = Take(gpu.nvml.ClockMhz(nvml::kClockSm), reading.mhz);
  const absl::StatusOr<unsigned long long> reasons = gpu.nvml.ClockReasons();
  seen.has_reasons = reasons.ok();
  if (reasons.ok()) reading.reasons = *reasons;
  {
    absl::MutexLock lock(&state.mutex);
    state.asking.clear();
    Series& series = state.series[i];
    series.has_celsius |= seen.has_celsius;
    series.has_watts |= seen.has_watts;
    series.has_mhz |= seen.has_mhz;
    series.has_reasons |= seen.has_reasons;
    series.readings.push_back(reading);
    if (state.stop) return;
  }
  const absl::Duration at = reading.at - state.started_at;
  if (seen.has_celsius)
    AddSample(state.reporter, gpu.uuid, at, "temperature_celsius", reading.celsius);
  if (seen.has_watts) AddSample(state.reporter, gpu.uuid, at, "power_watts", reading.watts);
  if (seen.has_mhz) AddSample(state.reporter, gpu.uuid, at, "sm_clock_mhz", reading.mhz);
}

template <typename State>
static void SampleUntilStopped(const std::shared_ptr<State>& state) {
  for (;;) {
    for (size_t i = 0; i < state->gpus.chosen.size(); ++i) ReadOne(*state, i);
    absl::MutexLock lock(&state->mutex);
    state->clock.AwaitUntil(state->mutex, absl::Condition(&state->stop),
                            state->clock.Now() + kInterval);
    if (!state->stop) continue;
    state->ended = true;
    return;
  }
}

Telemetry::Telemetry(const Gpus& gpus, Reporter& reporter, Clock& clock, absl::Time started_at)
    : state_(std::make_shared<State>(gpus, reporter, clock, started_at)) {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->series.resize(gpus.chosen.size());
  }
  std::thread([state = state_] { SampleUntilStopped(state); }).detach();
}

Telemetry::~Telemetry() {
  absl::MutexLock lock(&state_->mutex);
  state_->stop = true;
}

double Telemetry::MedianClockMhz(const std::string& uuid, absl::Time from) const {
  absl::MutexLock lock(&state_->mutex);
  std::vector<double> values;
  for (size_t i = 0; i < state_->series.size(); ++i) {
    if (state_->gpus.chosen[i].uuid != uuid || !state_->series[i].has_mhz) continue;
    for (const Reading& reading : state_->series[i].readings)
      if (reading.at >= from) values.push_back(reading.mhz);
  }
  return Median(std::move(values));
}

static void AddSeries(const std::string& uuid, const Series& series, CheckResult& result) {
  if (series.readings.empty()) return;
  double hottest = 0, watts = 0;
  std::vector<double> clocks;
  absl::Duration slowed[std::size(kSlowdowns)] = {};
  for (size_t i = 0; i < series.readings.size(); ++i) {
    const Reading& reading = series.readings[i];
    hottest = std::max(hottest, reading.celsius);
    watts += reading.watts;
    clocks.push_back(reading.mhz);
    const absl::Duration span =
        i == 0 ? absl::ZeroDuration() : reading.at - series.readings[i - 1].at;
    for (size_t kind = 0; kind < std::size(kSlowdowns); ++kind)
      if ((reading.reasons & kSlowdowns[kind].bits) != 0) slowed[kind] += span;
  }
  if (series.has_celsius) AddMetric(result, "temperature_max_celsius", "", uuid, hottest);
  if (series.has_watts)
    AddMetric(result, "power_mean_watts", "", uuid,
              watts / static_cast<double>(series.readings.size()));
  if (series.has_mhz) AddMetric(result, "sm_clock_median_mhz", "", uuid, Median(std::move(clocks)));
  for (size_t kind = 0; series.has_reasons && kind < std::size(kSlowdowns); ++kind) {
    AddMetric(result, "throttle_seconds", kSlowdowns[kind].variant, uuid,
              absl::ToDoubleSeconds(slowed[kind]));
    if (slowed[kind] < kThrottleGrace) continue;
    AddFault(result, kSlowdowns[kind].fault, uuid,
             absl::StrFormat("the hardware slowed the GPU down for %.1f s: %s; hottest %.0f °C",
                             absl::ToDoubleSeconds(slowed[kind]), kSlowdowns[kind].cause, hottest));
  }
}

void Telemetry::Finish(CheckResult& result) {
  absl::MutexLock lock(&state_->mutex);
  state_->stop = true;
  state_->clock.AwaitUntil(state_->mutex, absl::Condition(&state_->ended),
                           state_->clock.Now() + kHangTimeout);
  if (!state_->ended)
    AddFault(result, "driver_hangs", state_->asking,
             absl::StrCat("NVML has not answered for ", absl::FormatDuration(kHangTimeout),
                          " when it was asked for temperature, power and clocks"));
  for (size_t i = 0; i < state_->series.size(); ++i)
    AddSeries(state_->gpus.chosen[i].uuid, state_->series[i], result);
}

}  // namespace muster::burnin
