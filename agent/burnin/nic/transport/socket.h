// TCP sockets with a time limit on everything. All of them are non-blocking; to callers the
// functions block until they are done or late.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "common/sys/unique_fd.h"

namespace muster::burnin {

// These checks measure the time between two moments: a step of the wall clock must not count.
using Monotonic = std::chrono::steady_clock;
using Moment = Monotonic::time_point;
Moment After(absl::Duration duration);
inline double SecondsBetween(Moment from, Moment to) {
  return std::chrono::duration<double>(to - from).count();
}

// Where this node's end of connections is. Both empty: the kernel's choice.
struct LocalEnd {
  std::string address;
  std::string interface;  // all packets use it, whatever the routes say
};

// True: give up soon. Asked a few times a second.
using Stopping = std::function<bool()>;

// A socket that listens on a port that the kernel chooses, with an empty address on all.
absl::StatusOr<sys::UniqueFd> Listen(const LocalEnd& at, int backlog);
// The endpoints of this side of a socket and of the other; IPv4 as such on either kind of socket.
absl::StatusOr<Endpoint> LocalEndpoint(int fd);
absl::StatusOr<Endpoint> RemoteEndpoint(int fd);
// Connects with Nagle's algorithm off. The address of `to` may be a name: each of its addresses is
// tried. InvalidArgument: an unknown name. Unavailable: refused, unreachable. DeadlineExceeded: no
// answer, also of a name server.
absl::StatusOr<sys::UniqueFd> Connect(const Endpoint& to, const LocalEnd& from, Moment deadline);
// Prepares an accepted socket as Connect() does its own.
absl::Status PrepareAccepted(int fd);

// Waits for `events` of poll(2). DeadlineExceeded: none occurred. Cancelled: `stopping`.
absl::Status WaitFor(int fd, short events, Moment deadline, const Stopping& stopping = nullptr);
// Unavailable: the other end is gone.
absl::Status SendAll(int fd, absl::string_view bytes, Moment deadline,
                     const Stopping& stopping = nullptr);
absl::Status ReceiveAll(int fd, char* into, size_t size, Moment deadline,
                        const Stopping& stopping = nullptr);

// A socket error as a status: Unavailable if the other end or the path to it is gone.
absl::Status SocketError(int error, absl::string_view what);
std::string EndpointText(const Endpoint& endpoint);

}  // namespace muster::burnin
