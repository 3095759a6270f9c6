// The samples of a check as curves that a page can show.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "agent/burnin/result.h"

namespace muster::burnin {

// Keeps at most kMaxPoints of each curve, however long the check takes, spread over all of its
// time. Of neighbours that make room the one that stands out stays: peaks and dips remain.
class Curves {
 public:
  static constexpr size_t kMaxPoints = 240;
  // Of all curves together: ten curves of each of sixteen GPUs must fit into one line of output, of
  // which the agent takes a MiB. A point is some 150 bytes of it.
  static constexpr size_t kMaxPointsInAll = 4800;

  void Add(Sample sample);
  // All curves, each in the order of time.
  std::vector<Sample> Samples() const;

 private:
  struct Curve {
    std::vector<Sample> points;
    std::vector<Sample> waiting;  // fewer than `stride`, one of which becomes a point
    size_t stride = 1;            // samples that one point stands for
  };

  std::map<std::tuple<std::string, std::string, std::string>, Curve> curves_;
};

}  // namespace muster::burnin
