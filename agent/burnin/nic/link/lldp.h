// Neighbours of network interfaces, from lldpd.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::burnin {

// The system at the other end of a cable.
struct LldpNeighbor {
  std::string system;  // its name, otherwise its chassis' id
  std::string port;    // its id, otherwise its description
  // The names of all systems there, such as machines behind a bridge; a chassis' id is not a name.
  std::vector<std::string> names;
};

// Interface → its first neighbour, and the names of all, from `lldpcli -f json0 show neighbors`;
// also from `-f json`, which writes a single entry without its list. InvalidArgument: not JSON.
// Anything that is not understood is left out: the text comes from the network.
absl::StatusOr<std::map<std::string, LldpNeighbor>> ParseLldpNeighbors(absl::string_view json);

}  // namespace muster::burnin
