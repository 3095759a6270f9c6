// What was read of one quantity over a check, however long the check takes.
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

// Readings of one quantity in bounded memory: at most `max_stretches` of 80 bytes. Up to so many
// readings each is kept as it is; then neighbours are merged, all over the time alike, and of each
// stretch of time its lowest and its highest reading stay as they were. Not thread-safe.
class Readings {
 public:
  // REQUIRES: 2 stretches or more.
  explicit Readings(size_t max_stretches) : max_stretches_(max_stretches) {}

  // REQUIRES: in the order of time, finite.
  void Add(Reading reading);

  uint64_t count() const { return count_; }  // of all that were added
  // Exact, of all that were added. REQUIRES: count() above 0.
  double Lowest() const;
  double Highest() const;
  // Of the readings from that time on, the upper one of two in the middle; 0: there is none. Merged
  // readings count as so many of their mean, and those of the stretch in which `from` lies all
  // count.
  double Median(absl::Duration from = absl::ZeroDuration()) const;

  // Readings in the order of time, max(4, `most`) of them at most: all that are kept where they are
  // no more, otherwise the first, the last, and the lowest and highest of stretches of equal size.
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
  uint64_t stride_ = 1;  // readings of a stretch that is full
  uint64_t count_ = 0;
  Reading first_, last_;
  std::vector<Stretch> stretches_;
};

}  // namespace muster::burnin
