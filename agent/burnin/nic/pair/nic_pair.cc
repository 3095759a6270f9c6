// nic-pair: the performance of TCP between two nodes.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/link_watch.h"
#include "agent/burnin/nic/nic_checks.h"
#include "agent/burnin/nic/pair/pair_phase.h"
#include "agent/burnin/nic/pair/pair_session.h"
#include "agent/burnin/nic/statistics.h"
#include "agent/burnin/nic/transport/control.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// A phase, by its senders.
struct PhaseRow {
  absl::string_view words;
  bool rank0_sends;
  bool rank1_sends;
  absl::string_view receive_metric;
  absl::string_view send_metric;
};
constexpr PhaseRow kPhases[] = {
    {"to the partner", true, false, "receive_gbits", "send_gbits"},
    {"from the partner", false, true, "receive_gbits", "send_gbits"},
    {"both ways at once", true, true, "duplex_receive_gbits", "duplex_send_gbits"},
};

SendMethod MethodOf(const std::string& word) {
  if (word == "copy") return SendMethod::kCopy;
  return word == "sendfile" ? SendMethod::kSendfile : SendMethod::kAuto;
}

// One execution, as seen by one of the two nodes.
class NicPair {
 public:
  NicPair(CheckContext& context, PairSession& session, sys::UniqueFd control, LinkWatch& link,
          Moment start, CheckResult& result)
      : context_(context),
        session_(session),
        control_(std::move(control)),
        link_(link),
        start_(start),
        result_(result) {}

  absl::Status Run() {
    const bool duplex = context_.parameters.Flag("duplex");
    const size_t phases = duplex ? 3 : 2;
    for (size_t i = 0; i < phases; ++i) {
      Progress(kPhases[i], static_cast<double>(i) / static_cast<double>(phases + 1));
      RETURN_IF_ERROR(Traffic(static_cast<uint32_t>(i), kPhases[i]));
    }
    context_.reporter.SetPhase("round trips",
                               static_cast<double>(phases) / static_cast<double>(phases + 1));
    RETURN_IF_ERROR(RoundTrips());
    AddMetric(result_, "retransmits", "", link_.interface(), static_cast<double>(sent_again_));
    if (path_mtu_ > 0) AddMetric(result_, "path_mtu", "", link_.interface(), path_mtu_);
    result_.tools.push_back(copied_ ? "TCP, send" : "TCP, sendfile");
    RETURN_IF_ERROR(control_.Send({FrameType::kBye, {}}));
    return control_.Expect(FrameType::kBye, std::nullopt, After(kMeetingTime), session_.stopping())
        .status();
  }

 private:
  // The rows are written from the view of rank 0.
  void Progress(const PhaseRow& row, double fraction) {
    const bool other = context_.rank == 1 && row.rank0_sends != row.rank1_sends;
    const PhaseRow& mine = other ? kPhases[row.rank0_sends ? 1 : 0] : row;
    context_.reporter.SetPhase(
        absl::StrCat(mine.words, ", ", context_.parameters.Number("streams"), " streams"),
        fraction);
  }

  absl::Status Traffic(uint32_t phase, const PhaseRow& row) {
    const checks::Parameters& parameters = context_.parameters;
    const bool first = context_.rank == 0;
    const PhasePlan plan{
        .phase = phase,
        .send = first ? row.rank0_sends : row.rank1_sends,
        .receive = first ? row.rank1_sends : row.rank0_sends,
        .streams = static_cast<int>(parameters.Number("streams")),
        .warmup = absl::Seconds(parameters.Number("warmup")),
        .duration = absl::Seconds(parameters.Number("duration")),
        .method = MethodOf(parameters.Word("method")),
    };
    const PhaseWatch watch = [&](double received_gbits, double sent_gbits) {
      if (plan.receive) Sampled(row.receive_metric, received_gbits);
      if (plan.send) Sampled(row.send_metric, sent_gbits);
      return link_.Look();
    };
    ASSIGN_OR_RETURN(const PhaseRates rates, RunPhase(session_, control_, plan, watch));
    if (plan.receive)
      AddMetric(result_, row.receive_metric, "", link_.interface(), rates.received_gbits);
    if (plan.send) {
      AddMetric(result_, row.send_metric, "", link_.interface(), rates.sent_gbits);
      sent_again_ += rates.totals.segments_sent_again;
      path_mtu_ =
          path_mtu_ == 0 ? rates.totals.path_mtu : std::min(path_mtu_, rates.totals.path_mtu);
      copied_ = copied_ || rates.totals.method == SendMethod::kCopy;
    }
    return absl::OkStatus();
  }

  void Sampled(absl::string_view metric, double value) {
    context_.reporter.AddSample({.at = absl::Seconds(SecondsBetween(start_, Monotonic::now())),
                                 .subject = link_.interface(),
                                 .metric = std::string(metric),
                                 .value = value});
  }

  // Rank 0 measures and reports: the round trip is the same for both.
  absl::Status RoundTrips() {
    const absl::Duration duration = absl::Seconds(context_.parameters.Number("latency-duration"));
    const ChannelId channel{.purpose = Purpose::kEcho, .rank = 0};
    RoundTripTimes times;
    double count = 0;
    if (context_.rank == 0) {
      ASSIGN_OR_RETURN(const sys::UniqueFd echo, session_.ConnectTo(1, channel));
      ASSIGN_OR_RETURN(
          std::vector<float> all,
          MeasureRoundTrips(echo.get(), duration,
                            static_cast<size_t>(context_.parameters.Number("message-size")),
                            session_.stopping()));
      count = static_cast<double>(all.size());
      times = Summarize(std::move(all));
      RETURN_IF_ERROR(control_.Send(
          {FrameType::kTimes, {times.p50, times.p99, times.p999, times.largest, count}}));
    } else {
      ASSIGN_OR_RETURN(const sys::UniqueFd echo, session_.AwaitFrom(channel));
      RETURN_IF_ERROR(
          EchoUntilClosed(echo.get(), After(duration + kMeetingTime), session_.stopping()));
      ASSIGN_OR_RETURN(const Frame frame,
                       control_.Expect(FrameType::kTimes, std::nullopt, After(kMeetingTime),
                                       session_.stopping()));
      times = {frame.value(0), frame.value(1), frame.value(2), frame.value(3)};
      count = frame.value(4);
    }
    if (count < 1) return absl::UnavailableError("not a single round trip finished");
    AddMetric(result_, "round_trip_p50", "", link_.interface(), times.p50);
    AddMetric(result_, "round_trip_p99", "", link_.interface(), times.p99);
    AddMetric(result_, "round_trip_p999", "", link_.interface(), times.p999);
    AddMetric(result_, "round_trip_max", "", link_.interface(), times.largest);
    AddMetric(result_, "round_trips", "", link_.interface(), count);
    return absl::OkStatus();
  }

  CheckContext& context_;
  PairSession& session_;
  Control control_;
  LinkWatch& link_;
  const Moment start_;
  CheckResult& result_;
  uint64_t sent_again_ = 0;
  uint32_t path_mtu_ = 0;
  bool copied_ = false;
};

}  // namespace

CheckResult RunNicPair(CheckContext& context) {
  const Moment start = Monotonic::now();
  if (context.ranks != 2)
    return Unknown(absl::StrCat("the check needs two nodes, not ", context.ranks));
  CheckResult result;
  std::optional<NodePair> pair = MeetPartner(context, result);
  if (!pair.has_value()) return result;
  LinkWatch link(context.files, pair->session->own_address());
  const absl::Status status =
      NicPair(context, *pair->session, std::move(pair->control), link, start, result).Run();
  if (!status.ok()) result = SessionFailure(status, pair->partner);
  link.Report(result);
  return result;
}

}  // namespace muster::burnin
