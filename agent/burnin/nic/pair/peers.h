// Authenticated connections: both ends know the one-time key of this execution of a check.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/burnin/nic/transport/socket.h"
#include "agent/burnin/nic/transport/wire.h"

namespace muster::burnin {

// The port of a check: closes whatever does not authenticate itself at once, and closes itself on
// destruction. A thread of its own answers, so that two nodes can connect to each other at the same
// time.
class PeerListener {
 public:
  // Unauthenticated connections: at most so many at once, each for so long. One more evicts the
  // oldest, so that strangers cannot keep the partner out.
  static constexpr size_t kMaxPending = 16;
  static constexpr absl::Duration kProofTime = absl::Seconds(10);
  // Authenticated connections that nobody has asked for yet; further ones are closed.
  static constexpr size_t kMaxWaiting = 512;

  // InvalidArgument: an empty key.
  static absl::StatusOr<std::unique_ptr<PeerListener>> Open(const LocalEnd& at, std::string key);
  ~PeerListener();

  int port() const { return port_; }
  // Blocks until the partner has made this connection. DeadlineExceeded, Cancelled.
  absl::StatusOr<sys::UniqueFd> Await(const ChannelId& channel, Moment deadline,
                                      const Stopping& stopping);
  // Connections that were closed because they did not authenticate themselves.
  int refused() const;

 private:
  struct Pending {
    sys::UniqueFd fd;
    Greeting greeting;
    std::string received;
    Moment deadline;
  };

  PeerListener(sys::UniqueFd socket, sys::UniqueFd wake, int port, std::string key);
  void Serve();
  void Accept(std::vector<Pending>& pending);
  // True: done with this one, one way or the other.
  bool Answer(Pending& pending);
  void CountRefused();

  const std::string key_;
  const sys::UniqueFd socket_;
  const sys::UniqueFd wake_;  // readable: stop
  const int port_;
  mutable absl::Mutex mutex_;
  std::map<ChannelId, sys::UniqueFd> proved_ ABSL_GUARDED_BY(mutex_);
  int refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

// A connection to the partner's port, authenticated both ways. PermissionDenied: the partner does
// not know the key, or does not believe that we do.
absl::StatusOr<sys::UniqueFd> ConnectToPeer(const Endpoint& to, const LocalEnd& from,
                                            absl::string_view key, const ChannelId& channel,
                                            Moment deadline);

}  // namespace muster::burnin
