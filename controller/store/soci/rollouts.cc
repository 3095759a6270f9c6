#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        RolloutRecord& row) {
  return (session.prepare
              << "SELECT rollout_id, state, request, created_by, mandate_serial, "
                 "certificate_ends, created_at, finished_at, message, inventory_revision, wave, "
                 "wave_since, forgiven, forgiven_out, previous_bundle, rolled_back_by, left_out "
                 "FROM rollouts "
              << where,
          into(row.rollout_id), into(row.state), into(row.request), into(row.created_by),
          into(row.mandate_serial), into(row.certificate_ends), into(row.created_at),
          into(row.finished_at), into(row.message), into(row.inventory_revision), into(row.wave),
          into(row.wave_since), into(row.forgiven), into(row.forgiven_out),
          into(row.previous_bundle), into(row.rolled_back_by), into(row.left_out));
}

}  // namespace

absl::Status SociRolloutTable::Put(const RolloutRecord& row) {
  return Guard(context_.path, "rollouts.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO rollouts (rollout_id, state, request, created_by, mandate_serial, "
           "certificate_ends, created_at, finished_at, message, inventory_revision, wave, "
           "wave_since, forgiven, forgiven_out, previous_bundle, rolled_back_by, left_out) "
           "VALUES (:id, :state, CAST(:request AS BLOB), :by, :serial, :ends, :created, "
           ":finished, :message, :revision, :wave, :since, :forgiven, :out, :previous, :back, "
           ":left) "
           "ON CONFLICT (rollout_id) DO UPDATE SET state = excluded.state, "
           "finished_at = excluded.finished_at, message = excluded.message, "
           "wave = excluded.wave, wave_since = excluded.wave_since, "
           "forgiven = excluded.forgiven, forgiven_out = excluded.forgiven_out, "
           "rolled_back_by = excluded.rolled_back_by",
        use(row.rollout_id), use(row.state), use(row.request), use(row.created_by),
        use(row.mandate_serial), use(row.certificate_ends), use(row.created_at),
        use(row.finished_at), use(row.message), use(row.inventory_revision), use(row.wave),
        use(row.wave_since), use(row.forgiven), use(row.forgiven_out), use(row.previous_bundle),
        use(row.rolled_back_by), use(row.left_out);
    return absl::OkStatus();
  });
}

absl::StatusOr<RolloutRecord> SociRolloutTable::Get(absl::string_view rollout_id) {
  return Guard(context_.path, "rollouts.Get", [&]() -> absl::StatusOr<RolloutRecord> {
    RolloutRecord row;
    const std::string key(rollout_id);
    soci::statement statement = (Select(context_.session, "WHERE rollout_id = :id", row), use(key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(
        absl::StrCat("no rollout ", rollout_id, "; see `muster rollout list`"));
  });
}

absl::StatusOr<std::vector<RolloutRecord>> SociRolloutTable::List(uint32_t limit) {
  return Guard(context_.path, "rollouts.List", [&]() -> absl::StatusOr<std::vector<RolloutRecord>> {
    RolloutRecord row;
    const int64_t count = limit;
    soci::statement statement =
        (Select(context_.session, "ORDER BY created_at DESC, rowid DESC LIMIT :count", row),
         use(count));
    return ReadAll(statement, row);
  });
}

absl::StatusOr<std::vector<RolloutRecord>> SociRolloutTable::ListOpen() {
  return Guard(
      context_.path, "rollouts.ListOpen", [&]() -> absl::StatusOr<std::vector<RolloutRecord>> {
        RolloutRecord row;
        soci::statement statement =
            Select(context_.session, "WHERE finished_at IS NULL ORDER BY created_at, rowid", row);
        return ReadAll(statement, row);
      });
}

absl::Status SociRolloutTable::PutNode(const RolloutNodeRecord& row) {
  return Guard(context_.path, "rollouts.PutNode", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO rollout_nodes (rollout_id, node, node_uuid, position, step, since, "
           "message, run_id, validation_id, service_before, was_available, passed_over, "
           "run_changed) VALUES (:id, :node, :uuid, :position, :step, :since, :message, :run, "
           ":validation, :before, :available, :over, :changed) "
           "ON CONFLICT (rollout_id, node) DO UPDATE SET node_uuid = excluded.node_uuid, "
           "step = excluded.step, since = excluded.since, message = excluded.message, "
           "run_id = excluded.run_id, validation_id = excluded.validation_id, "
           "service_before = excluded.service_before, was_available = excluded.was_available, "
           "passed_over = excluded.passed_over, run_changed = excluded.run_changed",
        use(row.rollout_id), use(row.node), use(row.node_uuid), use(row.position), use(row.step),
        use(row.since), use(row.message), use(row.run_id), use(row.validation_id),
        use(row.service_before), use(row.was_available), use(row.passed_over), use(row.run_changed);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RolloutNodeRecord>> SociRolloutTable::ListNodes(
    absl::string_view rollout_id) {
  return Guard(
      context_.path, "rollouts.ListNodes", [&]() -> absl::StatusOr<std::vector<RolloutNodeRecord>> {
        RolloutNodeRecord row;
        const std::string key(rollout_id);
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT rollout_id, node, node_uuid, position, step, since, message, run_id, "
                    "validation_id, service_before, was_available, passed_over, run_changed "
                    "FROM rollout_nodes WHERE rollout_id = :id ORDER BY position",
             into(row.rollout_id), into(row.node), into(row.node_uuid), into(row.position),
             into(row.step), into(row.since), into(row.message), into(row.run_id),
             into(row.validation_id), into(row.service_before), into(row.was_available),
             into(row.passed_over), into(row.run_changed), use(key));
        return ReadAll(statement, row);
      });
}

absl::StatusOr<RolloutRecord> SociRolloutTable::NewestOf(absl::string_view node) {
  return Guard(context_.path, "rollouts.NewestOf", [&]() -> absl::StatusOr<RolloutRecord> {
    RolloutRecord row;
    const std::string key(node);
    soci::statement statement =
        (Select(context_.session,
                "WHERE rollout_id IN (SELECT rollout_id FROM rollout_nodes WHERE node = :node) "
                "ORDER BY created_at DESC, rowid DESC LIMIT 1",
                row),
         use(key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(
        absl::StrCat("no rollout has had ", node, "; see `muster rollout list`"));
  });
}

absl::Status SociRolloutTable::AppendEvent(const RolloutEventRecord& row) {
  return Guard(context_.path, "rollouts.AppendEvent", [&]() -> absl::Status {
    context_.session << "INSERT INTO rollout_events (rollout_id, sequence, event) "
                        "VALUES (:id, :sequence, CAST(:event AS BLOB))",
        use(row.rollout_id), use(row.sequence), use(row.event);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RolloutEventRecord>> SociRolloutTable::ListEvents(
    absl::string_view rollout_id, uint64_t after_sequence) {
  return Guard(context_.path, "rollouts.ListEvents",
               [&]() -> absl::StatusOr<std::vector<RolloutEventRecord>> {
                 RolloutEventRecord row;
                 const std::string key(rollout_id);
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT rollout_id, sequence, event FROM rollout_events "
                             "WHERE rollout_id = :id AND sequence > :after ORDER BY sequence",
                      into(row.rollout_id), into(row.sequence), into(row.event), use(key),
                      use(after_sequence));
                 return ReadAll(statement, row);
               });
}

}  // namespace muster::controller
