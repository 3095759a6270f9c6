// What the store says of nodes, as far as Slurm's service goes.
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

// The state before what has happened since is taken in. nullptr: nothing is stored of its service.
ServiceState StoredServiceState(const NodeRecord& node, const NodeServiceRecord* service);

// A node that is enrolled, or waits for it.
struct ServiceCandidate {
  std::string uuid;
  // As stored; nullopt: nothing is yet.
  std::optional<NodeServiceRecord> stored;
  // Now, with its pass, its facts and its last apply taken in.
  ServiceState state = ServiceState::kEnrolled;
  std::string failed;   // the validation that put it into quarantine
  std::string testing;  // the validation that runs on it
};

// Whom a validation of another node may borrow without taking anything from anybody.
enum class Borrowable {
  kNo,
  kOutOfService,  // not validated or in quarantine: drained by us, without jobs
  // Jobs could start on it, and none has. What drain of ours it has yet is about to be taken away.
  kInService,
};
Borrowable BorrowableOf(const ServiceCandidate& candidate, const slurm::SlurmNode& node);

// By name.
absl::StatusOr<std::map<std::string, ServiceCandidate>> ReadServiceCandidates(Transaction& txn);

}  // namespace muster::controller::validation
