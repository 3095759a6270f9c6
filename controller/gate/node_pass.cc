#include "controller/gate/node_pass.h"

#include "common/base/status.h"
#include "common/base/text/no_answer.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/suite/found_hardware.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {

void SetPassKeys(const v1::Facts& facts, NodePassRecord& pass) {
  SetPassKeys(FoundOn(facts), pass);
}

void SetPassKeys(const FoundHardware& found, NodePassRecord& pass) {
  pass.gpu_uuids = found.gpu_uuids;
  pass.driver_version = found.driver_version;
  pass.kernel = found.kernel;
}

bool HaveEqualKeys(const NodePassRecord& one, const NodePassRecord& other) {
  return one.gpu_uuids == other.gpu_uuids && one.driver_version == other.driver_version &&
         one.kernel == other.kernel;
}

bool AreFromBeforeBoot(absl::string_view facts_boot_id, const NodeRecord& node) {
  return !facts_boot_id.empty() && !node.boot_id.empty() && facts_boot_id != node.boot_id;
}

bool LackPassKeys(const v1::Facts& facts) {
  return LacksGpus(facts) || (!facts.has_os() && TookTooLong(facts, "os"));
}

absl::StatusOr<bool> HoldsPass(Transaction& txn, const std::string& node_uuid) {
  ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(node_uuid));
  ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts(node_uuid));
  const absl::StatusOr<NodePassRecord> pass = txn.node_service().GetPass(node_uuid);
  if (absl::IsNotFound(pass.status())) return false;
  RETURN_IF_ERROR(pass.status());
  v1::Facts facts;
  facts.ParseFromString(bytes);
  if (AreFromBeforeBoot(facts.os().boot_id(), node)) return false;
  NodePassRecord now;
  SetPassKeys(facts, now);
  return HaveEqualKeys(*pass, now);
}

}  // namespace muster::controller::validation
