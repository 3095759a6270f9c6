#include "agent/health/health_report.h"

#include <algorithm>

#include "common/base/proto_time.h"

namespace muster::agent::health {

v1::HealthReport MakeReport(const std::vector<ReportRow>& rows,
                            const std::vector<std::string>& watched) {
  v1::HealthReport report;
  for (const ReportRow& reported : rows) {
    const ConditionRow& row = reported.row;
    v1::Condition& condition = *report.add_conditions();
    condition.set_name(row.condition);
    condition.set_object(row.object);
    condition.set_status(row.status == Status::kBad ? v1::CONDITION_STATUS_BAD
                                                    : v1::CONDITION_STATUS_UNKNOWN);
    condition.set_severity(reported.severity == muster::health::Severity::kFatal
                               ? v1::CONDITION_SEVERITY_FATAL
                               : v1::CONDITION_SEVERITY_WARNING);
    *condition.mutable_since() = ToTimestamp(row.since);
    condition.set_evidence(row.evidence);
  }
  for (const std::string& name : watched) report.add_watched(name);
  return report;
}

bool DiffersInSubstance(const v1::HealthReport& a, const v1::HealthReport& b) {
  if (a.conditions_size() != b.conditions_size() || a.watched_size() != b.watched_size())
    return true;
  for (int i = 0; i < a.conditions_size(); ++i) {
    const v1::Condition &one = a.conditions(i), &other = b.conditions(i);
    if (one.name() != other.name() || one.object() != other.object() ||
        one.status() != other.status() || one.severity() != other.severity())
      return true;
  }
  return !std::equal(a.watched().begin(), a.watched().end(), b.watched().begin());
}

uint32_t CountOf(const v1::HealthReport& report, v1::ConditionStatus status) {
  return static_cast<uint32_t>(std::count_if(
      report.conditions().begin(), report.conditions().end(),
      [status](const v1::Condition& condition) { return condition.status() == status; }));
}

}  // namespace muster::agent::health
