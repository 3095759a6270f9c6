// Changes of the authority: who has followed, and the entry in the audit log.
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

// Those who would be cut off if only `ca` and its roots were trusted.
struct Behind {
  // Members that have not yet shown a certificate of `ca`, or that were given other roots with it,
  // and machines that wait for approval: uuid and name.
  std::vector<std::pair<std::string, std::string>> nodes;
  // People with a valid certificate that is not from `ca` and has not been renewed, by name.
  std::vector<std::string> people;
};

// Blocks for a read of the store.
absl::StatusOr<Behind> WhoIsBehind(Store& store, const CertificateAuthority& ca, absl::Time now);

// Writes to the audit log when another authority signs, or other roots are trusted, than at the
// time of the last certificate. Call at the start, before any certificate is signed.
absl::Status NoteAuthority(Store& store, const CertificateAuthority& ca, absl::Time now);

}  // namespace muster::controller
