// TCP connections that this process opens itself, beside those of gRPC.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/sys/unique_fd.h"

struct addrinfo;

namespace muster::agent {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
};
// InvalidArgument: not host:port.
absl::StatusOr<HostPort> SplitHostPort(absl::string_view address);

enum class SourcePort {
  kAny,
  // One below 1024, which needs CAP_NET_BIND_SERVICE (ip(7)): the other end sees that no ordinary
  // user of this machine has called. Where none can be had, and for IPv6, any; so IPv4 comes first.
  kReserved,
};

// The addresses of a list of getaddrinfo(3), in the order in which they are tried. They belong to
// the list.
std::vector<const addrinfo*> DialOrder(const addrinfo* found, SourcePort from);

// A blocking socket, of which each operation ends after `timeout`. Unavailable: nobody answers.
absl::StatusOr<sys::UniqueFd> Dial(const HostPort& to, SourcePort from, absl::Duration timeout);

}  // namespace muster::agent
