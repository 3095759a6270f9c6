// The samples by which workers tell what the whole node draws: no subject, this metric in watts,
// and the source as their variant.
#pragma once

namespace muster::checks {

inline constexpr char kPowerMetric[] = "power_watts";
// What the node's own power meter says: all of it.
inline constexpr char kPowerOfNode[] = "bmc";
// Processors and their memory, by the processors' energy counters.
inline constexpr char kPowerOfProcessors[] = "rapl";
// All GPUs of the check together.
inline constexpr char kPowerOfGpus[] = "gpus";

}  // namespace muster::checks
