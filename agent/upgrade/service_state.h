// The state of a service that a newer version changes and an older one cannot read.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/upgrade/upgrade_place.h"

namespace muster::agent {

// musterd's, while it is exchanged. In its own folder it finds
//
//   probation    it was exchanged and nobody knows yet whether it stays: it welcomes agents, so
//                that its own one can say so, and accepts nothing that would be lost with its store
//   update       what came of the exchange: "done BEFORE VERSION", or "back BEFORE VERSION" and
//                the reason in the second line
//
// Every call may be repeated after a crash. All do nothing for a place without a state.
class ServiceState {
 public:
  // The references must outlive the object.
  ServiceState(const UpgradePlace& place, sys::FileSystem& files);

  // Before anything of the new version starts, and whenever the old one could: puts the service on
  // probation.
  absl::Status BeginProbation();
  // The service is stopped: copies the state, once for each order.
  absl::Status Keep();
  // The service is stopped: puts the copy in the place of the state, if there is a whole one, and
  // lets go of it.
  absl::Status PutBack();
  // Tells the service what came of it (`outcome`: "done" or "back"), and ends its probation.
  absl::Status Conclude(absl::string_view outcome, absl::string_view version,
                        absl::string_view why);

 private:
  // Empty where there is no state.
  absl::StatusOr<std::string> Folder();

  const UpgradePlace& place_;
  sys::FileSystem& files_;
};

}  // namespace muster::agent
