#include "agent/health/trend.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "muster/v1/records.pb.h"

namespace muster::agent::health {
namespace {

constexpr absl::Duration kFineStep = absl::Minutes(5);
constexpr absl::Duration kFineWindow = absl::Minutes(65);
constexpr absl::Duration kWindow = absl::Hours(25);
constexpr int kMaxSamples = 64;

int64_t HourOf(absl::Time time) { return absl::ToUnixSeconds(time) / 3600; }

}  // namespace

Trend::Trend(const v1::CounterTrend& record, bool same_boot)
    : has_value_(true),
      is_new_boot_(!same_boot),
      last_(record.last()),
      total_(record.total()),
      boot_total_(same_boot ? record.boot_total() : record.total()) {
  for (const v1::TrendSample& sample : record.samples()) {
    if (samples_.size() < kMaxSamples)
      samples_.push_back({absl::FromUnixSeconds(sample.unix_s()), sample.total()});
  }
}

double Trend::Within(absl::Duration window, absl::Time now) const {
  double before = samples_.empty() ? total_ : samples_.front().total;
  for (const Sample& sample : samples_)
    if (sample.at <= now - window) before = sample.total;
  return total_ - before;
}

void Trend::Remember(absl::Time now) {
  // The clock was set back.
  while (!samples_.empty() && samples_.back().at > now) samples_.pop_back();
  if (!samples_.empty() && now - samples_.back().at < kFineStep) return;
  samples_.push_back({now, total_});
  std::vector<Sample> kept;
  for (const Sample& sample : samples_) {
    if (now - sample.at > kWindow) continue;
    const bool is_fine = now - sample.at <= kFineWindow;
    if (is_fine || kept.empty() || HourOf(kept.back().at) != HourOf(sample.at))
      kept.push_back(sample);
  }
  samples_ = std::move(kept);
}

Growth Trend::Add(double value, absl::Time now) {
  if (!std::isfinite(value)) value = last_;
  if (has_value_ && !is_new_boot_) {
    total_ += value >= last_ ? value - last_ : value;
  } else if (has_value_) {
    // What a counter that lives in the hardware counted since the agent last looked belongs to the
    // boot before; the others began anew, and count what coming up costs.
    total_ += std::max(0.0, value - last_);
    boot_total_ = total_;
  }
  has_value_ = true;
  is_new_boot_ = false;
  last_ = value;
  Remember(now);
  return {.in_boot = total_ - boot_total_,
          .in_hour = Within(absl::Hours(1), now),
          .in_day = Within(absl::Hours(24), now)};
}

v1::CounterTrend Trend::ToRecord(absl::string_view name) const {
  v1::CounterTrend record;
  record.set_name(std::string(name));
  record.set_last(last_);
  record.set_total(total_);
  record.set_boot_total(boot_total_);
  for (const Sample& sample : samples_) {
    v1::TrendSample& written = *record.add_samples();
    written.set_unix_s(absl::ToUnixSeconds(sample.at));
    written.set_total(sample.total);
  }
  return record;
}

Growth Trends::Add(const std::string& name, double value, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto found = trends_.find(name);
  if (found != trends_.end()) return found->second.Add(value, now);
  if (trends_.size() >= kMaxTrends) return {};
  return trends_[name].Add(value, now);
}

std::optional<double> Trends::Last(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = trends_.find(name);
  if (found == trends_.end()) return std::nullopt;
  return found->second.last();
}

void Trends::Forget(absl::FunctionRef<bool(absl::string_view name)> is_meant) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(trends_, [&](const auto& entry) { return is_meant(entry.first); });
}

void Trends::Load(const v1::HealthRecord& record, bool same_boot) {
  absl::MutexLock lock(&mutex_);
  trends_.clear();
  for (const v1::CounterTrend& trend : record.trends()) {
    if (trends_.size() < kMaxTrends) trends_.emplace(trend.name(), Trend(trend, same_boot));
  }
}

void Trends::Save(v1::HealthRecord& record) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, trend] : trends_) *record.add_trends() = trend.ToRecord(name);
}

}  // namespace muster::agent::health
