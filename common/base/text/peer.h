// gRPC's word for who is at the other end of a connection: "ipv4:10.0.0.1:3456".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Address and port as people write them: "10.0.0.1:3456", "[2001:db8::7]:3456". Anything that is
// neither IPv4 nor IPv6 stays as it is.
std::string PeerAddress(absl::string_view peer);

// The address alone, in one spelling: "10.0.0.1", "2001:db8::7", "fe80::1%eth0".
std::string PeerHost(absl::string_view peer);

// The addresses that one machine may choose among: "10.0.0.1", "2001:db8:0:1::/64". Root of a
// machine has any address of its /64, and so do all machines of the network.
std::string PeerNetwork(absl::string_view peer);

// The port that the peer has connected from; nullopt: it is neither IPv4 nor IPv6.
std::optional<uint16_t> PeerPort(absl::string_view peer);

}  // namespace muster
