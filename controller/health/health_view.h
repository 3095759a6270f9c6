// What people see of the cluster's health. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "controller/health/decision.h"
#include "muster/v1/health.pb.h"

namespace muster::controller::health {

// Every member of the cluster, by name.
struct HealthSummary {
  std::vector<v1::NodeHealth> nodes;
  std::vector<v1::HealthBreaker> breakers;
  std::vector<v1::HealthProblem> problems;  // folded over nodes, the worst first
  bool observe_only = false;                // for every node
  uint64_t dropped_events = 0;
};

// `waits_for`: of a drain whose node is well again and has to pass; see Retests::WaitsFor().
HealthSummary MakeSummary(const Situation& situation, const Decision& decision,
                          const std::function<std::string(const NodeCondition&)>& waits_for);

}  // namespace muster::controller::health
