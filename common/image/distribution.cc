#include "common/image/distribution.h"

namespace muster::image {

const std::vector<Distribution>& Distributions() {
  static const auto& all = *new std::vector<Distribution>{
      {"debian12", "bookworm", {"main"}},
      {"debian13", "trixie", {"main"}},
      {"ubuntu22.04", "jammy", {"main", "universe"}},
      {"ubuntu24.04", "noble", {"main", "universe"}},
  };
  return all;
}

const Distribution* FindDistribution(absl::string_view name) {
  for (const Distribution& each : Distributions()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace muster::image
