#include <algorithm>

#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociRebootTable::Put(const RebootRecord& reboot) {
  return Guard(context_.path, "reboots.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO reboots (permit_id, run_id, node, node_uuid, step_id, request_id, boot_id, "
           "granted_at, expires_at, back_by, ended_at) VALUES (:permit, :run, :node, :uuid, :step, "
           ":request, :boot, :granted, :expires, :back, :ended) "
           "ON CONFLICT (permit_id) DO UPDATE SET ended_at = excluded.ended_at",
        use(reboot.permit_id), use(reboot.run_id), use(reboot.node), use(reboot.node_uuid),
        use(reboot.step_id), use(reboot.request_id), use(reboot.boot_id), use(reboot.granted_at),
        use(reboot.expires_at), use(reboot.back_by), use(reboot.ended_at);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RebootRecord>> SociRebootTable::List(absl::string_view run_id) {
  return Guard(
      context_.path, "reboots.List", [&]() -> absl::StatusOr<std::vector<RebootRecord>> {
        RebootRecord reboot;
        const std::string key(run_id);
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT permit_id, run_id, node, node_uuid, step_id, request_id, boot_id, "
                    "granted_at, expires_at, back_by, ended_at FROM reboots WHERE run_id = :run "
                    "ORDER BY rowid",
             into(reboot.permit_id), into(reboot.run_id), into(reboot.node), into(reboot.node_uuid),
             into(reboot.step_id), into(reboot.request_id), into(reboot.boot_id),
             into(reboot.granted_at), into(reboot.expires_at), into(reboot.back_by),
             into(reboot.ended_at), use(key));
        return ReadAll(statement, reboot);
      });
}

absl::StatusOr<std::vector<RebootRecord>> SociRebootTable::ListOpen(absl::string_view run_id) {
  ASSIGN_OR_RETURN(std::vector<RebootRecord> reboots, List(run_id));
  reboots.erase(
      std::remove_if(reboots.begin(), reboots.end(),
                     [](const RebootRecord& reboot) { return reboot.ended_at.has_value(); }),
      reboots.end());
  return reboots;
}

absl::Status SociRebootTable::PutPending(const PendingRebootRecord& pending) {
  return Guard(context_.path, "reboots.PutPending", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO pending_reboots (node_uuid, boot_id, reason, run_id, since) "
           "VALUES (:uuid, :boot, :reason, :run, :since) ON CONFLICT (node_uuid) DO UPDATE SET "
           "boot_id = excluded.boot_id, reason = excluded.reason, run_id = excluded.run_id, "
           "since = excluded.since",
        use(pending.node_uuid), use(pending.boot_id), use(pending.reason), use(pending.run_id),
        use(pending.since);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<PendingRebootRecord>> SociRebootTable::ListPending() {
  return Guard(context_.path, "reboots.ListPending",
               [&]() -> absl::StatusOr<std::vector<PendingRebootRecord>> {
                 PendingRebootRecord row;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT p.node_uuid, p.boot_id, p.reason, p.run_id, p.since "
                             "FROM pending_reboots p JOIN nodes n ON n.uuid = p.node_uuid "
                             "WHERE p.boot_id = n.boot_id ORDER BY p.since, p.rowid",
                      into(row.node_uuid), into(row.boot_id), into(row.reason), into(row.run_id),
                      into(row.since));
                 return ReadAll(statement, row);
               });
}

}  // namespace muster::controller
