#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociNodeServiceTable::PutPass(const NodePassRecord& row) {
  return Guard(context_.path, "node_passes.Put", [&]() -> absl::Status {
    auto& put = context_.statements.put_pass;
    put.values = row;
    const NodePassRecord& values = put.values;
    put.Run([&] {
      return (
          context_.session.prepare
              << "INSERT INTO node_passes (node_uuid, validation_id, suite, suite_digest, "
                 "gpu_uuids, "
                 "driver_version, kernel, passed_at) VALUES (:uuid, :id, :suite, :digest, :gpus, "
                 ":driver, :kernel, :passed) "
                 "ON CONFLICT (node_uuid) DO UPDATE SET validation_id = excluded.validation_id, "
                 "suite = excluded.suite, suite_digest = excluded.suite_digest, "
                 "gpu_uuids = excluded.gpu_uuids, driver_version = excluded.driver_version, "
                 "kernel = excluded.kernel, passed_at = excluded.passed_at",
          use(values.node_uuid), use(values.validation_id), use(values.suite),
          use(values.suite_digest), use(values.gpu_uuids), use(values.driver_version),
          use(values.kernel), use(values.passed_at));
    });
    return absl::OkStatus();
  });
}

absl::Status SociNodeServiceTable::RemovePass(absl::string_view node_uuid) {
  return Guard(context_.path, "node_passes.Remove", [&]() -> absl::Status {
    const std::string key(node_uuid);
    context_.session << "DELETE FROM node_passes WHERE node_uuid = :uuid", use(key);
    return absl::OkStatus();
  });
}

absl::Status SociNodeServiceTable::RemoveService(absl::string_view node_uuid) {
  return Guard(context_.path, "node_services.Remove", [&]() -> absl::Status {
    const std::string key(node_uuid);
    context_.session << "DELETE FROM node_services WHERE node_uuid = :uuid", use(key);
    return absl::OkStatus();
  });
}

absl::StatusOr<NodePassRecord> SociNodeServiceTable::GetPass(absl::string_view node_uuid) {
  return Guard(context_.path, "node_passes.Get", [&]() -> absl::StatusOr<NodePassRecord> {
    auto& get = context_.statements.get_pass;
    get.values = std::string(node_uuid);
    NodePassRecord& row = get.row;
    const bool found = get.Run([&] {
      return (context_.session.prepare
                  << "SELECT node_uuid, validation_id, suite, suite_digest, gpu_uuids, "
                     "driver_version, kernel, passed_at FROM node_passes WHERE node_uuid = :uuid",
              into(row.node_uuid), into(row.validation_id), into(row.suite), into(row.suite_digest),
              into(row.gpu_uuids), into(row.driver_version), into(row.kernel), into(row.passed_at),
              use(get.values));
    });
    if (found) return row;
    return absl::NotFoundError(absl::StrCat("node ", node_uuid, " has passed no suite"));
  });
}

absl::Status SociNodeServiceTable::PutService(const NodeServiceRecord& row) {
  return Guard(context_.path, "node_services.Put", [&]() -> absl::Status {
    context_.session << "INSERT INTO node_services (node_uuid, state, drained_by, changed_at) "
                        "VALUES (:uuid, :state, :by, :changed) "
                        "ON CONFLICT (node_uuid) DO UPDATE SET state = excluded.state, "
                        "drained_by = excluded.drained_by, changed_at = excluded.changed_at",
        use(row.node_uuid), use(row.state), use(row.drained_by), use(row.changed_at);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<NodeServiceRecord>> SociNodeServiceTable::ListServices() {
  return Guard(
      context_.path, "node_services.List", [&]() -> absl::StatusOr<std::vector<NodeServiceRecord>> {
        NodeServiceRecord row;
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT node_uuid, state, drained_by, changed_at FROM node_services "
                    "ORDER BY node_uuid",
             into(row.node_uuid), into(row.state), into(row.drained_by), into(row.changed_at));
        return ReadAll(statement, row);
      });
}

}  // namespace muster::controller
