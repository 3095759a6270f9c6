#include "agent/health/health_record.h"

#include "absl/strings/str_cat.h"
#include "agent/health/log_events.h"
#include "common/base/proto_time.h"

namespace muster::agent::health {
namespace {

v1::HealthEvent ToRecord(const ConditionRow& row) {
  v1::HealthEvent record;
  record.set_condition(row.condition);
  record.set_object(row.object);
  record.set_evidence(row.evidence);
  *record.mutable_since() = ToTimestamp(row.since);
  return record;
}

}  // namespace

v1::HealthRecord MakeRecord(const std::string& boot_id, const ConditionBoard& board,
                            std::optional<uint64_t> log_done) {
  v1::HealthRecord record;
  record.set_boot_id(boot_id);
  if (log_done.has_value()) record.set_log_sequence(*log_done);
  for (const Event& event : board.Events()) {
    v1::HealthEvent& saved = *record.add_events();
    saved = ToRecord({event.condition, event.object, Status::kBad, event.since, event.evidence});
    if (event.until != absl::InfiniteFuture()) *saved.mutable_until() = ToTimestamp(event.until);
  }
  for (const ConditionRow& row : board.BadFindings()) *record.add_findings() = ToRecord(row);
  return record;
}

std::string SubstanceOf(v1::HealthRecord record) {
  record.clear_log_sequence();
  for (v1::HealthEvent& event : *record.mutable_events())
    event.set_evidence(absl::StrCat(GravityOf(event.evidence())));
  for (v1::HealthEvent& finding : *record.mutable_findings()) finding.clear_evidence();
  return record.SerializeAsString();
}

void Restore(const v1::HealthRecord& record, const std::set<std::string>& watched, absl::Time now,
             ConditionBoard& board) {
  for (const v1::HealthEvent& event : record.events()) {
    board.AddEvent({.condition = event.condition(),
                    .object = event.object(),
                    .evidence = event.evidence(),
                    .since = ToTime(event.since()),
                    .until = event.has_until() ? ToTime(event.until()) : absl::InfiniteFuture(),
                    .gravity = GravityOf(event.evidence())},
                   now);
  }
  for (const v1::HealthEvent& finding : record.findings()) {
    if (watched.count(finding.condition()) == 0) continue;
    board.Restore({.condition = finding.condition(),
                   .object = finding.object(),
                   .status = Status::kBad,
                   .since = ToTime(finding.since()),
                   .evidence = finding.evidence()});
  }
}

}  // namespace muster::agent::health
