// How counters of the hardware grow, across resets, restarts of the agent and boots.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster::v1 {
class CounterTrend;
class HealthRecord;
}  // namespace muster::v1

namespace muster::agent::health {

// Growth of a counter up to now.
struct Growth {
  double in_boot = 0;
  double in_hour = 0;
  double in_day = 0;
};

// One counter, with a sample every five minutes of the last hour and one for each hour of the last
// day. Pure.
class Trend {
 public:
  Trend() = default;
  // `same_boot`: the record was written in this boot.
  Trend(const v1::CounterTrend& record, bool same_boot);

  // The counter reads `value` now. A counter below its last value was reset.
  Growth Add(double value, absl::Time now);
  // As it was last read.
  double last() const { return last_; }
  v1::CounterTrend ToRecord(absl::string_view name) const;

 private:
  struct Sample {
    absl::Time at;
    double total;
  };
  double Within(absl::Duration window, absl::Time now) const;
  void Remember(absl::Time now);

  bool has_value_ = false;
  bool is_new_boot_ = false;  // and nothing was read in it
  double last_ = 0;
  double total_ = 0;
  double boot_total_ = 0;
  std::vector<Sample> samples_;
};

// All counters of the node by name. Bounded. Thread-safe.
class Trends {
 public:
  static constexpr size_t kMaxTrends = 1024;

  Growth Add(const std::string& name, double value, absl::Time now);
  // The counter as it was last read, also in an earlier boot; nullopt: it never was.
  std::optional<double> Last(const std::string& name) const;
  // Forgets the growth of those counters whose names `is_meant`.
  void Forget(absl::FunctionRef<bool(absl::string_view name)> is_meant);
  // Replaces everything; `same_boot` as above.
  void Load(const v1::HealthRecord& record, bool same_boot);
  void Save(v1::HealthRecord& record) const;

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, Trend> trends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent::health
