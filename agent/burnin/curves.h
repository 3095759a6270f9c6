// The samples of a check as curves that a page can show.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "agent/burnin/readings.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Keeps a bounded number of points per curve, spread over the whole check, however long it takes.
// Peaks and dips are preserved.
class Curves {
 public:
  // Enough to keep five minutes at four samples a second as they are.
  static constexpr size_t kMaxStretches = 1200;
  // For all curves together: ten curves of each of sixteen GPUs must fit into one line of output,
  // of which the agent accepts a MiB. A point takes some 150 bytes of it.
  static constexpr size_t kMaxPointsInAll = 4800;

  // REQUIRES: the samples of one curve come in the order of time, with finite values.
  void Add(const Sample& sample);
  // All curves, each in the order of time. Long curves get the part of kMaxPointsInAll that short
  // ones leave.
  std::vector<Sample> Samples() const;

 private:
  // By subject, metric and variant.
  std::map<std::tuple<std::string, std::string, std::string>, Readings> curves_;
};

}  // namespace muster::burnin
