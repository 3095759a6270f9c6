#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        ValidationRecord& row) {
  return (session.prepare << "SELECT validation_id, state, suite, suite_digest, request, "
                             "created_by, created_at, finished_at, inventory_revision, pair_seed, "
                             "message, blames FROM validations "
                          << where,
          into(row.validation_id), into(row.state), into(row.suite), into(row.suite_digest),
          into(row.request), into(row.created_by), into(row.created_at), into(row.finished_at),
          into(row.inventory_revision), into(row.pair_seed), into(row.message), into(row.blames));
}

}  // namespace

absl::Status SociValidationTable::Put(const ValidationRecord& row) {
  return Guard(context_.path, "validations.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO validations (validation_id, state, suite, suite_digest, request, "
           "created_by, created_at, finished_at, inventory_revision, pair_seed, message, blames) "
           "VALUES (:id, :state, :suite, :digest, CAST(:request AS BLOB), :by, :created, "
           ":finished, :revision, :seed, :message, CAST(:blames AS BLOB)) "
           "ON CONFLICT (validation_id) DO UPDATE SET state = excluded.state, "
           "finished_at = excluded.finished_at, message = excluded.message, "
           "blames = excluded.blames",
        use(row.validation_id), use(row.state), use(row.suite), use(row.suite_digest),
        use(row.request), use(row.created_by), use(row.created_at), use(row.finished_at),
        use(row.inventory_revision), use(row.pair_seed), use(row.message), use(row.blames);
    return absl::OkStatus();
  });
}

absl::StatusOr<ValidationRecord> SociValidationTable::Get(absl::string_view validation_id) {
  return Guard(context_.path, "validations.Get", [&]() -> absl::StatusOr<ValidationRecord> {
    ValidationRecord row;
    const std::string key(validation_id);
    soci::statement statement =
        (Select(context_.session, "WHERE validation_id = :id", row), use(key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(
        absl::StrCat("no validation ", validation_id, "; see `muster validate list`"));
  });
}

absl::StatusOr<std::vector<ValidationRecord>> SociValidationTable::List(uint32_t limit,
                                                                        absl::string_view node) {
  return Guard(context_.path, "validations.List",
               [&]() -> absl::StatusOr<std::vector<ValidationRecord>> {
                 ValidationRecord row;
                 const int64_t count = limit;
                 const std::string name(node);
                 soci::statement statement =
                     (Select(context_.session,
                             "WHERE :any = '' OR validation_id IN (SELECT validation_id FROM "
                             "validation_nodes WHERE node = :node) "
                             "ORDER BY created_at DESC, rowid DESC LIMIT :count",
                             row),
                      use(name), use(name), use(count));
                 return ReadAll(statement, row);
               });
}

absl::StatusOr<std::vector<ValidationRecord>> SociValidationTable::ListRunning() {
  return Guard(context_.path, "validations.ListRunning",
               [&]() -> absl::StatusOr<std::vector<ValidationRecord>> {
                 ValidationRecord row;
                 soci::statement statement =
                     Select(context_.session, "WHERE state = 1 ORDER BY created_at, rowid", row);
                 return ReadAll(statement, row);
               });
}

absl::Status SociValidationTable::PutNode(const ValidationNodeRecord& row) {
  return Guard(context_.path, "validations.PutNode", [&]() -> absl::Status {
    auto& put = context_.statements.put_validation_node;
    put.values = row;
    const ValidationNodeRecord& values = put.values;
    put.Run([&] {
      return (context_.session.prepare
                  << "INSERT INTO validation_nodes (validation_id, node, node_uuid, outcome, "
                     "verdict, found, is_witness) VALUES (:id, :node, :uuid, :outcome, "
                     "CAST(:verdict AS BLOB), CAST(:found AS BLOB), :witness) "
                     "ON CONFLICT (validation_id, node) DO UPDATE SET "
                     "node_uuid = excluded.node_uuid, outcome = excluded.outcome, "
                     "verdict = excluded.verdict, found = CASE WHEN length(excluded.found) > 0 "
                     "THEN excluded.found ELSE found END",
              use(values.validation_id), use(values.node), use(values.node_uuid),
              use(values.outcome), use(values.verdict), use(values.found), use(values.is_witness));
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<ValidationNodeRecord>> SociValidationTable::ListNodes(
    absl::string_view validation_id) {
  return Guard(
      context_.path, "validations.ListNodes",
      [&]() -> absl::StatusOr<std::vector<ValidationNodeRecord>> {
        ValidationNodeRecord row;
        const std::string key(validation_id);
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT validation_id, node, node_uuid, outcome, verdict, found, "
                    "is_witness FROM validation_nodes WHERE validation_id = :id ORDER BY rowid",
             into(row.validation_id), into(row.node), into(row.node_uuid), into(row.outcome),
             into(row.verdict), into(row.found), into(row.is_witness), use(key));
        return ReadAll(statement, row);
      });
}

}  // namespace muster::controller
