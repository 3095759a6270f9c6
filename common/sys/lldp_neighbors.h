// The systems at the other end of the machine's cables, by LLDP.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

class ProcessRunner;

// The system at the other end of a cable. Its texts are its own, and printable.
struct LldpNeighbor {
  std::string system;  // its name, otherwise its chassis' id
  std::string port;    // its id, otherwise its description
  // The names of all systems there, such as machines behind a bridge; a chassis' id is not a name.
  std::vector<std::string> names;
};

// By interface: its first neighbor, and the names of all.
using LldpNeighbors = std::map<std::string, LldpNeighbor>;

// What lldpd has heard so far; switches speak every 30 seconds. Blocks for as long as lldpcli
// takes, at most 4 seconds. NotFound: lldpd is not installed; other errors: it is not running.
absl::StatusOr<LldpNeighbors> ReadLldpNeighbors(ProcessRunner& processes);

// From `lldpcli -f json0 show neighbors`; also from `-f json`, which writes a single entry without
// its list. InvalidArgument: not JSON. Anything that is not understood is left out: the text comes
// from the network.
absl::StatusOr<LldpNeighbors> ParseLldpNeighbors(absl::string_view json);

}  // namespace muster::sys
