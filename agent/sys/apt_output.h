// What apt says, read by rules of our own. Pure.
#pragma once

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
  bool is_error = false;  // of one package; `activity` is what dpkg said
};

// nullopt for lines that tell nothing worth showing.
std::optional<AptProgress> ParseAptProgress(absl::string_view line);

// The candidate of each package in the output of `apt-cache policy`; "" for "(none)". Packages
// that apt does not know at all are absent.
std::map<std::string, std::string> ParsePolicy(absl::string_view output);

// What can be done about a failed apt-get.
enum class AptRemedy { kNone, kUpdateLists, kFixBroken, kConfigureAll, kWaitForLock };

struct AptFailure {
  AptRemedy remedy = AptRemedy::kNone;
  std::vector<std::string> unknown;  // packages that no repository has
  std::string errors;                // apt's own error lines, joined
};

// Reads the output of an apt-get that did not exit with 0.
AptFailure ParseAptFailure(absl::string_view output);

}  // namespace muster::agent
