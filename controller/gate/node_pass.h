// The properties that a pass is bound to: a node with another GPU, driver or kernel counts as
// another machine.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class Facts;
}

namespace muster::controller {
struct NodePassRecord;
struct NodeRecord;
class Transaction;
}  // namespace muster::controller

namespace muster::controller::validation {

struct FoundHardware;

// Sets gpu_uuids, driver_version and kernel.
void SetPassKeys(const v1::Facts& facts, NodePassRecord& pass);
void SetPassKeys(const FoundHardware& found, NodePassRecord& pass);
// Whether these three are equal.
bool HaveEqualKeys(const NodePassRecord& one, const NodePassRecord& other);
// Whether facts with this v1::OsFacts::boot_id are from before the node's last boot, and say
// nothing about the kernel and the GPUs that it has now. False where either boot is not known.
bool AreFromBeforeBoot(absl::string_view facts_boot_id, const NodeRecord& node);
// Whether kernel, driver or GPUs are missing in these facts because a probe took too long, which
// says nothing about them either.
bool LackPassKeys(const v1::Facts& facts);
// Whether the machine with this uuid has passed with the properties that its newest facts report;
// not, as long as those are from before its last boot. NotFound: there is no such machine.
absl::StatusOr<bool> HoldsPass(Transaction& txn, const std::string& node_uuid);

}  // namespace muster::controller::validation
