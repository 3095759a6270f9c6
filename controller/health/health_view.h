// What people see of the cluster's health. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "controller/health/decision.h"
#include "muster/v1/health.pb.h"

namespace muster::controller::health {

struct HealthSummary {
  std::vector<v1::NodeHealth> nodes;  // those of the situation, in its order
  std::vector<v1::HealthBreaker> breakers;
  std::vector<v1::HealthProblem> problems;  // folded over nodes, the worst first
  bool observe_only = false;                // for each of the nodes
  uint64_t dropped_events = 0;
};

// What keeps a test or a reboot of a drained node from its end, for people; "": nothing is known.
struct WaitsFor {
  std::function<std::string(const NodeCondition&)> retest;  // see Retests::WaitsFor()
  std::function<std::string(const NodeCondition&)> reboot;  // see Reboots::WaitsFor()
};

HealthSummary MakeSummary(const Situation& situation, const Decision& decision,
                          const WaitsFor& waits_for);

}  // namespace muster::controller::health
