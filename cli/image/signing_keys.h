// The keys of a cluster for UEFI Secure Boot: a folder that whoever signs images keeps.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

// PK, KEK and db: each with NAME.key (RSA 2048, which all firmware knows), NAME.pem and NAME.der,
// the certificate, and NAME.auth, with which firmware in setup mode takes it.
inline constexpr const char* kSigningKeys[] = {"PK", "KEK", "db"};

struct KeysRecipe {
  std::string folder;
  std::string loader;  // path of the iPXE to sign; "": none
  // Certificates in DER that firmware is to trust, too, such as those of option ROMs. The folder
  // keeps them in trusted/, and those that are there already are trusted as well.
  std::vector<std::string> trusted;
};

// Makes what the folder lacks, and NAME.auth and the signed loader anew; keys stay as they are.
// `say` gets a line for people for each thing that was made. FailedPrecondition: a program is
// missing, with its package; or a part of a key is missing, and nothing was changed.
absl::Status MakeSigningKeys(const KeysRecipe& recipe, sys::ProcessRunner& processes,
                             absl::FunctionRef<void(absl::string_view)> say);

// Signs an EFI program with the folder's db key, compares, and writes it into the folder's ledger
// under `label` (see SignedEntry). After an error `target` is as it was. NotFound: the folder has
// no keys. FailedPrecondition: it was revoked, or something else that boots the same root was.
absl::Status SignProgram(const std::string& folder, const std::string& label,
                         const std::string& program, const std::string& target,
                         sys::ProcessRunner& processes);

struct Revocation {
  std::string folder;
  // NAME@DIGEST, the name of a loader, or the path of a signed file that the ledger lacks.
  std::vector<std::string> what;
  bool force = false;  // boot loaders of disks, too, and files that may be one
};

// Adds to what the folder has revoked, and makes two files of all of it for the role
// boot_revocations: dbx.auth, which firmware with the folder's keys adds to what it does not start,
// and dbx.list. What was revoked before changes neither. `say` gets a line for people for each
// thing, and for what still boots the same root. NotFound: nothing of that name was signed, or the
// folder has no keys. FailedPrecondition: machines start by that loader, or disks may and `force`
// is not set. After an error of these nothing was changed.
absl::Status RevokeSigned(const Revocation& revocation, sys::ProcessRunner& processes,
                          absl::FunctionRef<void(absl::string_view)> say);

// SHA-256, in lower-case hex, of the db certificate.
absl::StatusOr<std::string> SigningCertificate(const std::string& folder);

}  // namespace muster::cli
