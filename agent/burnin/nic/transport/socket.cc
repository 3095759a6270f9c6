#include "agent/burnin/nic/transport/socket.h"

#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// How often a wait looks whether it should stop.
constexpr int kSocketLookMs = 100;
// A partner that the network lost is noticed after 1 + 4 × 1 s on an idle connection, and after
// this many milliseconds on one with unacknowledged data.
constexpr int kUserTimeoutMs = 10'000;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

// `error` is what getaddrinfo(3) returns.
AddressList LookUp(const std::string& host, int port, int flags, int& error) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  error =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), absl::StrCat(port).c_str(), &hints, &list);
  return AddressList(error == 0 ? list : nullptr);
}

// An address of this node, "" for all.
absl::StatusOr<AddressList> ParseAddress(absl::string_view address) {
  int error = 0;
  AddressList list = LookUp(std::string(address), 0, AI_NUMERICHOST | AI_PASSIVE, error);
  if (error != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' is not an IP address: ", gai_strerror(error)));
  return list;
}

// The addresses of another node. InvalidArgument: nothing knows its name. Unavailable: looking it
// up failed. ResourceExhausted: the node has no thread left for that. DeadlineExceeded: a name
// server does not answer; the thread that waits for it is left to end by itself.
absl::StatusOr<AddressList> Resolve(const Endpoint& to, Moment deadline) {
  int error = 0;
  if (AddressList list = LookUp(to.address, to.port, AI_NUMERICHOST, error); error == 0)
    return list;
  struct Answer {
    absl::Mutex mutex;
    bool done ABSL_GUARDED_BY(mutex) = false;
    int error ABSL_GUARDED_BY(mutex) = 0;
    AddressList list ABSL_GUARDED_BY(mutex);
  };
  const auto answer = std::make_shared<Answer>();
  const auto look_up = [answer, to] {
    int error = 0;
    AddressList list = LookUp(to.address, to.port, 0, error);
    absl::MutexLock lock(&answer->mutex);
    answer->list = std::move(list);
    answer->error = error;
    answer->done = true;
  };
  try {
    std::thread(look_up).detach();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread to look up its name: ", error.what()));
  }
  absl::MutexLock lock(&answer->mutex);
  if (!answer->mutex.AwaitWithTimeout(absl::Condition(&answer->done),
                                      absl::FromChrono(deadline - Monotonic::now())))
    return absl::DeadlineExceededError("the name could not be looked up in time");
  if (answer->error == EAI_NONAME)
    return absl::InvalidArgumentError(
        "no such name: every node must know it, or the inventory has the node's IP address");
  if (answer->error != 0)
    return absl::UnavailableError(
        absl::StrCat("looking up its name: ", gai_strerror(answer->error)));
  return std::move(answer->list);
}

absl::Status SetOption(int fd, int level, int name, int value, absl::string_view what) {
  if (setsockopt(fd, level, name, &value, sizeof value) != 0)
    return ErrnoStatus(errno, absl::StrCat("setting ", what));
  return absl::OkStatus();
}

// An address alone chooses no interface: with two in one network, packets leave by the first.
absl::Status BindToInterface(int fd, const std::string& interface) {
  if (interface.empty()) return absl::OkStatus();
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(),
                 static_cast<socklen_t>(interface.size())) != 0)
    return ErrnoStatus(errno, absl::StrCat("using interface ", interface, " alone"));
  return absl::OkStatus();
}

absl::StatusOr<Endpoint> EndpointOf(const sockaddr_storage& storage, socklen_t size) {
  char host[NI_MAXHOST] = "";
  char service[NI_MAXSERV] = "";
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, host, sizeof host, service,
                  sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return absl::InternalError("a socket has an address that cannot be written");
  absl::string_view address = host;
  // An IPv4 address on a dual-stack socket.
  if (absl::StartsWith(address, "::ffff:") && absl::StrContains(address, "."))
    address.remove_prefix(7);
  return Endpoint{.address = std::string(address), .port = std::stoi(service)};
}

// `what` is for messages.
absl::StatusOr<sys::UniqueFd> ConnectTo(const addrinfo& target, const LocalEnd& source,
                                        absl::string_view what, Moment deadline) {
  sys::UniqueFd fd(
      socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.valid()) return ErrnoStatus(errno, "opening a socket");
  RETURN_IF_ERROR(BindToInterface(fd.get(), source.interface));
  if (!source.address.empty()) {
    ASSIGN_OR_RETURN(const auto from, ParseAddress(source.address));
    if (from->ai_family == target.ai_family && bind(fd.get(), from->ai_addr, from->ai_addrlen) != 0)
      return SocketError(errno, absl::StrCat("sending from ", source.address));
  }
  RETURN_IF_ERROR(PrepareAccepted(fd.get()));
  if (connect(fd.get(), target.ai_addr, target.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return SocketError(errno, what);
  RETURN_IF_ERROR(Annotate(WaitFor(fd.get(), POLLOUT, deadline), what));
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return SocketError(error, what);
  return fd;
}

}  // namespace

Moment After(absl::Duration duration) {
  return Monotonic::now() + absl::ToChronoNanoseconds(duration);
}

absl::Status SocketError(int error, absl::string_view what) {
  switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
      return absl::UnavailableError(ErrnoStatus(error, what).message());
    default:
      return ErrnoStatus(error, what);
  }
}

std::string EndpointText(const Endpoint& endpoint) {
  if (absl::StrContains(endpoint.address, ":"))
    return absl::StrCat("[", endpoint.address, "]:", endpoint.port);
  return absl::StrCat(endpoint.address, ":", endpoint.port);
}

absl::Status PrepareAccepted(int fd) {
  RETURN_IF_ERROR(SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"));
  RETURN_IF_ERROR(SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"));
  RETURN_IF_ERROR(SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1, "TCP_KEEPIDLE"));
  RETURN_IF_ERROR(SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1, "TCP_KEEPINTVL"));
  RETURN_IF_ERROR(SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4, "TCP_KEEPCNT"));
  return SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs, "TCP_USER_TIMEOUT");
}

absl::StatusOr<sys::UniqueFd> Listen(const LocalEnd& at, int backlog) {
  const std::string& address = at.address;
  ASSIGN_OR_RETURN(const auto list, ParseAddress(address));
  // "" gives 0.0.0.0 and ::, in an order that the system chooses; :: accepts both.
  const addrinfo* best = list.get();
  for (const addrinfo* entry = list.get(); address.empty() && entry != nullptr;
       entry = entry->ai_next)
    if (entry->ai_family == AF_INET6) best = entry;
  absl::Status problem;
  for (const addrinfo* entry : {best, static_cast<const addrinfo*>(list.get())}) {
    sys::UniqueFd fd(
        socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    if (!fd.valid()) {
      problem = ErrnoStatus(errno, "opening a socket");
      continue;  // a kernel without IPv6
    }
    if (entry->ai_family == AF_INET6 && address.empty())
      RETURN_IF_ERROR(SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY"));
    RETURN_IF_ERROR(BindToInterface(fd.get(), at.interface));
    if (bind(fd.get(), entry->ai_addr, entry->ai_addrlen) == 0 && listen(fd.get(), backlog) == 0)
      return fd;
    problem = ErrnoStatus(errno, absl::StrCat("listening on '", address, "'"));
  }
  return problem;
}

absl::StatusOr<Endpoint> LocalEndpoint(int fd) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return ErrnoStatus(errno, "asking a socket for its address");
  return EndpointOf(storage, size);
}

absl::StatusOr<Endpoint> RemoteEndpoint(int fd) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return ErrnoStatus(errno, "asking a socket for the address of the other end");
  return EndpointOf(storage, size);
}

absl::StatusOr<sys::UniqueFd> Connect(const Endpoint& to, const LocalEnd& from, Moment deadline) {
  const std::string what = absl::StrCat("connecting to ", EndpointText(to));
  absl::StatusOr<AddressList> targets = Resolve(to, deadline);
  if (!targets.ok()) return Annotate(targets.status(), what);
  int left = 0;
  for (const addrinfo* at = targets->get(); at != nullptr; at = at->ai_next) ++left;
  absl::Status problem;
  for (const addrinfo* at = targets->get(); at != nullptr; at = at->ai_next, --left) {
    // One address that does not answer must not take the time of the others.
    const Moment now = Monotonic::now();
    absl::StatusOr<sys::UniqueFd> fd = ConnectTo(*at, from, what, now + (deadline - now) / left);
    if (fd.ok()) return fd;
    problem = fd.status();
  }
  return problem;
}

absl::Status WaitFor(int fd, short events, Moment deadline, const Stopping& stopping) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Monotonic::now());
    if (left.count() <= 0) return absl::DeadlineExceededError("no answer in time");
    pollfd wait = {.fd = fd, .events = events, .revents = 0};
    // Errors wake it too: the next call says which.
    const int count =
        poll(&wait, 1, static_cast<int>(std::min<int64_t>(left.count(), kSocketLookMs)));
    if (count > 0) return absl::OkStatus();
    if (count < 0 && errno != EINTR) return ErrnoStatus(errno, "poll");
    if (stopping && stopping()) return absl::CancelledError("stopped");
  }
}

absl::Status SendAll(int fd, absl::string_view bytes, Moment deadline, const Stopping& stopping) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline, stopping));
    } else if (errno != EINTR) {
      return SocketError(errno, "sending");
    }
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int fd, char* into, size_t size, Moment deadline,
                        const Stopping& stopping) {
  while (size > 0) {
    const ssize_t count = recv(fd, into, size, 0);
    if (count > 0) {
      into += count;
      size -= static_cast<size_t>(count);
    } else if (count == 0) {
      return absl::UnavailableError("the other end closed the connection");
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline, stopping));
    } else if (errno != EINTR) {
      return SocketError(errno, "receiving");
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::burnin
