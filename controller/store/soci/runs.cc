#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

// Names of plays come from YAML, which allows no NUL.
constexpr char kPlaySeparator = '\0';

struct RunRow {
  RunRecord run;
  std::string plays;
};

soci::details::prepare_temp_type Select(soci::session& session, const char* where, RunRow& row) {
  RunRecord& run = row.run;
  return (session.prepare << "SELECT run_id, state, request, created_by, created_at, finished_at, "
                             "inventory_revision, current_play, plays, message, "
                             "catches_up_run_id, mandate_actor, mandate_serial, mandate_ends, "
                             "created_at, applies FROM runs "
                          << where,
          into(run.run_id), into(run.state), into(run.request), into(run.created_by),
          into(run.created_at), into(run.finished_at), into(run.inventory_revision),
          into(run.current_play), into(row.plays), into(run.message), into(run.catches_up_run_id),
          into(run.mandate.actor), into(run.mandate.serial), into(run.mandate.certificate_ends),
          into(run.mandate.asked_at), into(run.applies));
}

soci::details::prepare_temp_type SelectNodes(soci::session& session, const char* where,
                                             RunNodeRecord& node) {
  return (session.prepare << "SELECT run_id, node, node_uuid, state, play_index, ok, changed, "
                             "failed, skipped, message, steps_digests, result_bytes FROM run_nodes "
                          << where,
          into(node.run_id), into(node.node), into(node.node_uuid), into(node.state),
          into(node.play_index), into(node.ok), into(node.changed), into(node.failed),
          into(node.skipped), into(node.message), into(node.steps_digests),
          into(node.result_bytes));
}

RunRecord ToRecord(RunRow row) {
  if (!row.plays.empty()) row.run.plays = absl::StrSplit(row.plays, kPlaySeparator);
  return std::move(row.run);
}

std::vector<RunRecord> ToRecords(std::vector<RunRow> rows) {
  std::vector<RunRecord> runs;
  runs.reserve(rows.size());
  for (RunRow& row : rows) runs.push_back(ToRecord(std::move(row)));
  return runs;
}

}  // namespace

absl::Status SociRunTable::Put(const RunRecord& run) {
  return Guard(context_.path, "runs.Put", [&]() -> absl::Status {
    const std::string plays = absl::StrJoin(run.plays, absl::string_view(&kPlaySeparator, 1));
    context_.session
        << "INSERT INTO runs (run_id, state, request, created_by, created_at, finished_at, "
           "inventory_revision, current_play, plays, message, catches_up_run_id, mandate_actor, "
           "mandate_serial, mandate_ends, applies) VALUES (:id, "
           ":state, CAST(:request AS BLOB), :by, :created, :finished, :revision, :play, "
           "CAST(:plays AS BLOB), :message, :catches_up, :mandate_actor, :mandate_serial, "
           ":mandate_ends, :applies) "
           "ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, "
           "request = excluded.request, created_by = excluded.created_by, "
           "created_at = excluded.created_at, finished_at = excluded.finished_at, "
           "inventory_revision = excluded.inventory_revision, "
           "current_play = excluded.current_play, plays = excluded.plays, "
           "message = excluded.message, catches_up_run_id = excluded.catches_up_run_id, "
           "mandate_actor = excluded.mandate_actor, mandate_serial = excluded.mandate_serial, "
           "mandate_ends = excluded.mandate_ends",
        use(run.run_id), use(run.state), use(run.request), use(run.created_by), use(run.created_at),
        use(run.finished_at), use(run.inventory_revision), use(run.current_play), use(plays),
        use(run.message), use(run.catches_up_run_id), use(run.mandate.actor),
        use(run.mandate.serial), use(run.mandate.certificate_ends), use(run.applies);
    return absl::OkStatus();
  });
}

absl::StatusOr<RunRecord> SociRunTable::Get(absl::string_view run_id) {
  return Guard(context_.path, "runs.Get", [&]() -> absl::StatusOr<RunRecord> {
    RunRow row;
    const std::string key(run_id);
    soci::statement statement = (Select(context_.session, "WHERE run_id = :id", row), use(key));
    if (ReadOne(statement)) return ToRecord(std::move(row));
    return absl::NotFoundError(absl::StrCat("no run ", run_id, "; see `muster run list`"));
  });
}

absl::StatusOr<std::vector<RunRecord>> SociRunTable::List(uint32_t limit) {
  return Guard(context_.path, "runs.List", [&]() -> absl::StatusOr<std::vector<RunRecord>> {
    RunRow row;
    const int64_t count = limit;
    soci::statement statement =
        (Select(context_.session, "ORDER BY created_at DESC, rowid DESC LIMIT :count", row),
         use(count));
    return ToRecords(ReadAll(statement, row));
  });
}

absl::Status SociRunTable::ForEachFromNewest(
    absl::FunctionRef<absl::StatusOr<bool>(const RunRecord& run)> fn) {
  return Guard(context_.path, "runs.ForEachFromNewest", [&]() -> absl::Status {
    RunRow row;
    soci::statement statement = Select(context_.session, "ORDER BY rowid DESC", row);
    statement.execute(false);
    while (statement.fetch()) {
      ASSIGN_OR_RETURN(const bool goes_on, fn(ToRecord(row)));
      if (!goes_on) break;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RunRecord>> SociRunTable::ListRunning() {
  return Guard(context_.path, "runs.ListRunning", [&]() -> absl::StatusOr<std::vector<RunRecord>> {
    RunRow row;
    soci::statement statement =
        Select(context_.session, "WHERE state = 1 ORDER BY created_at, rowid", row);
    return ToRecords(ReadAll(statement, row));
  });
}

absl::StatusOr<std::vector<RunRecord>> SociRunTable::ListApplied(absl::string_view playbook,
                                                                 uint32_t limit) {
  return Guard(context_.path, "runs.ListApplied", [&]() -> absl::StatusOr<std::vector<RunRecord>> {
    RunRow row;
    const std::string key(playbook);
    const int64_t count = limit;
    soci::statement statement =
        (Select(context_.session,
                "WHERE state = 2 AND (applies = :playbook OR applies IS NULL) "
                "ORDER BY created_at DESC, rowid DESC LIMIT :count",
                row),
         use(key), use(count));
    return ToRecords(ReadAll(statement, row));
  });
}

absl::Status SociRunTable::PutNode(const RunNodeRecord& node) {
  return Guard(context_.path, "runs.PutNode", [&]() -> absl::Status {
    auto& put = context_.statements.put_run_node;
    RunNodeRecord& row = put.values;
    row = node;
    put.Run([&] {
      return (context_.session.prepare
                  << "INSERT INTO run_nodes (run_id, node, node_uuid, state, play_index, ok, "
                     "changed, failed, skipped, message, steps_digests, result_bytes) VALUES "
                     "(:run, :node, :uuid, :state, :play, :ok, :changed, :failed, :skipped, "
                     ":message, :digests, :bytes) "
                     "ON CONFLICT (run_id, node) DO UPDATE SET node_uuid = excluded.node_uuid, "
                     "state = excluded.state, play_index = excluded.play_index, "
                     "ok = excluded.ok, changed = excluded.changed, failed = excluded.failed, "
                     "skipped = excluded.skipped, message = excluded.message, "
                     "steps_digests = excluded.steps_digests, "
                     "result_bytes = excluded.result_bytes",
              use(row.run_id), use(row.node), use(row.node_uuid), use(row.state),
              use(row.play_index), use(row.ok), use(row.changed), use(row.failed), use(row.skipped),
              use(row.message), use(row.steps_digests), use(row.result_bytes));
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RunNodeRecord>> SociRunTable::ListNodes(absl::string_view run_id) {
  return Guard(
      context_.path, "runs.ListNodes", [&]() -> absl::StatusOr<std::vector<RunNodeRecord>> {
        RunNodeRecord node;
        const std::string key(run_id);
        soci::statement statement =
            (SelectNodes(context_.session, "WHERE run_id = :run ORDER BY rowid", node), use(key));
        return ReadAll(statement, node);
      });
}

absl::StatusOr<RunNodeRecord> SociRunTable::GetNode(absl::string_view run_id,
                                                    absl::string_view node) {
  return Guard(context_.path, "runs.GetNode", [&]() -> absl::StatusOr<RunNodeRecord> {
    RunNodeRecord row;
    const std::string run_key(run_id), node_key(node);
    soci::statement statement =
        (SelectNodes(context_.session, "WHERE run_id = :run AND node = :node", row), use(run_key),
         use(node_key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(absl::StrCat("node ", node, " has no part in run ", run_id));
  });
}

}  // namespace muster::controller
