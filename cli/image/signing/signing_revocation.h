// Revokes what the keys of a folder have signed: makes the lists by which firmware no longer starts
// it.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

struct Revocation {
  std::string folder;
  // NAME@DIGEST, the name of a loader, or the path of a signed file that the ledger lacks.
  std::vector<std::string> what;
  bool force = false;  // also revokes boot loaders of disks, and files that may be one
};

// Adds to what the folder has revoked, and makes two files of all of it for the role
// boot_revocations: dbx.auth, which firmware with the folder's keys adds to what it does not start,
// and dbx.list. What was revoked before changes neither. `say` gets a line for people for each
// thing, and for what still boots the same root. InvalidArgument: several images begin with these
// digits, or a file's name contains blanks. NotFound: nothing of that name was signed, or the
// folder has no keys. FailedPrecondition: machines start by that loader, or disks may and `force`
// is not set. After an error of these nothing was changed.
absl::Status RevokeSigned(const Revocation& revocation, sys::ProcessRunner& processes,
                          absl::FunctionRef<void(absl::string_view)> say);

}  // namespace muster::cli
