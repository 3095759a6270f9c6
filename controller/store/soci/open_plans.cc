#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociOpenPlanTable::Put(const OpenPlanRecord& plan) {
  return Guard(context_.path, "open_plans.Put", [&]() -> absl::Status {
    auto& put = context_.statements.put_plan;
    put.values = plan;
    put.Run([&] {
      return (context_.session.prepare
                  << "INSERT INTO open_plans (node_uuid, plan_id, sequence, blobs) VALUES "
                     "(:node, :plan, :sequence, :blobs) ON CONFLICT (node_uuid, plan_id) "
                     "DO UPDATE SET sequence = excluded.sequence, blobs = excluded.blobs",
              use(put.values.node_uuid), use(put.values.plan_id), use(put.values.sequence),
              use(put.values.blobs));
    });
    auto& trim = context_.statements.trim_plans;
    trim.values = plan;
    static constexpr int kKept = kMaxPerNode;
    trim.Run([&] {
      return (context_.session.prepare
                  << "DELETE FROM open_plans WHERE node_uuid = :node AND sequence < "
                     "(SELECT sequence FROM open_plans WHERE node_uuid = :same "
                     "ORDER BY sequence DESC LIMIT 1 OFFSET :kept - 1)",
              use(trim.values.node_uuid), use(trim.values.node_uuid), use(kKept));
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<OpenPlanRecord>> SociOpenPlanTable::List(absl::string_view node_uuid) {
  return Guard(context_.path, "open_plans.List",
               [&]() -> absl::StatusOr<std::vector<OpenPlanRecord>> {
                 OpenPlanRecord plan;
                 const std::string key(node_uuid);
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT node_uuid, plan_id, sequence, blobs FROM open_plans "
                             "WHERE node_uuid = :node ORDER BY sequence",
                      into(plan.node_uuid), into(plan.plan_id), into(plan.sequence),
                      into(plan.blobs), use(key));
                 return ReadAll(statement, plan);
               });
}

absl::Status SociOpenPlanTable::RemoveUpTo(absl::string_view node_uuid, absl::string_view plan_id) {
  return Guard(context_.path, "open_plans.RemoveUpTo", [&]() -> absl::Status {
    auto& remove = context_.statements.remove_plans;
    remove.values.node_uuid = std::string(node_uuid);
    remove.values.plan_id = std::string(plan_id);
    remove.Run([&] {
      const OpenPlanRecord& key = remove.values;
      return (context_.session.prepare
                  << "DELETE FROM open_plans WHERE node_uuid = :node AND sequence <= "
                     "(SELECT sequence FROM open_plans WHERE node_uuid = :same AND "
                     "plan_id = :plan)",
              use(key.node_uuid), use(key.node_uuid), use(key.plan_id));
    });
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
