#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociNodeHoldTable::Put(const NodeHoldRecord& row) {
  return Guard(context_.path, "node_holds.Put", [&]() -> absl::Status {
    context_.session << "INSERT INTO node_holds (node_uuid, owner, reason, since, is_quarantine) "
                        "VALUES (:uuid, :owner, :reason, :since, :quarantine) "
                        "ON CONFLICT (node_uuid, owner) DO UPDATE SET reason = excluded.reason, "
                        "is_quarantine = excluded.is_quarantine",
        use(row.node_uuid), use(row.owner), use(row.reason), use(row.since), use(row.is_quarantine);
    return absl::OkStatus();
  });
}

absl::Status SociNodeHoldTable::Delete(absl::string_view node_uuid, absl::string_view owner) {
  return Guard(context_.path, "node_holds.Delete", [&]() -> absl::Status {
    const std::string uuid(node_uuid), by(owner);
    context_.session << "DELETE FROM node_holds WHERE node_uuid = :uuid AND owner = :owner",
        use(uuid), use(by);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<NodeHoldRecord>> SociNodeHoldTable::List() {
  return Guard(
      context_.path, "node_holds.List", [&]() -> absl::StatusOr<std::vector<NodeHoldRecord>> {
        NodeHoldRecord row;
        soci::statement statement =
            (context_.session.prepare << "SELECT node_uuid, owner, reason, since, is_quarantine "
                                         "FROM node_holds ORDER BY since, rowid",
             into(row.node_uuid), into(row.owner), into(row.reason), into(row.since),
             into(row.is_quarantine));
        return ReadAll(statement, row);
      });
}

}  // namespace muster::controller
