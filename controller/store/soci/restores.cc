#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociRestoreTable::Begin(absl::Time restored_at) {
  return Guard(context_.path, "restores.Begin", [&]() -> absl::Status {
    context_.session << "INSERT INTO restores (id, restored_at) VALUES (1, :at) "
                        "ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at",
        use(restored_at);
    const int removed = NodeRecord::kRemoved;
    context_.session << "INSERT OR IGNORE INTO restored_nodes (node_uuid) "
                        "SELECT uuid FROM nodes WHERE state <> :removed",
        use(removed);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<absl::Time>> SociRestoreTable::RestoredAt() {
  return Guard(
      context_.path, "restores.RestoredAt", [&]() -> absl::StatusOr<std::optional<absl::Time>> {
        absl::Time restored_at;
        soci::statement statement =
            (context_.session.prepare << "SELECT restored_at FROM restores", into(restored_at));
        if (!ReadOne(statement)) return std::optional<absl::Time>();
        return std::optional<absl::Time>(restored_at);
      });
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> SociRestoreTable::ListUnseen() {
  using Nodes = std::vector<std::pair<std::string, std::string>>;
  return Guard(context_.path, "restores.ListUnseen", [&]() -> absl::StatusOr<Nodes> {
    std::pair<std::string, std::string> node;
    const int removed = NodeRecord::kRemoved;
    soci::statement statement =
        (context_.session.prepare << "SELECT uuid, name FROM restored_nodes "
                                     "JOIN nodes ON nodes.uuid = restored_nodes.node_uuid "
                                     "WHERE state <> :removed ORDER BY name",
         into(node.first), into(node.second), use(removed));
    return ReadAll(statement, node);
  });
}

absl::Status SociRestoreTable::MarkSeen(absl::string_view node_uuid) {
  return Guard(context_.path, "restores.MarkSeen", [&]() -> absl::Status {
    const std::string uuid(node_uuid);
    context_.session << "DELETE FROM restored_nodes WHERE node_uuid = :uuid", use(uuid);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
