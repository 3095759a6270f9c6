#include "controller/enrollment/sealed_token.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/pki/endorsement_key.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);
// For RSA with 2048 bits it has 336 bytes.
constexpr size_t kMaxSealed = 1024;

}  // namespace

absl::StatusOr<std::string> SealToken(const SealingTools& tools, const pki::EndorsementKey& key,
                                      absl::string_view key_name, absl::string_view secret) {
  RETURN_IF_ERROR(tools.files.WriteAtomically(tools.key_file, key.public_pem, {.mode = 0600}));
  // The secret comes on standard input, and nobody keeps it in a file.
  absl::StatusOr<sys::ProcessResult> sealed = sys::RunChecked(
      tools.processes,
      {.argv = {"tpm2_makecredential", "-Q", "-T", "none", "-G", "rsa", "-u", tools.key_file, "-s",
                "-", "-n", absl::BytesToHexString(key_name), "-o", "/dev/stdout"},
       .input = std::string(secret),
       .timeout = kPatience});
  if (absl::IsNotFound(sealed.status()))
    return absl::FailedPreconditionError(
        "machines that join by their TPM need the package tpm2-tools on the controller");
  RETURN_IF_ERROR(sealed.status());
  if (sealed->out.empty() || sealed->out.size() > kMaxSealed)
    return absl::InternalError("tpm2_makecredential wrote no credential");
  return std::move(sealed->out);
}

}  // namespace muster::controller
