// Predicts from a measured ring how training scales to more or fewer nodes.
//
// The ring all-reduce of S bytes over n nodes takes 2(n − 1) steps, each a latency α and S/n bytes
// at the rate B of one link: t(n) = 2(n − 1)·α + 2·(n − 1)/n · S/B. This is Hockney's model of a
// message applied to the ring; Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", IJHPCA 19 (2005).
#pragma once

namespace muster::checks {

// The most nodes of a check of all chosen nodes at once: the sums of `collective` are exact up to
// here.
inline constexpr int kMaxRanks = 4096;

struct RingModel {
  double latency_s = 0;         // α: per step
  double bytes_per_second = 0;  // B: per link, one way
};

// 0 for a single node.
double RingSeconds(const RingModel& model, double bytes, int nodes);
// The model that explains a measured time with a measured latency. If the latencies alone take as
// long as the whole, the whole time is attributed to the data: B is then too low rather than too
// high. REQUIRES: nodes >= 2, seconds > 0.
RingModel FitRing(double seconds, double bytes, int nodes, double latency_s);

// "algbw" and "busbw" as NVIDIA's nccl-tests define them (doc/PERFORMANCE.md): bytes per second,
// and that times 2(n − 1)/n, which is the rate of each link and does not depend on n.
double AlgorithmBandwidth(double bytes, double seconds);
double BusBandwidth(double bytes, double seconds, int nodes);

// The fraction of a training step that is spent computing, 0 to 1: n nodes do n times this as much
// work as one. `overlapped`: gradients are reduced while others are still computed, so that only
// the time beyond computing counts (the best case); otherwise one follows the other (the worst).
double ScalingEfficiency(double compute_s, double reduce_s, bool overlapped);

}  // namespace muster::checks
