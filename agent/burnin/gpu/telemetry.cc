#include "agent/burnin/gpu/telemetry.h"

#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/gpu/clock_watch.h"
#include "agent/burnin/gpu/heat_watch.h"
#include "agent/burnin/readings.h"
#include "common/base/clock.h"
#include "common/checks/power_samples.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kSampleInterval = absl::Milliseconds(250);
// NVML answers within milliseconds; on a GPU that resets itself it takes seconds.
constexpr absl::Duration kSampleTimeout = absl::Seconds(10);

// Eight minutes at kSampleInterval without merging, a week in stretches of nine minutes.
constexpr size_t kMaxStretches = 2048;

// NVML's power is the mean of a second from Ampere on: a reading counts once the load is that old.
constexpr absl::Duration kPowerSettles = absl::Seconds(1);

struct Series {
  explicit Series(const Gpu& gpu)
      : heat(gpu.heat_limit, gpu.thermal_limits), clocks(gpu.clock_limits) {}

  std::optional<absl::Duration> loaded_since;  // since the start of the check
  double watts_sum = 0;
  Readings watts{kMaxStretches};  // under load, as mhz
  Readings mhz{kMaxStretches};
  HeatWatch heat;
  ClockWatch clocks;
};

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

template <typename T>
std::optional<T> Told(const absl::StatusOr<T>& value) {
  return value.ok() ? std::optional<T>(*value) : std::nullopt;
}

}  // namespace

// Asks one GPU; the lock is not held while the driver works. Returns its power draw, if reported.
template <typename State>
static std::optional<double> ReadOne(State& state, size_t i) {
  const Gpu& gpu = state.gpus.chosen[i];
  std::optional<absl::Duration> loaded_since;
  {
    absl::MutexLock lock(&state.mutex);
    state.asking = gpu.uuid;
    loaded_since = state.series[i].loaded_since;
  }
  const absl::Duration at = state.clock.Now() - state.started_at;
  const HeatWatch::Reading heat = {.at = at,
                                   .celsius = Told(gpu.nvml.TemperatureCelsius()),
                                   .reasons = Told(gpu.nvml.ClockReasons()),
                                   .memory_celsius = Told(gpu.nvml.MemoryTemperatureCelsius()),
                                   .margin = Told(gpu.nvml.MarginCelsius())};
  const std::optional<double> watts = Told(gpu.nvml.PowerWatts());
  const std::optional<double> mhz = Told(gpu.nvml.ClockMhz(nvml::kClockSm));
  const std::optional<double> memory_mhz = Told(gpu.nvml.ClockMhz(nvml::kClockMemory));
  {
    absl::MutexLock lock(&state.mutex);
    state.asking.clear();
    Series& series = state.series[i];
    series.heat.Take(heat);
    // The load lasted from before the first of these calls until after the last one.
    const bool loaded = loaded_since.has_value() && loaded_since == series.loaded_since;
    if (loaded) series.clocks.Take({mhz, memory_mhz, heat.reasons});
    if (loaded && watts && at >= *loaded_since + kPowerSettles) {
      series.watts_sum += *watts;
      series.watts.Add({at, *watts});
    }
    if (loaded && mhz) series.mhz.Add({at, *mhz});
    if (state.stop) return std::nullopt;
  }
  if (heat.celsius) AddSample(state.reporter, gpu.uuid, at, "temperature_celsius", *heat.celsius);
  if (heat.memory_celsius)
    AddSample(state.reporter, gpu.uuid, at, "memory_temperature_celsius", *heat.memory_celsius);
  if (watts) AddSample(state.reporter, gpu.uuid, at, checks::kPowerMetric, *watts);
  if (mhz) AddSample(state.reporter, gpu.uuid, at, "sm_clock_mhz", *mhz);
  return watts;
}

// Reads all GPUs once. Their total draw is reported when all of them reported theirs.
template <typename State>
static void ReadAll(State& state) {
  std::optional<double> sum = 0;
  for (size_t i = 0; i < state.gpus.chosen.size(); ++i) {
    const std::optional<double> watts = ReadOne(state, i);
    sum = sum && watts ? std::optional<double>(*sum + *watts) : std::nullopt;
  }
  if (!sum) return;
  state.reporter.AddSample({.at = state.clock.Now() - state.started_at,
                            .metric = checks::kPowerMetric,
                            .variant = checks::kPowerOfGpus,
                            .value = *sum});
}

template <typename State>
static void SampleUntilStopped(const std::shared_ptr<State>& state) {
  for (;;) {
    ReadAll(*state);
    absl::MutexLock lock(&state->mutex);
    state->clock.AwaitUntil(state->mutex, absl::Condition(&state->stop),
                            state->clock.Now() + kSampleInterval);
    if (!state->stop) continue;
    state->ended = true;
    return;
  }
}

Telemetry::Telemetry(const Gpus& gpus, Reporter& reporter, Clock& clock, absl::Time started_at)
    : state_(std::make_shared<State>(gpus, reporter, clock, started_at)) {
  {
    absl::MutexLock lock(&state_->mutex);
    for (const Gpu& gpu : gpus.chosen) state_->series.emplace_back(gpu);
  }
  std::thread([state = state_] { SampleUntilStopped(state); }).detach();
}

Telemetry::~Telemetry() {
  absl::MutexLock lock(&state_->mutex);
  state_->stop = true;
}

void Telemetry::SetLoaded(size_t i, bool loaded) const {
  absl::MutexLock lock(&state_->mutex);
  state_->series[i].loaded_since =
      loaded ? std::optional<absl::Duration>(state_->clock.Now() - state_->started_at)
             : std::nullopt;
}

double Telemetry::MedianClockMhz(const std::string& uuid, absl::Time from) const {
  absl::MutexLock lock(&state_->mutex);
  for (size_t i = 0; i < state_->series.size(); ++i)
    if (state_->gpus.chosen[i].uuid == uuid)
      return state_->series[i].mhz.Median(from - state_->started_at);
  return 0;
}

bool Telemetry::MustEnd(size_t i) const {
  absl::MutexLock lock(&state_->mutex);
  return state_->series[i].heat.must_end();
}

bool Telemetry::IsFirstAtWork(size_t i) const {
  absl::MutexLock lock(&state_->mutex);
  for (size_t before = 0; before < i; ++before)
    if (!state_->series[before].heat.must_end()) return false;
  return !state_->series[i].heat.must_end();
}

static void AddSeries(const std::string& uuid, const Series& series, CheckResult& result) {
  series.heat.AddMetrics(uuid, result);
  if (series.watts.count() > 0) {
    AddMetric(result, "power_mean_watts", "", uuid,
              series.watts_sum / static_cast<double>(series.watts.count()));
    AddMetric(result, "power_median_watts", "", uuid, series.watts.Median());
  }
  if (series.mhz.count() > 0)
    AddMetric(result, "sm_clock_median_mhz", "", uuid, series.mhz.Median());
}

void Telemetry::FinishWithoutMetrics(CheckResult& result) {
  absl::MutexLock lock(&state_->mutex);
  state_->stop = true;
  state_->clock.AwaitUntil(state_->mutex, absl::Condition(&state_->ended),
                           state_->clock.Now() + kSampleTimeout);
  if (!state_->ended)
    AddFault(result, "driver_hangs", state_->asking,
             absl::StrCat("NVML has not answered for ", absl::FormatDuration(kSampleTimeout),
                          " to a query of temperature, power and clocks"));
  for (size_t i = 0; i < state_->series.size(); ++i)
    state_->series[i].heat.AddFaults(state_->gpus.chosen[i].uuid, result);
}

void Telemetry::AddClockFaults(CheckResult& result) const {
  absl::MutexLock lock(&state_->mutex);
  for (size_t i = 0; i < state_->series.size(); ++i)
    state_->series[i].clocks.AddFaults(state_->gpus.chosen[i].uuid, result);
}

void Telemetry::Finish(CheckResult& result) {
  FinishWithoutMetrics(result);
  absl::MutexLock lock(&state_->mutex);
  for (size_t i = 0; i < state_->series.size(); ++i)
    AddSeries(state_->gpus.chosen[i].uuid, state_->series[i], result);
}

}  // namespace muster::burnin
