// Parses apt's output by our own rules. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

// One line of APT::Status-Fd.
struct AptProgress {
  std::string activity;   // "unpacking munge (amd64)"
  float percent = 0;      // of the whole transaction: downloads are its first third
  bool is_error = false;  // of one package; `activity` is dpkg's message
};

// nullopt for lines that are not worth showing.
std::optional<AptProgress> ParseAptProgress(absl::string_view line);

struct AptPolicy {
  std::string candidate;              // "" for "(none)"
  std::vector<std::string> versions;  // newest first, with the installed one
};

// The answer of `apt-cache policy` for each package. Packages that apt does not know at all are
// absent.
std::map<std::string, AptPolicy> ParsePolicy(absl::string_view output);

// Of each package, the versions in the answer of `apt-cache madison` that the distribution
// publishes as security updates: those of suites such as "bookworm-security".
std::map<std::string, std::vector<std::string>> ParseSecurityVersions(absl::string_view output);

// The actions that `apt-get --simulate` announces.
struct AptSimulation {
  std::map<std::string, std::string> installed;  // or upgraded: "libc6" or "libc6:i386" → version
  std::vector<std::string> removed;
};
AptSimulation ParseSimulation(absl::string_view output);

// The sum of the sizes of the archives that `apt-cache show` lists.
uint64_t SumOfSizes(absl::string_view output);

// What can be done about a failed apt-get.
enum class AptRemedy { kNone, kTryAgain, kUpdateLists, kFixBroken, kConfigureAll, kWaitForLock };

struct AptFailure {
  AptRemedy remedy = AptRemedy::kNone;
  std::vector<std::string> unknown;  // packages that no repository has
  // The causes of the failure, one per line and only the telling ones: "slurmd: installed slurmd
  // package post-installation script subprocess returned error exit status 1".
  std::vector<std::string> causes;
  std::vector<std::string> said;  // the last lines of the package script that failed
  std::string hint;               // what an administrator can do about it; may be empty
  // The compiler's log of the module that DKMS could not build for a package; may be empty.
  std::string build_log;

  // Causes, hint and script, bounded; "" without causes.
  std::string Describe() const;
};

// The last lines of a compiler's log, after its first error where that is further up; bounded.
std::string EndOfBuildLog(absl::string_view log);

// Reads the output of an apt-get or dpkg that did not exit with 0.
AptFailure ParseAptFailure(absl::string_view output);

}  // namespace muster::agent
