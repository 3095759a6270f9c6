// Measures the node: processors, memory, power, GPUs, links.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/health/probes/child.h"
#include "muster/v1/reading.pb.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class ProcessRunner;
}

namespace muster::agent {

// Rates are means since the reading before: the first one has none. Not thread-safe.
class NodeReader {
 public:
  struct Options {
    // Put before every path: "" on a node, a folder with a copied tree in tests.
    std::string root;
    // The worker that reads the GPUs and the machine's power meter.
    std::string burnin = "muster-burnin";
  };

  // The references must outlive the object.
  NodeReader(Options options, sys::ProcessRunner& processes, Clock& clock);

  // May take ten seconds where a GPU or a BMC does not answer, and no longer.
  v1::NodeReadings Read();

 private:
  // What a counter was, and when.
  struct Count {
    uint64_t value = 0;
    absl::Time at;
  };
  // Busy and all time of the processors, in ticks.
  struct Ticks {
    uint64_t busy = 0;
    uint64_t all = 0;
  };

  void ReadProcessors(v1::NodeReadings& readings);
  void ReadMemory(v1::NodeReadings& readings) const;
  void ReadLinks(v1::NodeReadings& readings);
  void ReadWorker(v1::NodeReadings& readings);
  // Growth per second of the counter in that file, in units of `unit`; nullopt: not known yet.
  std::optional<double> Rate(const std::string& path, double unit);

  const Options options_;
  Clock& clock_;
  health::Child child_;
  std::optional<Ticks> ticks_;
  std::map<std::string, Count> counts_;  // by path
  int readings_without_gpus_ = 0;        // since the worker last found some
};

}  // namespace muster::agent
