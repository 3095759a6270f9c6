// The node's conditions as the controller gets them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/health/condition_board.h"
#include "common/health/catalogue.h"
#include "muster/v1/health.pb.h"

namespace muster::agent::health {

// A condition that is bad or unknown, and what that means.
struct ReportRow {
  ConditionRow row;
  muster::health::Severity severity = muster::health::Severity::kWarning;
  bool drains = false;  // unless the site says otherwise
};

// Without its sequence.
v1::HealthReport MakeReport(const std::vector<ReportRow>& rows,
                            const std::vector<std::string>& watched);

// Whether two reports differ in what is wrong or watched, and not in words alone.
bool DiffersInSubstance(const v1::HealthReport& a, const v1::HealthReport& b);

// How many conditions of the report have this status.
uint32_t CountOf(const v1::HealthReport& report, v1::ConditionStatus status);

}  // namespace muster::agent::health
