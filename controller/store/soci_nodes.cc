#include "absl/strings/str_cat.h"
#include "controller/store/soci_guard.h"
#include "controller/store/soci_tables.h"
#include "controller/store/soci_types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

// A query for nodes; each row it finds lands in `node`.
soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        NodeRecord& node) {
  return (session.prepare << "SELECT uuid, name, state, description, agent_version, boot_id, "
                             "facts, enrolled_at, last_seen_at, plan_sequence, report_sequence, "
                             "plan_blobs, last_run_id, last_run_result FROM nodes "
                          << where,
          into(node.uuid), into(node.name), into(node.state), into(node.description),
          into(node.agent_version), into(node.boot_id), into(node.facts), into(node.enrolled_at),
          into(node.last_seen_at), into(node.plan_sequence), into(node.report_sequence),
          into(node.plan_blobs), into(node.last_run_id), into(node.last_run_result));
}

}  // namespace

absl::StatusOr<NodeRecord> SociNodeTable::Get(absl::string_view uuid) {
  return Guard(context_.path, "nodes.Get", [&]() -> absl::StatusOr<NodeRecord> {
    NodeRecord node;
    const std::string key(uuid);
    soci::statement statement = (Select(context_.session, "WHERE uuid = :uuid", node), use(key));
    if (ReadOne(statement)) return node;
    return absl::NotFoundError(absl::StrCat("no node with uuid ", uuid, " is enrolled"));
  });
}

absl::StatusOr<NodeRecord> SociNodeTable::GetByName(absl::string_view name) {
  return Guard(context_.path, "nodes.GetByName", [&]() -> absl::StatusOr<NodeRecord> {
    NodeRecord node;
    const std::string key(name);
    soci::statement statement =
        (Select(context_.session, "WHERE name = :name AND state <> 4", node), use(key));
    if (ReadOne(statement)) return node;
    return absl::NotFoundError(absl::StrCat("node ", name, " is not enrolled"));
  });
}

absl::StatusOr<std::vector<NodeRecord>> SociNodeTable::List() {
  return Guard(context_.path, "nodes.List", [&]() -> absl::StatusOr<std::vector<NodeRecord>> {
    NodeRecord node;
    soci::statement statement = Select(context_.session, "ORDER BY name, uuid", node);
    return ReadAll(statement, node);
  });
}

absl::Status SociNodeTable::Put(const NodeRecord& node) {
  return Guard(context_.path, "nodes.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO nodes (uuid, name, state, description, agent_version, boot_id, facts, "
           "enrolled_at, last_seen_at, plan_sequence, report_sequence, "
           "plan_blobs, last_run_id, last_run_result) VALUES (:uuid, :name, :state, :description, :version, :boot, "
           "CAST(:facts AS BLOB), :enrolled, :seen, :plan, :report, :blobs, :run, :result) "
           "ON CONFLICT (uuid) DO UPDATE SET name = excluded.name, state = excluded.state, "
           "description = excluded.description, agent_version = excluded.agent_version, "
           "boot_id = excluded.boot_id, facts = excluded.facts, "
           "enrolled_at = excluded.enrolled_at, last_seen_at = excluded.last_seen_at, "
           "plan_sequence = excluded.plan_sequence, report_sequence = excluded.report_sequence, "
           "plan_blobs = excluded.plan_blobs, "
           "last_run_id = excluded.last_run_id, last_run_result = excluded.last_run_result",
        use(node.uuid), use(node.name), use(node.state), use(node.description),
        use(node.agent_version), use(node.boot_id), use(node.facts), use(node.enrolled_at),
        use(node.last_seen_at), use(node.plan_sequence), use(node.report_sequence),
        use(node.plan_blobs), use(node.last_run_id), use(node.last_run_result);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
