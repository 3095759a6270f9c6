// Texts that an archive's key has signed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::controller::snapshot {

// A keyring as gpgv reads it, of one that may be in ASCII armor. Pure. InvalidArgument: it is not a
// keyring.
absl::StatusOr<std::string> BinaryKeyring(absl::string_view text);

// OK when gpgv's status lines tell of at least one good signature by a key that neither has expired
// nor is revoked, and of no bad one; signatures by other keys do not count. Pure.
absl::Status CheckSignatures(const std::vector<std::string>& status_lines);

// The text within the clear-signed file at `path`, exactly as it was signed. `keyring`: see
// BinaryKeyring(). `scratch` is the path of a folder that is made and removed. PermissionDenied: it
// is not signed by the keyring. Blocks for gpgv.
absl::StatusOr<std::string> ReadSigned(sys::ProcessRunner& processes, const std::string& path,
                                       absl::string_view keyring, const std::string& scratch);

}  // namespace muster::controller::snapshot
