#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        RunValidationRecord& row) {
  return (session.prepare << "SELECT run_id, position, play, suite, state, nodes, passed_nodes, "
                             "validation_id, message FROM run_validations "
                          << where,
          into(row.run_id), into(row.position), into(row.play), into(row.suite), into(row.state),
          into(row.nodes), into(row.passed_nodes), into(row.validation_id), into(row.message));
}

}  // namespace

absl::Status SociRunValidationTable::Put(const RunValidationRecord& row) {
  return Guard(context_.path, "run_validations.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO run_validations (run_id, position, play, suite, state, nodes, "
           "passed_nodes, validation_id, message) VALUES (:run, :position, :play, :suite, :state, "
           ":nodes, :passed, :validation, :message) "
           "ON CONFLICT (run_id, position) DO UPDATE SET state = excluded.state, "
           "nodes = excluded.nodes, passed_nodes = excluded.passed_nodes, "
           "validation_id = excluded.validation_id, message = excluded.message",
        use(row.run_id), use(row.position), use(row.play), use(row.suite), use(row.state),
        use(row.nodes), use(row.passed_nodes), use(row.validation_id), use(row.message);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RunValidationRecord>> SociRunValidationTable::List(
    absl::string_view run_id) {
  return Guard(context_.path, "run_validations.List",
               [&]() -> absl::StatusOr<std::vector<RunValidationRecord>> {
                 RunValidationRecord row;
                 const std::string key(run_id);
                 soci::statement statement =
                     (Select(context_.session, "WHERE run_id = :run ORDER BY position", row),
                      use(key));
                 return ReadAll(statement, row);
               });
}

absl::StatusOr<std::vector<RunValidationRecord>> SociRunValidationTable::ListWaiting() {
  return Guard(context_.path, "run_validations.ListWaiting",
               [&]() -> absl::StatusOr<std::vector<RunValidationRecord>> {
                 RunValidationRecord row;
                 soci::statement statement =
                     Select(context_.session, "WHERE state = 1 ORDER BY rowid", row);
                 return ReadAll(statement, row);
               });
}

}  // namespace muster::controller
