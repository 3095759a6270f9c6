#include "agent/session/tpm.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kTpmPatience = absl::Minutes(2);
constexpr size_t kMaxTpmFile = 4096;

}  // namespace

Tpm::Tpm(Means means) : means_(std::move(means)) {}

Tpm::~Tpm() { means_.files.Remove(means_.folder, /*recursive=*/true).IgnoreError(); }

std::string Tpm::File(absl::string_view name) const {
  return absl::StrCat(means_.folder, "/", name);
}

absl::Status Tpm::Run(std::vector<std::string> argv) {
  const std::string program = argv.front();
  argv.insert(argv.begin() + 1, {"-Q", "-T", means_.tcti});
  const absl::Status done =
      sys::RunChecked(means_.processes, {.argv = std::move(argv), .timeout = kTpmPatience})
          .status();
  if (!absl::IsNotFound(done)) return Annotate(done, "the TPM");
  return absl::FailedPreconditionError(
      absl::StrCat("this machine has a TPM and no ", program, ": its image needs tpm2-tools"));
}

absl::Status Tpm::Flush() { return Run({"tpm2_flushcontext", "-t"}); }

absl::StatusOr<Tpm::Proof> Tpm::Prove() {
  RETURN_IF_ERROR(means_.files.MakeDirectory(means_.folder, 0700));
  RETURN_IF_ERROR(
      Run({"tpm2_createek", "-G", "rsa", "-c", File("ek.ctx"), "-u", File("ek.pem"), "-f", "pem"}));
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(
      Run({"tpm2_createak", "-C", File("ek.ctx"), "-c", File("ak.ctx"), "-G", "ecc", "-g", "sha256",
           "-s", "ecdsa", "-u", File("ak.pub"), "-n", File("ak.name")}));
  RETURN_IF_ERROR(Flush());
  Proof proof;
  ASSIGN_OR_RETURN(proof.endorsement_key_pem, means_.files.Read(File("ek.pem"), kMaxTpmFile));
  ASSIGN_OR_RETURN(proof.key_name, means_.files.Read(File("ak.name"), kMaxTpmFile));
  return proof;
}

absl::StatusOr<std::string> Tpm::Open(const std::string& credential) {
  RETURN_IF_ERROR(means_.files.WriteAtomically(File("credential"), credential, {.mode = 0600}));
  // The endorsement key is used by the policy of its hierarchy (template L-1).
  RETURN_IF_ERROR(Run({"tpm2_startauthsession", "--policy-session", "-S", File("session.ctx")}));
  RETURN_IF_ERROR(Run({"tpm2_policysecret", "-S", File("session.ctx"), "-c", "e"}));
  const absl::Status opened = Run({"tpm2_activatecredential", "-c", File("ak.ctx"), "-C",
                                   File("ek.ctx"), "-i", File("credential"), "-o", File("secret"),
                                   "-P", absl::StrCat("session:", File("session.ctx"))});
  const absl::Status closed = Run({"tpm2_flushcontext", File("session.ctx")});
  RETURN_IF_ERROR(opened);
  RETURN_IF_ERROR(closed);
  RETURN_IF_ERROR(Flush());
  absl::StatusOr<std::string> secret = means_.files.Read(File("secret"), kMaxTpmFile);
  RETURN_IF_ERROR(means_.files.Remove(File("secret"), false));
  return secret;
}

}  // namespace muster::agent
