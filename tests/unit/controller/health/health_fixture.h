// Reports and policies for tests of health.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "controller/inventory/health_policy.h"
#include "controller/inventory/inventory.h"
#include "muster/v1/health.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::health {

inline v1::Condition Bad(const std::string& name, const std::string& object = "",
                         const std::string& evidence = "seen") {
  v1::Condition condition;
  condition.set_name(name);
  condition.set_object(object);
  condition.set_status(v1::CONDITION_STATUS_BAD);
  condition.set_severity(v1::CONDITION_SEVERITY_FATAL);
  condition.set_evidence(evidence);
  return condition;
}

inline v1::Condition Unknown(const std::string& name) {
  v1::Condition condition = Bad(name);
  condition.set_status(v1::CONDITION_STATUS_UNKNOWN);
  return condition;
}

// A report of an agent that watches some conditions of the catalogue.
inline v1::HealthReport Report(const std::vector<v1::Condition>& conditions = {}) {
  v1::HealthReport report;
  for (const v1::Condition& condition : conditions) *report.add_conditions() = condition;
  for (const char* name : {"disk_full", "gpu_ecc", "gpu_lost", "oom_kill"})
    report.add_watched(name);
  return report;
}

// Workers c1 to c`workers`, with that section `health:`.
inline Inventory Workers(int workers, const std::string& more = "") {
  absl::StatusOr<Inventory> inventory =
      ParseInventory({{"cluster.yaml", absl::StrCat("cluster: x\nnodes: {\"c[1-", workers,
                                                    "]\": {role: compute}}\n", more)}});
  EXPECT_OK(inventory.status());
  return *std::move(inventory);
}

}  // namespace muster::controller::health
