// The distributions that images are built of: one table.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::image {

struct Distribution {
  absl::string_view name;      // "debian12"
  absl::string_view codename;  // "bookworm"
  // The components of its archive that are enabled in the image.
  std::vector<absl::string_view> components;
};

const std::vector<Distribution>& Distributions();

// nullptr: there is none of that name.
const Distribution* FindDistribution(absl::string_view name);

}  // namespace muster::image
