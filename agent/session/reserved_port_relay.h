// gRPC to the controller from a port that only root may use.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/session/dial.h"
#include "common/sys/unique_fd.h"

namespace muster::agent {

// Carries the bytes between a socket that only this process may connect to and the controller. TLS
// ends behind it on both sides. gRPC connects its sockets itself and binds none, so that the port
// cannot be chosen without it. Serves one connection after the other, in a thread of its own.
class ReservedPortRelay {
 public:
  // Internal: the system gives no socket.
  static absl::StatusOr<std::unique_ptr<ReservedPortRelay>> Open(HostPort to);
  ReservedPortRelay(const ReservedPortRelay&) = delete;
  ReservedPortRelay& operator=(const ReservedPortRelay&) = delete;
  // Ends what is connected through it.
  ~ReservedPortRelay();

  // Where gRPC connects to instead: "unix-abstract:0001f".
  const std::string& target() const { return target_; }

 private:
  // Each operation on a socket ends after it.
  static constexpr absl::Duration kTimeout = absl::Seconds(10);

  ReservedPortRelay(HostPort to, sys::UniqueFd listener, sys::UniqueFd stop, std::string target);
  void Serve();
  // Until one side closes or an operation fails; false: the relay is to end.
  bool Carry(int near, int far);

  const HostPort to_;
  const sys::UniqueFd listener_;
  const sys::UniqueFd stop_;  // readable: the relay is to end
  const std::string target_;
  std::thread thread_;
};

}  // namespace muster::agent
