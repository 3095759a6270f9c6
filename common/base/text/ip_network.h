// Networks of IPv4 addresses: "10.0.0.0/24".
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

class IpNetwork {
 public:
  // InvalidArgument: not an address and a prefix of 8 to 32 bits, or the address has bits beyond
  // the prefix.
  static absl::StatusOr<IpNetwork> Parse(absl::string_view text);

  // False for what is not an IPv4 address: "10.0.0.7".
  bool Contains(absl::string_view address) const;

 private:
  IpNetwork(uint32_t base, uint32_t mask) : base_(base), mask_(mask) {}

  uint32_t base_;  // in host order
  uint32_t mask_;
};

// Whether a host as it stands in urls and settings is this machine and nobody else: "localhost",
// "127.0.0.1" and the rest of 127.0.0.0/8, "[::1]".
bool IsLoopbackHost(absl::string_view host);

}  // namespace muster
