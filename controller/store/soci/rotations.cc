#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        RotationRecord& row) {
  return (session.prepare << "SELECT name, phase, version, sealed, playbook, node_limit, "
                             "started_at, started_by, phase_at FROM rotations "
                          << where,
          into(row.name), into(row.phase), into(row.version), into(row.sealed), into(row.playbook),
          into(row.node_limit), into(row.started_at), into(row.started_by), into(row.phase_at));
}

}  // namespace

absl::StatusOr<RotationRecord> SociRotationTable::Get(absl::string_view name) {
  return Guard(context_.path, "rotations.Get", [&]() -> absl::StatusOr<RotationRecord> {
    RotationRecord row;
    const std::string key(name);
    soci::statement statement = (Select(context_.session, "WHERE name = :name", row), use(key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(absl::StrCat("no rotation of secret ", name, " is running"));
  });
}

absl::StatusOr<std::vector<RotationRecord>> SociRotationTable::List() {
  return Guard(context_.path, "rotations.List",
               [&]() -> absl::StatusOr<std::vector<RotationRecord>> {
                 RotationRecord row;
                 soci::statement statement = Select(context_.session, "ORDER BY name", row);
                 return ReadAll(statement, row);
               });
}

absl::Status SociRotationTable::Put(const RotationRecord& row) {
  return Guard(context_.path, "rotations.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO rotations (name, phase, version, sealed, playbook, node_limit, "
           "started_at, started_by, phase_at) VALUES (:name, :phase, :version, "
           "CAST(:sealed AS BLOB), :playbook, :node_limit, :started, :by, :phase_at) "
           "ON CONFLICT (name) DO UPDATE SET phase = excluded.phase, version = excluded.version, "
           "sealed = excluded.sealed, playbook = excluded.playbook, "
           "node_limit = excluded.node_limit, started_at = excluded.started_at, "
           "started_by = excluded.started_by, phase_at = excluded.phase_at",
        use(row.name), use(row.phase), use(row.version), use(row.sealed), use(row.playbook),
        use(row.node_limit), use(row.started_at), use(row.started_by), use(row.phase_at);
    return absl::OkStatus();
  });
}

absl::Status SociRotationTable::Delete(absl::string_view name) {
  return Guard(context_.path, "rotations.Delete", [&]() -> absl::Status {
    const std::string key(name);
    context_.session << "DELETE FROM rotations WHERE name = :name", use(key);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
