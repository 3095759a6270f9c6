#include "agent/burnin/nic/ring/ring_control.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr int kControlLookMs = 50;

}  // namespace

absl::StatusOr<RingControl> RingControl::Connect(PairSession& session) {
  const int ranks = session.ranks();
  ASSIGN_OR_RETURN(sys::UniqueFd next,
                   session.ConnectTo((session.rank() + 1) % ranks, {.purpose = Purpose::kControl}));
  const auto before = static_cast<uint32_t>((session.rank() + ranks - 1) % ranks);
  ASSIGN_OR_RETURN(sys::UniqueFd previous,
                   session.AwaitFrom({.purpose = Purpose::kControl, .rank = before}));
  return RingControl(session, Control(std::move(next)), Control(std::move(previous)));
}

absl::StatusOr<bool> RingControl::Read(Control& from, int rank) {
  absl::StatusOr<std::optional<Frame>> frame = from.Poll();
  if (!frame.ok()) {
    ended_ = rank;
    return frame.status();
  }
  if (!frame->has_value()) return false;
  switch ((*frame)->type) {
    case FrameType::kToken:
      if (token_.has_value() || rank != previous())
        return absl::InternalError("a token arrived out of turn");
      token_ = (*frame)->value(0);
      break;
    case FrameType::kLost: {
      const double lost = (*frame)->value(0);
      if (lost >= 0 && lost < session_->ranks()) lost_ = static_cast<int>(lost);
      return absl::UnavailableError("another rank was lost");
    }
    case FrameType::kPing:
      RETURN_IF_ERROR(from.Send({FrameType::kPong, {}}));
      break;
    case FrameType::kPong:
      answered_ = rank;
      break;
    default:
      return absl::InternalError("an unexpected message arrived");
  }
  return true;
}

absl::Status RingControl::Listen() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool before, Read(previous_, previous()));
    // A rank that has passed the last token on is gone before the token has come around.
    bool after = false;
    if (!leaving_) {
      ASSIGN_OR_RETURN(after, Read(next_, next()));
    }
    if (!before && !after) return absl::OkStatus();
  }
}

absl::StatusOr<double> RingControl::AwaitToken() {
  const Moment deadline = After(kTokenTime);
  for (;;) {
    const absl::Status status = Listen();
    // A token also counts from a rank that has closed its connection since.
    if (token_.has_value()) return *std::exchange(token_, std::nullopt);
    RETURN_IF_ERROR(status);
    if (session_->stopping()()) return absl::CancelledError("stopped");
    if (Monotonic::now() >= deadline)
      return absl::DeadlineExceededError("the ring did not form in time");
    pollfd polled[] = {{.fd = previous_.fd(), .events = POLLIN, .revents = 0},
                       {.fd = next_.fd(), .events = POLLIN, .revents = 0}};
    poll(polled, 2, kControlLookMs);
  }
}

absl::StatusOr<double> RingControl::Largest(double value) {
  // Once around to collect, once more to announce: rank 0 starts both.
  if (session_->rank() == 0) {
    RETURN_IF_ERROR(SendToken(value));
    ASSIGN_OR_RETURN(const double largest, AwaitToken());
    RETURN_IF_ERROR(SendToken(largest));
    RETURN_IF_ERROR(AwaitToken().status());
    return largest;
  }
  ASSIGN_OR_RETURN(const double so_far, AwaitToken());
  RETURN_IF_ERROR(SendToken(std::max(so_far, value)));
  ASSIGN_OR_RETURN(const double largest, AwaitToken());
  RETURN_IF_ERROR(SendToken(largest));
  return largest;
}

absl::Status RingControl::Leave() {
  leaving_ = true;
  return Largest(0).status();
}

absl::StatusOr<double> RingControl::HopSeconds(int rounds) {
  std::optional<double> fastest;
  for (int round = 0; round < rounds; ++round) {
    const Moment start = Monotonic::now();
    if (session_->rank() == 0) RETURN_IF_ERROR(SendToken(0));
    RETURN_IF_ERROR(AwaitToken().status());
    if (session_->rank() != 0) RETURN_IF_ERROR(SendToken(0));
    const double seconds = SecondsBetween(start, Monotonic::now());
    fastest = std::min(fastest.value_or(seconds), seconds);
  }
  // The others' rounds begin at any time; only rank 0's counts.
  return Largest(session_->rank() == 0 ? fastest.value_or(0) / session_->ranks() : 0);
}

void RingControl::SayLost(int rank) {
  // A rank that no longer accepts it need not know.
  (void)next_.Send({FrameType::kLost, {static_cast<double>(rank)}});
  (void)previous_.Send({FrameType::kLost, {static_cast<double>(rank)}});
}

int RingControl::FindLost(int suspect, bool answers_not) {
  Control* const asked = suspect == next() ? &next_ : suspect == previous() ? &previous_ : nullptr;
  answered_.reset();
  if (asked != nullptr && answers_not) (void)asked->Send({FrameType::kPing, {}});
  const Moment deadline = After(kAnswerTime);
  while (!lost_.has_value() && Monotonic::now() < deadline) {
    bool news = false;
    for (const auto& [control, rank] : {std::pair(&previous_, previous()), {&next_, next()}}) {
      // A closed connection says nothing new; everything before its end was read.
      if (ended_ == rank) continue;
      const absl::StatusOr<bool> read = Read(*control, rank);
      news = news || (read.ok() && *read);
    }
    // The suspect closed its connection without naming anybody: it died itself.
    if (!lost_.has_value() && ended_.has_value() && (suspect < 0 || ended_ == suspect))
      lost_ = ended_;
    if (!news) session_->Pause(absl::Milliseconds(10));
  }
  // A suspect that answers is waiting for another rank, which nobody knows.
  if (!lost_.has_value() && suspect >= 0 && !(answers_not && answered_ == suspect)) lost_ = suspect;
  const int lost = lost_.value_or(-1);
  if (lost >= 0) SayLost(lost);
  return lost;
}

}  // namespace muster::burnin
