#include "agent/session/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {

absl::StatusOr<HostPort> SplitHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0 || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address '", address, "' is not host:port, e.g. login1:7444"));
  }
  absl::string_view host = address.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  return HostPort{std::string(host), std::string(address.substr(colon + 1))};
}

std::vector<const addrinfo*> DialOrder(const addrinfo* found, SourcePort from) {
  std::vector<const addrinfo*> order;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) order.push_back(at);
  if (from == SourcePort::kReserved)
    std::stable_partition(order.begin(), order.end(),
                          [](const addrinfo* at) { return at->ai_family == AF_INET; });
  return order;
}

absl::StatusOr<sys::UniqueFd> Dial(const HostPort& to, SourcePort from, absl::Duration timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("looking up ", to.host, ": ", ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  const timeval limit = absl::ToTimeval(timeout);
  int last_error = 0;
  for (const addrinfo* at : DialOrder(found, from)) {
    sys::UniqueFd fd(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (fd.valid()) {
      // The send timeout also bounds connect().
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      // Without a reserved port the socket is as it was, and connect() takes any.
      if (from == SourcePort::kReserved && at->ai_family == AF_INET)
        ::bindresvport(fd.get(), nullptr);
      if (::connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0) return fd;
    }
    last_error = errno == EINPROGRESS ? ETIMEDOUT : errno;
  }
  return absl::UnavailableError(
      absl::StrCat("connecting to ", to.host, ":", to.port, ": ", std::strerror(last_error),
                   "; is musterd running there, and does a firewall let the port through?"));
}

}  // namespace muster::agent
