// Signatures of kernel modules that a root has from elsewhere than the kernel's own package, such
// as DKMS: with Secure Boot the kernel takes no other.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

// The module without the signature at its end, if it has one (the kernel's
// Documentation/admin-guide/module-signing.rst). InvalidArgument: what is there is none.
absl::StatusOr<std::string> WithoutSignature(absl::string_view module);

// The module with its signature, a CMS message in DER, behind it.
std::string AppendSignature(absl::string_view module, absl::string_view signature);

// Signs all modules below usr/lib/modules/VERSION in `root`, but for those in `kernel`, which the
// distribution has signed, with the db key of the folder `keys`; `scratch` is a folder for
// temporary files. Signatures that they have, as those by a key that DKMS makes up, are replaced;
// modules that are compressed are so again, under their names. Returns their paths in the root. The
// same key makes the same bytes. InvalidArgument: the way there has a link, which may lead out of
// the root. REQUIRES: nothing runs in the root.
absl::StatusOr<std::vector<std::string>> SignModules(const std::string& root,
                                                     const std::string& keys,
                                                     const std::string& scratch,
                                                     sys::ProcessRunner& processes);

}  // namespace muster::cli
