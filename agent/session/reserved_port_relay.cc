#include "agent/session/reserved_port_relay.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::agent {
namespace {

constexpr int kBacklog = 4;

// Any process of the machine can find the socket, and would have root's port by it.
bool IsOwn(int fd) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == ::getpid();
}

// False: one side has closed, or takes nothing.
bool Pass(int from, int to) {
  char buffer[16 << 10];
  const ssize_t got = ::read(from, buffer, sizeof buffer);
  for (ssize_t done = 0; done < got;) {
    const ssize_t sent = ::send(to, buffer + done, static_cast<size_t>(got - done), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += sent;
  }
  return got > 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReservedPortRelay>> ReservedPortRelay::Open(HostPort to) {
  const auto failed = [](absl::string_view what) {
    return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
  };
  sys::UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  sys::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!stop.valid() || !listener.valid()) return failed("opening a socket");
  // Without a name the kernel chooses one, so that nobody can have taken it (unix(7), autobind).
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name.sun_family;
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
      ::listen(listener.get(), kBacklog) != 0)
    return failed("listening on a socket");
  length = sizeof name;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0)
    return failed("naming a socket");
  // The first byte of an abstract name is zero, and not a part of what gRPC calls it.
  const size_t bytes = length - offsetof(sockaddr_un, sun_path) - 1;
  std::string target = absl::StrCat("unix-abstract:", absl::string_view(name.sun_path + 1, bytes));
  return std::unique_ptr<ReservedPortRelay>(new ReservedPortRelay(
      std::move(to), std::move(listener), std::move(stop), std::move(target)));
}

ReservedPortRelay::ReservedPortRelay(HostPort to, sys::UniqueFd listener, sys::UniqueFd stop,
                                     std::string target)
    : to_(std::move(to)),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      target_(std::move(target)),
      thread_([this] { Serve(); }) {}

ReservedPortRelay::~ReservedPortRelay() {
  const uint64_t one = 1;
  // Cannot fail: the counter of an eventfd has room for it.
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void ReservedPortRelay::Serve() {
  while (true) {
    pollfd polled[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[0].revents != 0) return;
    const sys::UniqueFd near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!near.valid() || !IsOwn(near.get())) continue;
    const timeval limit = absl::ToTimeval(kTimeout);
    ::setsockopt(near.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const absl::StatusOr<sys::UniqueFd> far = Dial(to_, SourcePort::kReserved, kTimeout);
    // gRPC says that the connection was closed, and tries again until its call's deadline.
    if (far.ok() && !Carry(near.get(), far->get())) return;
  }
}

bool ReservedPortRelay::Carry(int near, int far) {
  while (true) {
    pollfd polled[] = {{stop_.get(), POLLIN, 0}, {near, POLLIN, 0}, {far, POLLIN, 0}};
    ::poll(polled, 3, -1);
    if (polled[0].revents != 0) return false;
    if (polled[1].revents != 0 && !Pass(near, far)) return true;
    if (polled[2].revents != 0 && !Pass(far, near)) return true;
  }
}

}  // namespace muster::agent
