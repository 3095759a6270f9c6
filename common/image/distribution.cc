#include "common/image/distribution.h"

#include "absl/strings/str_cat.h"

namespace muster::image {

const std::vector<Distribution>& Distributions() {
  static const auto& all = *new std::vector<Distribution>{
      {"debian12", "bookworm", {"main"}, /*instead=*/""},
      {"debian13", "trixie", {"main"}, /*instead=*/""},
      // What Ubuntu's installer enables: the driver of GPUs is in restricted, and programs for it
      // are in multiverse.
      {"ubuntu22.04",
       "jammy",
       {"main", "restricted", "universe", "multiverse"},
       /*instead=*/"ubuntu24.04"},
      {"ubuntu24.04",
       "noble",
       {"main", "restricted", "universe", "multiverse"},
       /*instead=*/""},
  };
  return all;
}

const Distribution* FindDistribution(absl::string_view name) {
  for (const Distribution& each : Distributions()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

absl::Status CheckSigningOf(absl::string_view distribution) {
  const Distribution* const found = FindDistribution(distribution);
  if (found == nullptr || found->instead.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "images of ", distribution,
      " cannot be signed: their initramfs has no DHCP client, and their root no merged "
      "/usr; build the image of ",
      found->instead));
}

}  // namespace muster::image
