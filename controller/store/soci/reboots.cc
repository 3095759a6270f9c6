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

absl::StatusOr<std::vector<RebootRecord>> SociRebootTable::ListOpen(absl::string_view run_id) {
  return Guard(context_.path, "reboots.ListOpen",
               [&]() -> absl::StatusOr<std::vector<RebootRecord>> {
                 RebootRecord reboot;
                 const std::string key(run_id);
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT permit_id, run_id, node, node_uuid, step_id, request_id, "
                             "boot_id, granted_at, expires_at, back_by, ended_at FROM reboots "
                             "WHERE run_id = :run AND ended_at IS NULL ORDER BY rowid",
                      into(reboot.permit_id), into(reboot.run_id), into(reboot.node),
                      into(reboot.node_uuid), into(reboot.step_id), into(reboot.request_id),
                      into(reboot.boot_id), into(reboot.granted_at), into(reboot.expires_at),
                      into(reboot.back_by), into(reboot.ended_at), use(key));
                 return ReadAll(statement, reboot);
               });
}

}  // namespace muster::controller
