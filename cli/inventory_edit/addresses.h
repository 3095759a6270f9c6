// Addresses of new nodes, as options of the command line give them. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::cli {

// `text` is one address, a range of the same length as `names` ("10.0.0.[17-18]", in order), or
// pairs "c017=10.0.0.17,c018=10.0.0.18", which may leave nodes out. Empty: no addresses.
// InvalidArgument: it is none of these.
absl::StatusOr<std::map<std::string, std::string>> ReadAddresses(
    const std::vector<std::string>& names, const std::string& text);

}  // namespace muster::cli
