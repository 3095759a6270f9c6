// How two or more nodes come together for a check: the port, the exchange of endpoints, the
// authenticated connections.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "agent/burnin/nic/pair/peers.h"
#include "agent/burnin/nic/transport/socket.h"
#include "common/base/clock.h"

namespace muster::burnin {

// Time limit for a partner to reach the same point. On a path that many pairs share, a stream's
// last bytes take seconds to arrive.
inline constexpr absl::Duration kMeetingTime = absl::Seconds(20);

// The ranks of this execution and how to reach them; destruction closes the port.
class PairSession {
 public:
  // Uses the parameters "interface" and "meet-timeout" of `context`. Blocks until all have met.
  static absl::StatusOr<std::unique_ptr<PairSession>> Meet(CheckContext& context);

  // A connection that this rank makes to `rank`, or that `channel.rank` makes to this one.
  absl::StatusOr<sys::UniqueFd> ConnectTo(int rank, ChannelId channel);
  absl::StatusOr<sys::UniqueFd> AwaitFrom(const ChannelId& channel);

  const Endpoint& endpoint(int rank) const { return endpoints_[static_cast<size_t>(rank)]; }
  void Pause(absl::Duration duration) { context_.clock.Sleep(duration); }
  const Stopping& stopping() const { return stopping_; }
  // The address of this end of the first connection; "" before.
  const std::string& own_address() const { return own_address_; }
  int rank() const { return context_.rank; }
  int ranks() const { return context_.ranks; }

 private:
  explicit PairSession(CheckContext& context);

  // Keeps the address of the first connection.
  absl::StatusOr<sys::UniqueFd> Noted(absl::StatusOr<sys::UniqueFd> fd);

  CheckContext& context_;
  const Stopping stopping_;
  LocalEnd own_end_;
  std::string own_address_;
  std::unique_ptr<PeerListener> listener_;
  std::vector<Endpoint> endpoints_;
};

// A session of two nodes, with the connection over which they agree.
struct NodePair {
  std::unique_ptr<PairSession> session;
  sys::UniqueFd control;
  std::string partner;  // the other's endpoint, for messages
};
// Meets the other of two nodes. nullopt: `failure` is the result of the check.
std::optional<NodePair> MeetPartner(CheckContext& context, CheckResult& failure);

// The result for an error of such a session: Cancelled is "stopped", Unavailable and
// DeadlineExceeded are "partner lost", without naming a rank; all of them are unknown.
CheckResult SessionFailure(const absl::Status& status, absl::string_view partner);

}  // namespace muster::burnin
