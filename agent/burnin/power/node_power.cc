#include "agent/burnin/power/node_power.h"

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/power/power_meter.h"
#include "agent/burnin/power/rapl.h"
#include "common/base/clock.h"
#include "common/checks/power_samples.h"
#include "common/sys/process/process_control.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kEnergyInterval = absl::Milliseconds(500);
constexpr absl::Duration kMeterInterval = absl::Seconds(5);
constexpr absl::Duration kPatience = absl::Seconds(2);

}  // namespace

struct NodePower::State {
  explicit State(const CheckContext& context)
      : reporter(context.reporter),
        clock(context.clock),
        files(context.files),
        processes(context.processes),
        started_at(context.started_at) {}

  void Add(const char* source, double watts) {
    reporter.AddSample({.at = clock.Now() - started_at,
                        .metric = checks::kPowerMetric,
                        .variant = source,
                        .value = watts});
  }
  // False: sampling has to end.
  bool WaitUntil(absl::Time until) {
    absl::MutexLock lock(&mutex);
    clock.AwaitUntil(mutex, absl::Condition(&stop), until);
    return !stop;
  }
  void SampleEnergy();
  void SampleMeter();
  void End() {
    absl::MutexLock lock(&mutex);
    --threads;
  }
  bool HasEnded() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return threads == 0; }

  Reporter& reporter;
  Clock& clock;
  sys::FileSystem& files;
  sys::ProcessRunner& processes;
  const absl::Time started_at;
  bool has_energy = false;  // set before the threads begin

  absl::Mutex mutex;
  bool stop ABSL_GUARDED_BY(mutex) = false;
  int threads ABSL_GUARDED_BY(mutex) = 0;
  bool is_at_rest ABSL_GUARDED_BY(mutex) = false;  // its draw at rest was measured
  sys::ProcessControl* asking ABSL_GUARDED_BY(mutex) = nullptr;
};

void NodePower::State::SampleEnergy() {
  std::vector<EnergyCounter> last = ReadEnergy(files);
  absl::Time last_at = clock.Now();
  while (WaitUntil(last_at + kEnergyInterval)) {
    std::vector<EnergyCounter> counters = ReadEnergy(files);
    const absl::Time now = clock.Now();
    if (const std::optional<double> watts = MeanWatts(last, counters, now - last_at))
      Add(checks::kPowerOfProcessors, *watts);
    last = std::move(counters);
    last_at = now;
    absl::MutexLock lock(&mutex);
    is_at_rest = true;
  }
  End();
}

void NodePower::State::SampleMeter() {
  PowerMeter meter(files, processes);
  for (bool goes_on = true; goes_on;) {
    const absl::Time start = clock.Now();
    sys::ProcessControl control;
    {
      absl::MutexLock lock(&mutex);
      asking = &control;
      if (stop) control.Stop();
    }
    const std::optional<double> watts = meter.Watts(control);
    {
      absl::MutexLock lock(&mutex);
      asking = nullptr;
    }
    if (watts.has_value()) Add(checks::kPowerOfNode, *watts);
    goes_on = WaitUntil(start + kMeterInterval);
  }
  End();
}

NodePower::NodePower(const CheckContext& context, bool ask_meter)
    : state_(std::make_shared<State>(context)) {
  state_->has_energy = !ReadEnergy(state_->files).empty();
  absl::MutexLock lock(&state_->mutex);
  if (state_->has_energy) {
    ++state_->threads;
    std::thread([state = state_] { state->SampleEnergy(); }).detach();
  }
  if (ask_meter) {
    ++state_->threads;
    std::thread([state = state_] { state->SampleMeter(); }).detach();
  }
}

NodePower::~NodePower() {
  absl::MutexLock lock(&state_->mutex);
  state_->stop = true;
  if (state_->asking != nullptr) state_->asking->Stop();
  state_->clock.AwaitUntil(state_->mutex, absl::Condition(state_.get(), &State::HasEnded),
                           state_->clock.Now() + kPatience);
}

void NodePower::MeasureRest() {
  if (!state_->has_energy) return;
  absl::MutexLock lock(&state_->mutex);
  state_->clock.AwaitUntil(state_->mutex, absl::Condition(&state_->is_at_rest),
                           state_->clock.Now() + 2 * kEnergyInterval);
}

}  // namespace muster::burnin
