// The samples by which workers report the power draw of the whole node: no subject, this metric in
// watts, and the source as the variant.
#pragma once

namespace muster::checks {

inline constexpr char kPowerMetric[] = "power_watts";
// The reading of the node's own power meter: everything.
inline constexpr char kPowerOfNode[] = "bmc";
// Processors and their memory, from the processors' energy counters.
inline constexpr char kPowerOfProcessors[] = "rapl";
// All GPUs of the check together.
inline constexpr char kPowerOfGpus[] = "gpus";

}  // namespace muster::checks
