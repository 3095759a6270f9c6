#include "agent/burnin/worker_reporter.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace muster::burnin {
namespace {

// A check that samples faster than anybody reads must not fill the memory.
constexpr size_t kMaxWaitingSamples = 4096;

}  // namespace

WorkerReporter::WorkerReporter(Output& output, Clock& clock, const std::atomic<bool>& interrupted,
                               absl::Duration interval)
    : output_(output), clock_(clock), interrupted_(interrupted), interval_(interval) {
  writer_ = std::thread([this] { WriteWhatIsNew(); });
}

WorkerReporter::~WorkerReporter() { Finish(); }

void WorkerReporter::SetPhase(absl::string_view phase, std::optional<double> fraction) {
  absl::MutexLock lock(&mutex_);
  progress_.phase = std::string(phase);
  progress_.fraction = fraction;
  changed_ = true;
}

void WorkerReporter::AddSample(Sample sample) {
  if (!std::isfinite(sample.value)) return;
  absl::MutexLock lock(&mutex_);
  curves_.Add(sample);
  if (progress_.samples.size() < kMaxWaitingSamples) progress_.samples.push_back(std::move(sample));
  changed_ = true;
}

absl::StatusOr<std::vector<Endpoint>> WorkerReporter::Meet(const Endpoint& listening,
                                                           absl::Duration timeout) {
  const absl::Time deadline = clock_.Now() + timeout;
  absl::MutexLock lock(&mutex_);
  progress_.listening = listening;
  changed_ = true;
  // A signal wakes nobody: it is polled now and then.
  while (!HasPeersOrStops() && clock_.Now() < deadline)
    clock_.AwaitUntil(mutex_, absl::Condition(this, &WorkerReporter::HasPeersOrStops),
                      std::min(deadline, clock_.Now() + absl::Milliseconds(200)));
  if (IsStopping())
    return absl::CancelledError(absl::StrCat("stopped while waiting for the other nodes"));
  if (peers_.empty())
    return absl::DeadlineExceededError(absl::StrCat(
        "the endpoints of the other nodes did not come within ", absl::FormatDuration(timeout)));
  return peers_;
}

bool WorkerReporter::stopping() const {
  absl::MutexLock lock(&mutex_);
  return IsStopping();
}

bool WorkerReporter::IsStopping() const { return interrupted_.load() || !stop_reason_.empty(); }

bool WorkerReporter::HasPeersOrStops() const { return !peers_.empty() || IsStopping(); }

void WorkerReporter::SetPeers(std::vector<Endpoint> peers) {
  absl::MutexLock lock(&mutex_);
  peers_ = std::move(peers);
}

void WorkerReporter::Stop(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (stop_reason_.empty()) stop_reason_ = reason;
}

std::string WorkerReporter::stop_reason() const {
  absl::MutexLock lock(&mutex_);
  return stop_reason_.empty() && interrupted_.load() ? "interrupted" : stop_reason_;
}

std::vector<Sample> WorkerReporter::Finish() {
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
  }
  if (writer_.joinable()) writer_.join();
  absl::MutexLock lock(&mutex_);
  return curves_.Samples();
}

void WorkerReporter::WriteWhatIsNew() {
  for (bool last = false; !last;) {
    Progress news;
    bool is_news = false;
    {
      absl::MutexLock lock(&mutex_);
      // Somebody waits for an endpoint: it is written at once.
      const auto urgent = +[](WorkerReporter* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return self->finished_ || self->progress_.listening.has_value();
      };
      clock_.AwaitUntil(mutex_, absl::Condition(urgent, this), clock_.Now() + interval_);
      last = finished_;
      is_news = std::exchange(changed_, false);
      news = progress_;
      progress_.samples.clear();
      progress_.listening.reset();
    }
    if (is_news) output_.Write(news);
  }
}

}  // namespace muster::burnin
