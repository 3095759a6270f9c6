// The keys of a cluster for UEFI Secure Boot: a folder that whoever signs images keeps.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/image/signing/signing_ledger.h"
#include "common/sys/file_system.h"

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
// under `label` (see SignedEntry). After an error `target` is as it was. InvalidArgument: the label
// contains blanks. NotFound: the folder has no keys. FailedPrecondition: it was revoked, or
// something else that boots the same root was.
absl::Status SignProgram(const std::string& folder, const std::string& label,
                         const std::string& program, const std::string& target,
                         sys::ProcessRunner& processes);

// SHA-256, in lower-case hex, of the db certificate.
absl::StatusOr<std::string> SigningCertificate(const std::string& folder);

// Files of the folder: the ledger, and what of it was revoked.
inline constexpr char kSignedFile[] = "signed";
inline constexpr char kRevokedFile[] = "revoked";

// The folder as signing and revoking use it.
class SigningKeys {
 public:
  // The attributes of firmware's variables, as sbvarsign names them.
  static constexpr char kAttributes[] =
      "NON_VOLATILE,BOOTSERVICE_ACCESS,RUNTIME_ACCESS,TIME_BASED_AUTHENTICATED_WRITE_ACCESS";

  SigningKeys(const std::string& folder, sys::ProcessRunner& processes)
      : folder_(folder), processes_(processes) {}

  const std::string& folder() const { return folder_; }
  // The path of a file of the folder.
  std::string File(absl::string_view name) const;
  // That of NAME.WHAT.
  std::string Path(absl::string_view name, absl::string_view what) const;

  // FailedPrecondition: the folder has a part of the key, which nothing may replace, because
  // firmware may trust it.
  absl::StatusOr<bool> Has(const std::string& name);
  // NotFound: the folder does not have the key.
  absl::Status Need(const std::string& name);

  absl::Status Run(std::vector<std::string> argv);
  // A list of one entry as firmware keeps it: of a certificate ("x509") or a digest ("sha256").
  absl::StatusOr<std::string> ListOf(const std::string& type, const std::string& entry);
  // NAME.auth: lists for the variable `name`, signed by the key that may change it. sbvarsign signs
  // for a variable that is added to unless it is given attributes.
  absl::Status MakeAuth(const std::string& name, const std::string& by, const std::string& lists,
                        const std::vector<std::string>& options);
  absl::Status Write(absl::string_view file, const std::string& content);

  // Empty: the folder has no such file.
  absl::StatusOr<SigningLedger> ReadLedger(absl::string_view file);
  // The content of a program, which may be larger than other files.
  absl::StatusOr<std::string> ReadProgram(const std::string& path);
  // What a program that the folder's db key has signed is known by.
  absl::StatusOr<SignedEntry> ReadEntry(const std::string& path, const std::string& label);

 private:
  const std::string folder_;
  sys::ProcessRunner& processes_;
  sys::RealFileSystem files_;
};

}  // namespace muster::cli
