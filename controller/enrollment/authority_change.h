// The authority changes: who is along, and that it is told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::controller {

class CertificateAuthority;
class Store;

// Who would be cut off if nothing but `ca` and its roots were trusted.
struct Behind {
  // Members that have not shown a certificate of `ca` yet, or were not given just its roots beside
  // it, and machines that wait for approval: uuid and name.
  std::vector<std::pair<std::string, std::string>> nodes;
  // People with a valid certificate that is not of `ca` and was not renewed, by name.
  std::vector<std::string> people;
};

// Blocks for a view of the store.
absl::StatusOr<Behind> WhoIsBehind(Store& store, const CertificateAuthority& ca, absl::Time now);

// Writes to the audit log that another authority signs, or others are trusted, than when the last
// certificate was signed. Call at the start, before any is.
absl::Status NoteAuthority(Store& store, const CertificateAuthority& ca, absl::Time now);

}  // namespace muster::controller
