// On whose word a run stands, asked again when it is to be run later.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::controller {

class Denylist;
class Store;
struct RunMandate;

// Whether the person may still have the run carried out: their certificate of then is not denied,
// the authorization table lets their role create runs, and where the certificate is over they have
// another that does. PermissionDenied with the reason; errors of the store.
absl::Status CheckMandate(const RunMandate& mandate, Store& store, const Denylist& denylist,
                          absl::Time now);

}  // namespace muster::controller
