#include "agent/session/channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/pki/authority.h"

namespace muster::agent {
namespace {

// A port of this host, whose kernel accepts connections.
class OpenPort {
 public:
  OpenPort() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    auto* address = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(fd_, address, size), 0);
    EXPECT_EQ(::listen(fd_, 4), 0);
    EXPECT_EQ(::getsockname(fd_, address, &size), 0);
  }
  ~OpenPort() { ::close(fd_); }

  int number() const { return ntohs(address_.sin_port); }

  // The option of the connection to the port that this process has made; nullopt: there is none.
  std::optional<int> ClientOption(int option) const {
    for (int fd = 3; fd < 1024; ++fd) {
      // gRPC's sockets speak IPv6, and IPv4 by mapped addresses.
      sockaddr_in6 peer = {};
      socklen_t size = sizeof(peer);
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
          peer.sin6_port != address_.sin_port)
        continue;
      int value = 0;
      socklen_t bytes = sizeof(value);
      if (::getsockopt(fd, IPPROTO_TCP, option, &value, &bytes) == 0) return value;
    }
    return std::nullopt;
  }

 private:
  const int fd_;
  sockaddr_in address_ = {};
};

// Between pings, heartbeats that nobody acknowledges have to be enough.
TEST(Channel, UnacknowledgedDataEndsAConnectionWithinFiveSeconds) {
  const OpenPort port;
  const pki::Authority ca = pki::MakeCa("test", absl::Hours(1), absl::Now()).value();
  const auto channel =
      OpenEnrollmentChannel(absl::StrCat("127.0.0.1:", port.number()), ca.certificate_pem);
  std::optional<int> timeout_ms;
  // Nobody answers the handshake: waiting is what lets gRPC open the connection.
  for (int i = 0; i < 1000 && timeout_ms.value_or(0) == 0; ++i) {
    channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::milliseconds(10));
    timeout_ms = port.ClientOption(TCP_USER_TIMEOUT);
  }
  EXPECT_EQ(timeout_ms, 5'000);
}

}  // namespace
}  // namespace muster::agent
