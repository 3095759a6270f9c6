#include "controller/validation/node_pass.h"

#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/service_candidates.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {

absl::StatusOr<bool> HoldsPass(Transaction& txn, const std::string& node_uuid) {
  ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts(node_uuid));
  const absl::StatusOr<NodePassRecord> pass = txn.node_service().GetPass(node_uuid);
  if (absl::IsNotFound(pass.status())) return false;
  RETURN_IF_ERROR(pass.status());
  v1::Facts facts;
  facts.ParseFromString(bytes);
  NodePassRecord now;
  SetPassKeys(facts, now);
  return pass->gpu_uuids == now.gpu_uuids && pass->driver_version == now.driver_version &&
         pass->kernel == now.kernel;
}

}  // namespace muster::controller::validation
