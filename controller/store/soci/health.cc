#include <algorithm>
#include <limits>

#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

namespace {

absl::StatusOr<std::vector<HealthEventRecord>> SelectEvents(soci::session& session,
                                                            const char* where, uint64_t sequence,
                                                            uint32_t limit) {
  const auto place =
      static_cast<int64_t>(std::min<uint64_t>(sequence, std::numeric_limits<int64_t>::max()));
  const int64_t count = limit;
  HealthEventRecord row;
  soci::statement statement =
      (session.prepare
           << "SELECT sequence, time, node_uuid, node, condition, event FROM health_events "
           << where << " LIMIT :count",
       into(row.sequence), into(row.time), into(row.node_uuid), into(row.node), into(row.condition),
       into(row.event), use(place), use(count));
  return ReadAll(statement, row);
}

}  // namespace

absl::Status SociHealthTable::PutReport(const HealthReportRecord& row) {
  return Guard(context_.path, "health.PutReport", [&]() -> absl::Status {
    context_.session << "INSERT INTO health_reports (node_uuid, received_at, report) "
                        "VALUES (:uuid, :received, CAST(:report AS BLOB)) "
                        "ON CONFLICT (node_uuid) DO UPDATE SET "
                        "received_at = excluded.received_at, report = excluded.report",
        use(row.node_uuid), use(row.received_at), use(row.report);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<HealthReportRecord>> SociHealthTable::ListReports() {
  return Guard(context_.path, "health.ListReports",
               [&]() -> absl::StatusOr<std::vector<HealthReportRecord>> {
                 HealthReportRecord row;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT node_uuid, received_at, report FROM health_reports",
                      into(row.node_uuid), into(row.received_at), into(row.report));
                 return ReadAll(statement, row);
               });
}

absl::Status SociHealthTable::RemoveReport(absl::string_view node_uuid) {
  return Guard(context_.path, "health.RemoveReport", [&]() -> absl::Status {
    const std::string uuid(node_uuid);
    context_.session << "DELETE FROM health_reports WHERE node_uuid = :uuid", use(uuid);
    return absl::OkStatus();
  });
}

absl::Status SociHealthTable::AppendEvent(const HealthEventRecord& row) {
  return Guard(context_.path, "health.AppendEvent", [&]() -> absl::Status {
    context_.session << "INSERT INTO health_events (time, node_uuid, node, condition, event) "
                        "VALUES (:time, :uuid, :node, :condition, CAST(:event AS BLOB))",
        use(row.time), use(row.node_uuid), use(row.node), use(row.condition), use(row.event);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<HealthEventRecord>> SociHealthTable::ListEvents(
    absl::string_view node, absl::string_view condition, uint32_t limit) {
  return Guard(
      context_.path, "health.ListEvents", [&]() -> absl::StatusOr<std::vector<HealthEventRecord>> {
        const std::string of_node(node), of_condition(condition);
        const int64_t count = limit;
        HealthEventRecord row;
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT sequence, time, node_uuid, node, condition, event FROM health_events "
                 << (of_node.empty() ? "WHERE :node = '' " : "WHERE node = :node ")
                 << "AND (:any = '' OR condition = :condition) "
                    "ORDER BY sequence DESC LIMIT :count",
             into(row.sequence), into(row.time), into(row.node_uuid), into(row.node),
             into(row.condition), into(row.event), use(of_node), use(of_condition),
             use(of_condition), use(count));
        return ReadAll(statement, row);
      });
}

absl::StatusOr<std::vector<HealthEventRecord>> SociHealthTable::ListEventsBefore(uint64_t sequence,
                                                                                 uint32_t limit) {
  return Guard(context_.path, "health.ListEventsBefore", [&] {
    return SelectEvents(context_.session, "WHERE sequence < :place ORDER BY sequence DESC",
                        sequence, limit);
  });
}

absl::StatusOr<std::vector<HealthEventRecord>> SociHealthTable::ListEventsAfter(uint64_t sequence,
                                                                                uint32_t limit) {
  return Guard(context_.path, "health.ListEventsAfter", [&] {
    return SelectEvents(context_.session, "WHERE sequence > :place ORDER BY sequence", sequence,
                        limit);
  });
}

absl::StatusOr<uint64_t> SociHealthTable::RemoveEvents(absl::Time time, uint64_t max_kept,
                                                       uint32_t max_rows) {
  return Guard(context_.path, "health.RemoveEvents", [&]() -> absl::StatusOr<uint64_t> {
    // Sequences rise by one, so the newest says how many there are without counting them.
    int64_t newest = 0;
    context_.session << "SELECT COALESCE(MAX(sequence), 0) FROM health_events", into(newest);
    const int64_t last = newest - static_cast<int64_t>(std::min<uint64_t>(
                                      max_kept, std::numeric_limits<int64_t>::max()));
    const int64_t rows = max_rows;
    soci::statement statement =
        (context_.session.prepare
             << "DELETE FROM health_events WHERE sequence IN (SELECT sequence FROM health_events "
                "WHERE (time < :time OR sequence <= :last) AND sequence < :newest "
                "ORDER BY sequence LIMIT :rows)",
         use(time), use(last), use(newest), use(rows));
    statement.execute(true);
    return static_cast<uint64_t>(statement.get_affected_rows());
  });
}

absl::Status SociHealthTable::PutDrain(const HealthDrainRecord& row) {
  return Guard(context_.path, "health.PutDrain", [&]() -> absl::Status {
    context_.session << "INSERT OR REPLACE INTO health_drains (node_uuid, condition, state, "
                        "drained_at, good_since, ended_at, was_in_service, relapses, "
                        "validation_id, is_quarantine, is_cleared, reboot, rollout_id, "
                        "rebooted_at, reboot_trouble, known_parts) "
                        "VALUES (:uuid, :condition, :state, :drained, :good, :ended, :served, "
                        ":relapses, :validation, :quarantine, :cleared, :reboot, :rollout, "
                        ":rebooted, :trouble, :parts)",
        use(row.node_uuid), use(row.condition), use(row.state), use(row.drained_at),
        use(row.good_since), use(row.ended_at), use(row.was_in_service), use(row.relapses),
        use(row.validation_id), use(row.is_quarantine), use(row.is_cleared), use(row.reboot),
        use(row.rollout_id), use(row.rebooted_at), use(row.reboot_trouble), use(row.known_parts);
    return absl::OkStatus();
  });
}

absl::Status SociHealthTable::RemoveDrain(absl::string_view node_uuid,
                                          absl::string_view condition) {
  return Guard(context_.path, "health.RemoveDrain", [&]() -> absl::Status {
    const std::string uuid(node_uuid), name(condition);
    context_.session << "DELETE FROM health_drains WHERE node_uuid = :uuid AND condition = :name",
        use(uuid), use(name);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<HealthDrainRecord>> SociHealthTable::ListDrains() {
  return Guard(
      context_.path, "health.ListDrains", [&]() -> absl::StatusOr<std::vector<HealthDrainRecord>> {
        HealthDrainRecord row;
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT node_uuid, condition, state, drained_at, good_since, ended_at, "
                    "was_in_service, relapses, validation_id, is_quarantine, is_cleared, reboot, "
                    "rollout_id, rebooted_at, reboot_trouble, known_parts FROM health_drains",
             into(row.node_uuid), into(row.condition), into(row.state), into(row.drained_at),
             into(row.good_since), into(row.ended_at), into(row.was_in_service), into(row.relapses),
             into(row.validation_id), into(row.is_quarantine), into(row.is_cleared),
             into(row.reboot), into(row.rollout_id), into(row.rebooted_at),
             into(row.reboot_trouble), into(row.known_parts));
        return ReadAll(statement, row);
      });
}

absl::Status SociHealthTable::PutBreaker(const HealthBreakerRecord& row) {
  return Guard(context_.path, "health.PutBreaker", [&]() -> absl::Status {
    context_.session << "INSERT OR REPLACE INTO health_breakers (group_name, opened_at, denied_at) "
                        "VALUES (:name, :opened, :denied)",
        use(row.group), use(row.opened_at), use(row.denied_at);
    return absl::OkStatus();
  });
}

absl::Status SociHealthTable::RemoveBreaker(absl::string_view group) {
  return Guard(context_.path, "health.RemoveBreaker", [&]() -> absl::Status {
    const std::string name(group);
    context_.session << "DELETE FROM health_breakers WHERE group_name = :name", use(name);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<HealthBreakerRecord>> SociHealthTable::ListBreakers() {
  return Guard(context_.path, "health.ListBreakers",
               [&]() -> absl::StatusOr<std::vector<HealthBreakerRecord>> {
                 HealthBreakerRecord row;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT group_name, opened_at, denied_at FROM health_breakers",
                      into(row.group), into(row.opened_at), into(row.denied_at));
                 return ReadAll(statement, row);
               });
}

absl::Status SociHealthTable::PutSilence(const HealthSilenceRecord& row) {
  return Guard(context_.path, "health.PutSilence", [&]() -> absl::Status {
    context_.session << "INSERT OR REPLACE INTO health_silences (silence_id, nodes, condition, "
                        "until, reason, created_by, created_at) "
                        "VALUES (:id, :nodes, :condition, :until, :reason, :by, :at)",
        use(row.silence_id), use(row.nodes), use(row.condition), use(row.until), use(row.reason),
        use(row.created_by), use(row.created_at);
    return absl::OkStatus();
  });
}

absl::Status SociHealthTable::RemoveSilence(absl::string_view silence_id) {
  return Guard(context_.path, "health.RemoveSilence", [&]() -> absl::Status {
    const std::string id(silence_id);
    context_.session << "DELETE FROM health_silences WHERE silence_id = :id", use(id);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<HealthSilenceRecord>> SociHealthTable::ListSilences() {
  return Guard(context_.path, "health.ListSilences",
               [&]() -> absl::StatusOr<std::vector<HealthSilenceRecord>> {
                 HealthSilenceRecord row;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT silence_id, nodes, condition, until, reason, "
                             "created_by, created_at FROM health_silences "
                             "ORDER BY created_at, silence_id",
                      into(row.silence_id), into(row.nodes), into(row.condition), into(row.until),
                      into(row.reason), into(row.created_by), into(row.created_at));
                 return ReadAll(statement, row);
               });
}

}  // namespace muster::controller
