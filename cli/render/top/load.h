// Readings of nodes, summed up. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::v1 {
class GetReadingsResponse;
class WatchedNode;
}  // namespace muster::v1

namespace muster::cli {

// What is absent is not known. Ratios are 0 to 1, rates in bytes per second.
struct Load {
  std::string name;  // of a node or a rack
  size_t nodes = 0;  // of a rack: those that answer, and all
  size_t all_nodes = 0;
  size_t gpus = 0;
  std::optional<double> cpu, memory, gpu;  // in use; of a rack: the mean of its nodes or GPUs
  std::optional<double> hottest_celsius;   // of the GPUs
  std::optional<double> gpu_watts;         // of all GPUs
  std::optional<double> node_watts;        // of a node: by its power meter
  // What is known of the power: by the meters, of machines without one of the GPUs alone.
  std::optional<double> watts;
  bool is_all_power = false;             // every machine has a meter
  std::optional<double> limit_watts;     // of a rack
  std::optional<double> received, sent;  // over all links
  std::string bars;                      // of a node: a character for each GPU
  std::string note;                      // what is wrong with the reading
};

Load LoadOf(const v1::WatchedNode& node);
// By rack, in the order of the answer; nodes in no rack are last, as "-".
std::vector<Load> LoadsOfRacks(const v1::GetReadingsResponse& answer);
// All of it as one.
Load LoadOfAll(const v1::GetReadingsResponse& answer);

// One of ▁▂▃▄▅▆▇█ for a ratio.
std::string Bar(double ratio);

}  // namespace muster::cli
