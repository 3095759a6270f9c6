#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociValidationCheckTable::Put(const ValidationCheckRecord& row) {
  return Guard(context_.path, "validation_checks.Put", [&]() -> absl::Status {
    auto& put = context_.statements.put_check;
    put.values = row;
    const ValidationCheckRecord& values = put.values;
    put.Run([&] {
      return (
          context_.session.prepare
              << "INSERT INTO validation_checks (check_id, validation_id, execution_id, node, "
                 "members, "
                 "rank, stage, stage_check, stage_name, name, phase, outcome, reason, put_back, "
                 "started_at, parameters_digest) VALUES (:check, :id, :execution, :node, :members, "
                 ":rank, :stage, :index, "
                 ":stage_name, :name, :phase, "
                 ":outcome, :reason, :back, :started, :parameters) "
                 "ON CONFLICT (check_id) DO UPDATE SET phase = excluded.phase, "
                 "outcome = excluded.outcome, reason = excluded.reason, put_back = "
                 "excluded.put_back, "
                 "started_at = excluded.started_at, parameters_digest = excluded.parameters_digest",
          use(values.check_id), use(values.validation_id), use(values.execution_id),
          use(values.node), use(values.members), use(values.rank), use(values.stage),
          use(values.stage_check), use(values.stage_name), use(values.name), use(values.phase),
          use(values.outcome), use(values.reason), use(values.put_back), use(values.started_at),
          use(values.parameters_digest));
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<ValidationCheckRecord>> SociValidationCheckTable::List(
    absl::string_view validation_id) {
  return Guard(context_.path, "validation_checks.List",
               [&]() -> absl::StatusOr<std::vector<ValidationCheckRecord>> {
                 ValidationCheckRecord row;
                 const std::string key(validation_id);
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT check_id, validation_id, execution_id, node, members, rank, "
                             "stage, stage_check, stage_name, name, phase, outcome, reason, "
                             "put_back, "
                             "started_at, parameters_digest FROM validation_checks WHERE "
                             "validation_id = :id "
                             "ORDER BY rowid",
                      into(row.check_id), into(row.validation_id), into(row.execution_id),
                      into(row.node), into(row.members), into(row.rank), into(row.stage),
                      into(row.stage_check), into(row.stage_name), into(row.name), into(row.phase),
                      into(row.outcome), into(row.reason), into(row.put_back), into(row.started_at),
                      into(row.parameters_digest), use(key));
                 return ReadAll(statement, row);
               });
}

absl::Status SociValidationCheckTable::SetOutcome(absl::string_view check_id, int outcome) {
  return Guard(context_.path, "validation_checks.SetOutcome", [&]() -> absl::Status {
    const std::string key(check_id);
    context_.session << "UPDATE validation_checks SET outcome = :outcome WHERE check_id = :check",
        use(outcome), use(key);
    return absl::OkStatus();
  });
}

absl::Status SociValidationCheckTable::PutResult(const CheckResultRecord& row) {
  return Guard(context_.path, "check_results.Put", [&]() -> absl::Status {
    auto& put = context_.statements.put_check_result;
    put.values = row;
    const CheckResultRecord& values = put.values;
    put.Run([&] {
      return (context_.session.prepare
                  << "INSERT INTO check_results (check_id, reported_at, result, verdict) VALUES "
                     "(:check, :time, CAST(:result AS BLOB), CAST(:verdict AS BLOB)) "
                     "ON CONFLICT DO NOTHING",
              use(values.check_id), use(values.reported_at), use(values.result),
              use(values.verdict));
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<CheckResultRecord> SociValidationCheckTable::GetResult(absl::string_view check_id) {
  return Guard(context_.path, "check_results.Get",
               [&]() -> absl::StatusOr<CheckResultRecord> {
                 CheckResultRecord row;
                 const std::string key(check_id);
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT check_id, reported_at, result, verdict FROM check_results "
                             "WHERE check_id = :check",
                      into(row.check_id), into(row.reported_at), into(row.result),
                      into(row.verdict), use(key));
                 if (ReadOne(statement)) return row;
                 return absl::NotFoundError(absl::StrCat("no result of check ", check_id));
               });
}

absl::StatusOr<std::vector<CheckResultRecord>> SociValidationCheckTable::History(
    const CheckHistoryQuery& query) {
  return Guard(
      context_.path, "check_results.History",
      [&]() -> absl::StatusOr<std::vector<CheckResultRecord>> {
        auto& read = query.oldest_first ? context_.statements.oldest_results
                                        : context_.statements.newest_results;
        read.values = {query.node,  query.name, query.parameters_digest, query.before_validation_id,
                       query.limit, query.skip};
        const HistoryKeys& keys = read.values;
        return read.RunAll([&] {
          return (context_.session.prepare
                      << "SELECT r.check_id, r.reported_at, r.result "
                         "FROM (SELECT :not AS judged) JOIN validation_checks c "
                         "JOIN check_results r ON r.check_id = c.check_id "
                         "WHERE c.node = :node AND c.name = :name AND c.validation_id <> judged "
                         "AND c.parameters_digest = :parameters "
                         "AND c.outcome = 1 "  // v1::OUTCOME_PASS
                         // Another machine had the name then.
                         "AND NOT EXISTS (SELECT 1 FROM validation_nodes now "
                         "JOIN validation_nodes earlier ON earlier.node = now.node "
                         "WHERE now.validation_id = judged AND now.node = c.node "
                         "AND earlier.validation_id = c.validation_id "
                         "AND earlier.node_uuid <> now.node_uuid) "
                         "ORDER BY r.reported_at "
                      << (query.oldest_first ? "ASC" : "DESC") << " LIMIT :limit OFFSET :skip",
                  into(read.row.check_id), into(read.row.reported_at), into(read.row.result),
                  use(keys.before_validation_id), use(keys.node), use(keys.name),
                  use(keys.parameters_digest), use(keys.limit), use(keys.skip));
        });
      });
}

absl::StatusOr<std::vector<GoodResultRecord>> SociValidationCheckTable::ListGood(
    absl::string_view validation_id, int64_t after_place, uint32_t limit) {
  return Guard(context_.path, "check_results.ListGood",
               [&]() -> absl::StatusOr<std::vector<GoodResultRecord>> {
                 GoodResultRecord row;
                 const std::string key(validation_id);
                 const int64_t count = limit;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT c.rowid, c.node, c.members, c.name, c.parameters_digest, "
                             "r.reported_at, r.result "
                             "FROM validation_checks c "
                             "JOIN check_results r ON r.check_id = c.check_id "
                             "JOIN validation_nodes n ON n.validation_id = c.validation_id "
                             "AND n.node = c.node "
                             "WHERE c.validation_id = :id AND c.rowid > :after "
                             // v1::OUTCOME_PASS in both cases.
                             "AND c.outcome = 1 AND n.outcome = 1 ORDER BY c.rowid LIMIT :limit",
                      into(row.place), into(row.node), into(row.members), into(row.name),
                      into(row.parameters_digest), into(row.reported_at), into(row.result),
                      use(key), use(after_place), use(count));
                 return ReadAll(statement, row);
               });
}

absl::StatusOr<uint64_t> SociValidationCheckTable::RemoveResults(absl::Time time,
                                                                 uint32_t max_rows) {
  return Guard(context_.path, "check_results.Remove", [&]() -> absl::StatusOr<uint64_t> {
    soci::statement statement =
        (context_.session.prepare << "DELETE FROM check_results WHERE rowid IN (SELECT rowid FROM "
                                     "check_results WHERE reported_at < :time LIMIT :rows)",
         use(time), use(max_rows));
    statement.execute(true);
    return static_cast<uint64_t>(statement.get_affected_rows());
  });
}

}  // namespace muster::controller
