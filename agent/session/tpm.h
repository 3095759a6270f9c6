// The machine's TPM 2.0, by tpm2-tools: which machine this is, and what is sealed for it alone.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::agent {

// Blocks for as long as the TPM works, which for a key of RSA can be half a minute. Errors:
// FailedPrecondition (tpm2-tools is not installed), otherwise what the program said. Not
// thread-safe.
class Tpm {
 public:
  struct Means {
    sys::ProcessRunner& processes;
    sys::FileSystem& files;
    // For the programs' files, which hold no secret that the TPM has not wrapped, but for one: what
    // Open() returns, for a moment. In memory (/run); made with mode 0700.
    std::string folder;
    std::string tcti;  // how the programs reach it, their option -T: "device:/dev/tpmrm0"
  };
  struct Proof {
    std::string endorsement_key_pem;  // public
    std::string key_name;             // of the key that Open() needs, 34 bytes
  };

  explicit Tpm(Means means);
  ~Tpm();  // removes its files

  // Makes the endorsement key, which stays the same until the TPM is cleared, and a new key beside
  // it.
  absl::StatusOr<Proof> Prove();
  // What a credential of tpm2_makecredential(1) for the last Proof holds.
  absl::StatusOr<std::string> Open(const std::string& credential);

 private:
  std::string File(absl::string_view name) const;
  absl::Status Run(std::vector<std::string> argv);
  // Frees what the programs have left in a TPM without a resource manager.
  absl::Status Flush();

  const Means means_;
};

}  // namespace muster::agent
