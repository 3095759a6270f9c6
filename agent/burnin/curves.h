// The samples of a check as curves that a page can show.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "agent/burnin/readings.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Keeps a bounded number of points of each curve, however long the check takes, spread over all of
// its time. Peaks and dips remain as they were.
class Curves {
 public:
  // Five minutes at four samples a second are kept as they are.
  static constexpr size_t kMaxStretches = 1200;
  // Of all curves together: ten curves of each of sixteen GPUs must fit into one line of output, of
  // which the agent takes a MiB. A point is some 150 bytes of it.
  static constexpr size_t kMaxPointsInAll = 4800;

  // REQUIRES: those of one curve come in the order of time, with finite values.
  void Add(const Sample& sample);
  // All curves, each in the order of time. What short ones leave of kMaxPointsInAll is the long
  // ones'.
  std::vector<Sample> Samples() const;

 private:
  // By subject, metric and variant.
  std::map<std::tuple<std::string, std::string, std::string>, Readings> curves_;
};

}  // namespace muster::burnin
