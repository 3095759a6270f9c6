#include "common/checks/scaling.h"

#include <algorithm>

namespace muster::checks {
namespace {

// The fraction of the data that each rank sends.
double SentPart(int nodes) { return 2.0 * (nodes - 1) / nodes; }

}  // namespace

double RingSeconds(const RingModel& model, double bytes, int nodes) {
  if (nodes < 2) return 0;
  return 2.0 * (nodes - 1) * model.latency_s + SentPart(nodes) * bytes / model.bytes_per_second;
}

RingModel FitRing(double seconds, double bytes, int nodes, double latency_s) {
  const double moving_s = seconds - 2.0 * (nodes - 1) * latency_s;
  return {.latency_s = latency_s,
          .bytes_per_second = SentPart(nodes) * bytes / (moving_s > 0 ? moving_s : seconds)};
}

double AlgorithmBandwidth(double bytes, double seconds) { return bytes / seconds; }

double BusBandwidth(double bytes, double seconds, int nodes) {
  return AlgorithmBandwidth(bytes, seconds) * SentPart(nodes);
}

double ScalingEfficiency(double compute_s, double reduce_s, bool overlapped) {
  return compute_s / (overlapped ? std::max(compute_s, reduce_s) : compute_s + reduce_s);
}

}  // namespace muster::checks
