// Secrets that one TPM alone can open.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::pki {
struct EndorsementKey;
}
namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::controller {

struct SealingTools {
  sys::ProcessRunner& processes;
  sys::FileSystem& files;
  std::string key_file;  // where the public key is written to for the program
};

// `secret` (at most 32 bytes) for the TPM that has `key` and a key with the name `key_name` loaded,
// by tpm2_makecredential(1), which needs no TPM itself; tpm2_activatecredential(1) opens it. One
// call at a time. FailedPrecondition: tpm2-tools is not installed here.
absl::StatusOr<std::string> SealToken(const SealingTools& tools, const pki::EndorsementKey& key,
                                      absl::string_view key_name, absl::string_view secret);

}  // namespace muster::controller
