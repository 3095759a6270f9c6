// The plan file that a run must follow. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class CreateRunRequest;
class Plan;
class PlanFile;
}  // namespace muster::v1

namespace muster::controller {

// The cluster's identity in a plan file.
struct ClusterIdentity {
  std::string name;
  std::string ca_pin;  // "sha256:<hex>" of the authority's certificate
};

// FailedPrecondition, with what changed and the remedy: the file belongs to another cluster, has
// expired, or the inventory is at another revision.
absl::Status CheckHolds(const v1::PlanFile& file, const ClusterIdentity& cluster,
                        uint64_t inventory_revision, absl::Time now);

// The request for a run that does what the file says. InvalidArgument: `request` sets something
// that only the file may set.
absl::StatusOr<v1::CreateRunRequest> RequestOfPlanFile(const v1::PlanFile& file,
                                                       const v1::CreateRunRequest& request);

// A digest of the plan's roles: equal for nodes with equal steps. The content of sensitive steps is
// left out, so that nobody can guess a secret by its digest.
std::string StepsDigest(const v1::Plan& plan);

// Immutable, thread-safe.
class HeldPlan {
 public:
  // InvalidArgument: a host list in it cannot be read.
  static absl::StatusOr<std::shared_ptr<const HeldPlan>> Create(const v1::PlanFile& file);

  // Whether the file predicts what the play does on the node.
  bool Has(uint32_t play, const std::string& node) const;
  // Marks the steps of the plan that the file expects to be unchanged, so that the agent refuses to
  // act on them. `steps_digest` is the plan's StepsDigest(). FailedPrecondition: the plan's steps
  // differ from those that were reviewed.
  absl::Status Hold(uint32_t play, const std::string& node, const std::string& steps_digest,
                    v1::Plan& plan) const;

 private:
  struct Play {
    std::map<std::string, std::string> digests;              // by node
    std::map<std::string, std::set<std::string>> would_act;  // step id → nodes
  };
  HeldPlan() = default;

  std::map<uint32_t, Play> plays_;
  std::set<std::string> changes_packages_;  // nodes
  bool of_rollout_ = false;
};

}  // namespace muster::controller
