// The power draw of processors and their memory, by the energy counters that the kernel shows in
// /sys/class/powercap: Intel's and AMD's alike, under Intel's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// A reading of an energy counter, in microjoules. It counts up to `range` and starts from 0 again.
struct EnergyCounter {
  std::string zone;
  uint64_t energy = 0;
  uint64_t range = 0;
};

// Whether the zone counts: packages and their memory do. Cores and graphics are part of a package,
// psys includes packages, and zones of intel-rapl-mmio are the packages again. `folder` is
// "intel-rapl:0:0", `name` the content of its file `name`.
bool IsCountedZone(absl::string_view folder, absl::string_view name);

// Empty: the machine has none, or only root may read them.
std::vector<EnergyCounter> ReadEnergy(sys::FileSystem& files);

// The mean draw in watts between two readings. nullopt: the zones differ, there are none, no time
// has passed, or it is more than any machine draws.
std::optional<double> MeanWatts(const std::vector<EnergyCounter>& from,
                                const std::vector<EnergyCounter>& to, absl::Duration between);

}  // namespace muster::burnin
