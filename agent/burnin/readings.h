// The readings of one quantity during a check, however long the check takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace muster::burnin {

struct Reading {
  absl::Duration at;  // since the start of the check
  double value = 0;
};

// Readings of one quantity in bounded memory: at most `max_stretches` of 80 bytes. Up to that many
// readings are kept one by one; then neighbors are merged, evenly over the whole time, and each
// stretch of time keeps its lowest and its highest reading. Not thread-safe.
class Readings {
 public:
  // REQUIRES: at least 2 stretches.
  explicit Readings(size_t max_stretches) : max_stretches_(max_stretches) {}

  // REQUIRES: readings come in the order of time and are finite.
  void Add(Reading reading);

  uint64_t count() const { return count_; }  // of all added readings
  // Exact, over all added readings. REQUIRES: count() above 0.
  double Lowest() const;
  double Highest() const;
  // The median of the readings from that time on, the upper one of two in the middle; 0: there is
  // none. Merged readings count as that many times their mean, and all those of the stretch in
  // which `from` lies count.
  double Median(absl::Duration from = absl::ZeroDuration()) const;

  // Readings in the order of time, at most max(4, `most`) of them: all that are kept if they are no
  // more than that, otherwise the first, the last, and the lowest and highest of stretches of equal
  // size.
  std::vector<Reading> Points(size_t most) const;

 private:
  struct Stretch {
    Reading lowest, highest;
    absl::Duration end;  // of its last reading
    double sum = 0;
    uint64_t count = 0;
  };

  static void Merge(Stretch& to, const Stretch& later);
  std::vector<Reading> PointsOf(const std::vector<Stretch>& stretches) const;

  size_t max_stretches_;
  uint64_t stride_ = 1;  // readings of a full stretch
  uint64_t count_ = 0;
  Reading first_, last_;
  std::vector<Stretch> stretches_;
};

}  // namespace muster::burnin
