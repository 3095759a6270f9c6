// The two control connections of a rank in a ring: to the rank before it and the one after it. They
// carry tokens, and the news which rank is lost.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/burnin/nic/pair/pair_session.h"
#include "agent/burnin/nic/transport/control.h"

namespace muster::burnin {

// Not thread-safe. After a call has failed only FindLost() is useful.
class RingControl {
 public:
  // Time limit for a token to come around.
  static constexpr absl::Duration kTokenTime = absl::Seconds(120);
  // Time limit for a neighbor to answer, and for others to say which rank is lost.
  static constexpr absl::Duration kAnswerTime = absl::Seconds(3);

  // Connects to the next rank and waits for the previous one.
  static absl::StatusOr<RingControl> Connect(PairSession& session);

  int next() const { return (session_->rank() + 1) % session_->ranks(); }
  int previous() const { return (session_->rank() + session_->ranks() - 1) % session_->ranks(); }

  // The largest `value` of all ranks. No rank returns before all have called it, so it is a barrier
  // too.
  absl::StatusOr<double> Largest(double value);
  // Seconds that a token takes from one rank to the next, measured by one that goes around `rounds`
  // times.
  absl::StatusOr<double> HopSeconds(int rounds);

  // The last barrier: afterwards connections may end.
  absl::Status Leave();

  // Call while waiting for others: answers neighbors. Unavailable: a rank is lost; FindLost()
  // tells which.
  absl::Status Listen();
  // Which rank is lost, after the connection to `suspect` has failed (`answers_not`: it is silent;
  // -1: none did): it is another one if a neighbor says so before the suspect's own control
  // connection ends. Tells the neighbors. -1: not known.
  int FindLost(int suspect, bool answers_not);
  // Call before leaving early, so that nobody has to wait for this rank.
  void SayLost(int rank);

 private:
  RingControl(PairSession& session, Control to_next, Control from_previous)
      : session_(&session), next_(std::move(to_next)), previous_(std::move(from_previous)) {}

  // A token from the previous rank; other messages are answered.
  absl::StatusOr<double> AwaitToken();
  absl::Status SendToken(double value) { return next_.Send({FrameType::kToken, {value}}); }
  // Handles the messages that have arrived from one neighbor. True: there was one. Tokens are
  // kept.
  absl::StatusOr<bool> Read(Control& from, int rank);

  PairSession* session_;
  Control next_;
  Control previous_;
  bool leaving_ = false;
  std::optional<double> token_;
  std::optional<int> lost_;      // as reported by a neighbor
  std::optional<int> ended_;     // neighbor whose connection ended without a message
  std::optional<int> answered_;  // neighbor that answered a ping
};

}  // namespace muster::burnin
