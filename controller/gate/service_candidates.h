// The state of nodes for Slurm's service, from the store.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "controller/gate/service_state.h"
#include "controller/slurm/slurm_control.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::validation {

// The stored state, before later events are taken into account. nullptr: no service of it is
// stored.
ServiceState StoredServiceState(const NodeRecord& node, const NodeServiceRecord* service);

// A node that is enrolled, or waits for enrollment.
struct ServiceCandidate {
  std::string uuid;
  // The stored row; nullopt: there is none yet.
  std::optional<NodeServiceRecord> stored;
  // The present state, with the node's pass, its facts and its last apply taken into account.
  ServiceState state = ServiceState::kEnrolled;
  // It has passed, and has booted since it told its facts, or could not tell those of its pass in
  // time: whether it is still that machine is not known yet.
  bool awaits_facts = false;
  std::string failed;               // the validation that quarantined it
  std::string testing;              // the validation that is running on it
  std::optional<ServiceHold> hold;  // the oldest; a quarantine before others
};

// Whether another node's validation may borrow a node without taking it away from anybody.
enum class Borrowable {
  kNo,
  kOutOfService,  // not validated or in quarantine: drained by us, without jobs
  // Jobs could start on it, and none has. Any drain of ours that it still has is about to be
  // removed.
  kInService,
};
Borrowable BorrowableOf(const ServiceCandidate& candidate, const slurm::SlurmNode& node);

// Whether Slurm has ever shown one of the nodes: before that the gate stores no service of any,
// save for the quarantine of a node that has failed a validation.
absl::StatusOr<bool> HasSeenSlurm(Transaction& txn);
// As if it had not. Passes and quarantines stay.
absl::Status ForgetSlurm(Transaction& txn);

// By name.
absl::StatusOr<std::map<std::string, ServiceCandidate>> ReadServiceCandidates(Transaction& txn);

}  // namespace muster::controller::validation
