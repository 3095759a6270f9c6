// The distributions that images are built of: one table.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::image {

struct Distribution {
  absl::string_view name;      // "debian12"
  absl::string_view codename;  // "bookworm"
  // The components of its archive that are enabled in the image.
  std::vector<absl::string_view> components;
  // "": images of every kind can be built of it, and signed. Otherwise only unsigned ones of the
  // kind `ram`, because it has no boot loader for disks, no DHCP client in the initramfs and no
  // merged /usr; the other images are built of this distribution.
  absl::string_view instead;
};

const std::vector<Distribution>& Distributions();

// nullptr: there is none of that name.
const Distribution* FindDistribution(absl::string_view name);

// FailedPrecondition: images of `distribution` cannot be signed; with the remedy.
absl::Status CheckSigningOf(absl::string_view distribution);

}  // namespace muster::image
