#include "agent/burnin/nic/pair/pair_phase.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
// A frame ends a tick early; a rate over less time is meaningless.
constexpr double kShortestSeconds = 0.05;

double Gbits(uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e9 : 0;
}

// Notices when a count that should grow does not.
class StallWatch {
 public:
  void Start(Moment now) { since_ = now; }
  bool Stalled(uint64_t bytes, Moment now) {
    if (bytes != bytes_) {
      bytes_ = bytes;
      since_ = now;
    }
    return SecondsBetween(since_, now) > absl::ToDoubleSeconds(kStallTime);
  }

 private:
  uint64_t bytes_ = 0;
  Moment since_;
};

// The phase between the first byte and the last, as seen by one of the two ends.
class Phase {
 public:
  Phase(PairSession& session, Control& control, const PhasePlan& plan, const PhaseWatch& watch)
      : session_(session), control_(control), plan_(plan), watch_(watch) {}

  absl::StatusOr<PhaseRates> Run() {
    RETURN_IF_ERROR(Open());
    while (!measured_ || !answered_) RETURN_IF_ERROR(Tick());
    return Close();
  }

 private:
  absl::Status Open() {
    std::vector<sys::UniqueFd> out;
    std::vector<sys::UniqueFd> in;
    const auto partner = static_cast<uint32_t>(1 - session_.rank());
    for (uint32_t i = 0; i < static_cast<uint32_t>(plan_.streams); ++i) {
      ChannelId channel{
          .purpose = Purpose::kData, .rank = partner, .phase = plan_.phase, .stream = i};
      if (plan_.send) {
        ASSIGN_OR_RETURN(sys::UniqueFd fd, session_.ConnectTo(static_cast<int>(partner), channel));
        out.push_back(std::move(fd));
      }
      if (plan_.receive) {
        ASSIGN_OR_RETURN(sys::UniqueFd fd, session_.AwaitFrom(channel));
        in.push_back(std::move(fd));
      }
    }
    RETURN_IF_ERROR(control_.Send({FrameType::kReady, {static_cast<double>(plan_.phase)}}));
    RETURN_IF_ERROR(
        control_.Expect(FrameType::kReady, plan_.phase, After(kMeetingTime), session_.stopping())
            .status());
    measured_ = !plan_.receive;
    answered_ = !plan_.send;
    if (plan_.receive) receiver_ = std::make_unique<TrafficReceiver>(std::move(in));
    if (plan_.send) {
      ASSIGN_OR_RETURN(sender_, TrafficSender::Start(std::move(out), plan_.method));
    }
    start_ = last_ = Monotonic::now();
    // On a congested path the connections alone take longer than a stall.
    receive_stall_.Start(start_);
    send_stall_.Start(start_);
    return absl::OkStatus();
  }

  absl::Status Tick() {
    if (answered_) {
      session_.Pause(kTick);  // the partner's next data belongs to the next phase
    } else if (const absl::Status waited =
                   WaitFor(control_.fd(), POLLIN, After(kTick), session_.stopping());
               !waited.ok() && !absl::IsDeadlineExceeded(waited)) {
      return waited;
    }
    if (session_.stopping()()) return absl::CancelledError("stopped");
    const Moment now = Monotonic::now();
    const uint64_t received = receiver_ ? receiver_->bytes() : 0;
    const uint64_t sent = sender_ ? sender_->bytes() : 0;
    if (const double seconds = SecondsBetween(last_, now); seconds > kShortestSeconds) {
      RETURN_IF_ERROR(watch_(Gbits(received - std::exchange(last_received_, received), seconds),
                             Gbits(sent - std::exchange(last_sent_, sent), seconds)));
      last_ = now;
    }
    if (!answered_) RETURN_IF_ERROR(ReadAnswer());
    if (!measured_) RETURN_IF_ERROR(Measure(received, now));
    if (!answered_ && sender_->broken())
      return absl::UnavailableError("a connection to it broke while data was sent");
    if ((!measured_ && receive_stall_.Stalled(received, now)) ||
        (!answered_ && send_stall_.Stalled(sent, now)))
      return absl::UnavailableError(
          absl::StrCat("no data moved for ", absl::FormatDuration(kStallTime)));
    // The partner ends a phase that it measures; one that does not do so is as good as lost.
    if (SecondsBetween(start_, now) >
        absl::ToDoubleSeconds(plan_.warmup + plan_.duration + kMeetingTime))
      return absl::DeadlineExceededError("it did not end the phase in time");
    return absl::OkStatus();
  }

  absl::Status ReadAnswer() {
    ASSIGN_OR_RETURN(const std::optional<Frame> frame, control_.Poll());
    if (!frame.has_value()) return absl::OkStatus();
    if (frame->type != FrameType::kMeasured || frame->value(0) != plan_.phase)
      return absl::InternalError("the partner sent an unexpected answer");
    rates_.sent_gbits = frame->value(1);
    answered_ = true;
    // Immediately: the partner waits for the end of the streams.
    rates_.totals = sender_->Stop();
    sender_.reset();
    return absl::OkStatus();
  }

  absl::Status Measure(uint64_t received, Moment now) {
    if (!from_ && SecondsBetween(start_, now) >= absl::ToDoubleSeconds(plan_.warmup)) {
      from_ = now;
      from_bytes_ = received;
    } else if (from_ && SecondsBetween(*from_, now) >= absl::ToDoubleSeconds(plan_.duration)) {
      rates_.received_gbits = Gbits(received - from_bytes_, SecondsBetween(*from_, now));
      measured_ = true;
      return control_.Send(
          {FrameType::kMeasured, {static_cast<double>(plan_.phase), rates_.received_gbits}});
    } else if (receiver_->ended() > 0) {
      return absl::UnavailableError("it ended a stream early");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PhaseRates> Close() {
    const Moment deadline = After(kMeetingTime);
    // Data in flight still counts as traffic for the next phase; wait for it.
    while (receiver_ && receiver_->ended() < receiver_->streams()) {
      if (Monotonic::now() >= deadline)
        return absl::DeadlineExceededError("it did not end its streams in time");
      if (session_.stopping()()) return absl::CancelledError("stopped");
      session_.Pause(absl::Milliseconds(5));
    }
    return rates_;
  }

  PairSession& session_;
  Control& control_;
  const PhasePlan& plan_;
  const PhaseWatch& watch_;
  std::unique_ptr<TrafficSender> sender_;
  std::unique_ptr<TrafficReceiver> receiver_;
  StallWatch receive_stall_;
  StallWatch send_stall_;
  PhaseRates rates_;
  bool measured_ = false;  // incoming data, by us
  bool answered_ = false;  // outgoing data, by the partner
  Moment start_;
  Moment last_;
  uint64_t last_received_ = 0;
  uint64_t last_sent_ = 0;
  std::optional<Moment> from_;
  uint64_t from_bytes_ = 0;
};

}  // namespace

absl::StatusOr<PhaseRates> RunPhase(PairSession& session, Control& control, const PhasePlan& plan,
                                    const PhaseWatch& watch) {
  return Phase(session, control, plan, watch).Run();
}

}  // namespace muster::burnin
