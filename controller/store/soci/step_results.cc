#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        StepResultRecord& row) {
  return (session.prepare << "SELECT run_id, node, play_index, step_id, sequence, status, result, "
                             "time FROM step_results "
                          << where,
          into(row.run_id), into(row.node), into(row.play_index), into(row.step_id),
          into(row.sequence), into(row.status), into(row.result), into(row.time));
}

// Returns the number of rows that have changed.
absl::StatusOr<int64_t> Insert(const SociContext& context, const StepResultRecord& result,
                               SociStatement<StepResultRecord>& statement,
                               const char* on_conflict) {
  return Guard(context.path, "step_results.Insert", [&]() -> absl::StatusOr<int64_t> {
    StepResultRecord& row = statement.values;
    row = result;
    statement.Run([&] {
      return (context.session.prepare
                  << "INSERT INTO step_results (run_id, node, play_index, step_id, sequence, "
                     "status, result, time) VALUES (:run, :node, :play, :step, :sequence, "
                     ":status, CAST(:result AS BLOB), :time) "
                     "ON CONFLICT (run_id, node, play_index, step_id) "
                  << on_conflict,
              use(row.run_id), use(row.node), use(row.play_index), use(row.step_id),
              use(row.sequence), use(row.status), use(row.result), use(row.time));
    });
    return statement.affected_rows();
  });
}

}  // namespace

absl::Status SociStepResultTable::Put(const StepResultRecord& result) {
  return Insert(context_, result, context_.statements.put_step_result,
                "DO UPDATE SET sequence = excluded.sequence, status = excluded.status, "
                "result = excluded.result, time = excluded.time")
      .status();
}

absl::StatusOr<bool> SociStepResultTable::PutNew(const StepResultRecord& result) {
  ASSIGN_OR_RETURN(const int64_t rows,
                   Insert(context_, result, context_.statements.put_new_step_result, "DO NOTHING"));
  return rows == 1;
}

absl::StatusOr<StepResultRecord> SociStepResultTable::Get(absl::string_view run_id,
                                                          absl::string_view node,
                                                          uint32_t play_index,
                                                          absl::string_view step_id) {
  return Guard(context_.path, "step_results.Get", [&]() -> absl::StatusOr<StepResultRecord> {
    StepResultRecord row;
    const std::string run_key(run_id), node_key(node), step_key(step_id);
    soci::statement statement =
        (Select(context_.session,
                "WHERE run_id = :run AND node = :node AND play_index = :play AND step_id = :step",
                row),
         use(run_key), use(node_key), use(play_index), use(step_key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(
        absl::StrCat("run ", run_id, " has no result of ", step_id, " on ", node));
  });
}

absl::StatusOr<std::vector<StepResultRecord>> SociStepResultTable::List(
    const StepResultQuery& query) {
  return Guard(
      context_.path, "step_results.List", [&]() -> absl::StatusOr<std::vector<StepResultRecord>> {
        StepResultRecord row;
        const int64_t limit = query.limit == 0 ? -1 : int64_t{query.limit};
        int64_t statuses = query.statuses.empty() ? -1 : 0;  // a bit for each
        for (const int status : query.statuses) statuses |= int64_t{1} << status;
        // Each query has an index: on the run's sequences, or on its node's steps.
        const char* where = query.node.empty()
                                ? "WHERE run_id = :run AND :node = '' AND sequence > :after AND "
                                  "((:statuses >> status) & 1) ORDER BY sequence LIMIT :limit"
                                : "WHERE run_id = :run AND node = :node AND sequence > :after AND "
                                  "((:statuses >> status) & 1) ORDER BY sequence LIMIT :limit";
        soci::statement statement =
            (Select(context_.session, where, row), use(query.run_id), use(query.node),
             use(query.after_sequence), use(statuses), use(limit));
        return ReadAll(statement, row);
      });
}

absl::StatusOr<std::vector<StepResultRecord>> SociStepResultTable::ListNewest(
    absl::string_view run_id, uint32_t count, size_t bytes) {
  return Guard(context_.path, "step_results.ListNewest",
               [&]() -> absl::StatusOr<std::vector<StepResultRecord>> {
                 StepResultRecord row;
                 const std::string key(run_id);
                 soci::statement statement =
                     (Select(context_.session,
                             "WHERE run_id = :run ORDER BY sequence DESC LIMIT :count", row),
                      use(key), use(count));
                 std::vector<StepResultRecord> rows;
                 statement.execute(false);
                 for (size_t read = 0; read < bytes && statement.fetch();) {
                   read += row.result.size();
                   rows.push_back(row);
                 }
                 std::reverse(rows.begin(), rows.end());
                 return rows;
               });
}

absl::StatusOr<std::optional<int>> SociStepResultTable::Status(absl::string_view run_id,
                                                               absl::string_view node,
                                                               uint32_t play_index,
                                                               absl::string_view step_id) {
  return Guard(context_.path, "step_results.Status", [&]() -> absl::StatusOr<std::optional<int>> {
    auto& get = context_.statements.step_status;
    StepKeyRow& key = get.values;
    key.run_id = std::string(run_id);
    key.node = std::string(node);
    key.play_index = play_index;
    key.step_id = std::string(step_id);
    if (get.Run([&] {
          return (context_.session.prepare
                      << "SELECT status FROM step_results WHERE run_id = :run AND node = :node "
                         "AND play_index = :play AND step_id = :step",
                  into(get.row.status), use(key.run_id), use(key.node), use(key.play_index),
                  use(key.step_id));
        })) {
      return std::optional<int>(get.row.status);
    }
    return std::optional<int>();
  });
}

absl::StatusOr<uint64_t> SociStepResultTable::LastSequence(absl::string_view run_id) {
  return Guard(context_.path, "step_results.LastSequence", [&]() -> absl::StatusOr<uint64_t> {
    uint64_t last = 0;
    const std::string key(run_id);
    context_.session << "SELECT COALESCE(MAX(sequence), 0) FROM step_results WHERE run_id = :run",
        into(last), use(key);
    return last;
  });
}

absl::StatusOr<uint64_t> SociStepResultTable::RemoveOld(absl::Time time, uint64_t keep_rows,
                                                        uint32_t max_rows) {
  return Guard(
      context_.path, "step_results.RemoveOld", [&]() -> absl::StatusOr<uint64_t> {
        // Row ids rise, so the oldest rows have the lowest: no counting is needed.
        const auto keep = static_cast<long long>(keep_rows);
        soci::statement by_number =
            (context_.session.prepare
                 << "DELETE FROM step_results WHERE rowid IN (SELECT rowid FROM step_results WHERE "
                    "rowid <= (SELECT MAX(rowid) FROM step_results) - :keep ORDER BY rowid "
                    "LIMIT :rows)",
             use(keep), use(max_rows));
        by_number.execute(true);
        uint64_t removed = static_cast<uint64_t>(by_number.get_affected_rows());
        std::string run_id;
        soci::statement ended =
            (context_.session.prepare
                 << "SELECT run_id FROM runs r WHERE state <> 1 AND finished_at < :time AND EXISTS "
                    "(SELECT 1 FROM step_results s WHERE s.run_id = r.run_id) ORDER BY created_at",
             into(run_id), use(time));
        for (const std::string& run : ReadAll(ended, run_id)) {
          if (removed >= max_rows) break;
          const uint64_t room = max_rows - removed;
          soci::statement remove =
              (context_.session.prepare
                   << "DELETE FROM step_results WHERE rowid IN (SELECT rowid FROM step_results "
                      "WHERE run_id = :run LIMIT :room)",
               use(run), use(room));
          remove.execute(true);
          removed += static_cast<uint64_t>(remove.get_affected_rows());
        }
        return removed;
      });
}

}  // namespace muster::controller
