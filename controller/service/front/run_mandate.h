// Checks, before a run is carried out later, the authority of the person who created it.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::controller {

class Denylist;
class Store;
struct RunMandate;

// Whether the person may still have the run carried out: the certificate that they used is not
// denied, the authorization table lets their role create runs, and if that certificate has expired,
// they have another one that meets both conditions. An update policy may always: BundleApprovals
// decides for it. So may the controller itself. PermissionDenied with the reason; errors of the
// store.
absl::Status CheckMandate(const RunMandate& mandate, Store& store, const Denylist& denylist,
                          absl::Time now);

}  // namespace muster::controller
