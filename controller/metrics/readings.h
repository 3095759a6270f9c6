// What is measured of the cluster and of musterd at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "controller/metrics/call_durations.h"

namespace muster::controller {

struct NodeReading {
  std::string name;
  std::string state;  // of its life cycle: "in_service"
  // In Slurm, in one of few words: "drained"; "" where Slurm is left alone.
  std::string service;
  bool is_connected = false;
};

// What the kernel counts of this process.
struct ProcessReading {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  size_t open_files = 0;
};

// A channel of notifications; counters begin with the process.
struct ChannelReading {
  std::string name;
  uint64_t pending = 0, delivered = 0, failed = 0;
};

struct Readings {
  std::string version;
  absl::Time started_at;
  std::vector<NodeReading> nodes;
  // Work in progress.
  size_t runs = 0;
  size_t validations = 0;
  std::map<std::string, size_t> rollouts;       // by state
  std::map<std::string, size_t> rollout_nodes;  // of these, by step
  // Nodes by the name of a drift policy and what it knows of them: "differs".
  std::map<std::pair<std::string, std::string>, size_t> drift;
  // Nodes by the name of a condition and its status, "bad" or "unknown".
  std::map<std::pair<std::string, std::string>, size_t> conditions;
  size_t health_drained = 0;        // nodes that health keeps out of Slurm
  size_t health_quarantined = 0;    // of these: only an administrator lets them return
  size_t health_rebooting = 0;      // of these: to be rebooted, or rebooting
  size_t health_reboot_failed = 0;  // of these: a reboot did not help
  size_t health_breakers_open = 0;
  uint64_t health_events_dropped = 0;  // changes of conditions that were too many to keep
  bool gate_is_shut = false;           // Slurm gets only nodes that have passed
  bool gate_is_in_trouble = false;
  std::vector<ChannelReading> channels;
  uint64_t notifications_dropped = 0;
  uint64_t store_bytes = 0;
  // When the authority that has signed all certificates ends.
  absl::Time authority_ends = absl::InfiniteFuture();
  ProcessReading process;
  std::vector<CallReading> calls;
};

}  // namespace muster::controller
