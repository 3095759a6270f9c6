// collective: a ring all-reduce over all nodes, like those of neural network training.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/nic/link/link_watch.h"
#include "agent/burnin/nic/nic_checks.h"
#include "agent/burnin/nic/pair/pair_session.h"
#include "agent/burnin/nic/ring/ring.h"
#include "agent/burnin/nic/ring/ring_channel.h"
#include "agent/burnin/nic/ring/ring_control.h"
#include "agent/burnin/nic/statistics.h"
#include "common/base/status.h"
#include "common/checks/scaling.h"

namespace muster::burnin {
namespace {

// How often it polls for bad news, and how late an end may be noticed (which is not part of the
// measured time).
constexpr absl::Duration kCollectiveLook = absl::Milliseconds(10);
// Rounds of a token; the fastest one counts.
constexpr int kTokenRounds = 50;
constexpr size_t kKeptMismatches = 10;
// Up to here the prediction covers every number of nodes, beyond it powers of two.
constexpr int kEveryUpTo = 16;

// One execution, as one rank sees it.
class Collective {
 public:
  Collective(CheckContext& context, PairSession& session, RingControl& control, LinkWatch& link,
             Moment start, CheckResult& result)
      : context_(context),
        session_(session),
        control_(control),
        link_(link),
        start_(start),
        result_(result) {}

  absl::Status Run() {
    const checks::Parameters& parameters = context_.parameters;
    RETURN_IF_ERROR(Connect(static_cast<int>(parameters.Number("channels"))));
    RETURN_IF_ERROR(control_.Largest(0).status());
    context_.reporter.SetPhase("latency of the ring", std::nullopt);
    ASSIGN_OR_RETURN(const double hop_s, control_.HopSeconds(kTokenRounds));
    std::vector<float> data(static_cast<size_t>(parameters.Number("elements")));
    const RingData pattern(session_.rank(), session_.ranks());
    const int warmups = static_cast<int>(parameters.Number("warmup-iterations"));
    const int all = warmups + static_cast<int>(parameters.Number("iterations"));
    std::vector<double> times;
    for (int i = 0; i < all; ++i) {
      context_.reporter.SetPhase(absl::StrCat("all-reduce ", i + 1, " of ", all),
                                 static_cast<double>(i) / all);
      ASSIGN_OR_RETURN(const double seconds, Iterate(pattern, absl::MakeSpan(data)));
      if (i >= warmups) times.push_back(seconds);
    }
    RETURN_IF_ERROR(control_.Leave());
    Report(times, static_cast<double>(data.size() * sizeof(float)), hop_s);
    return absl::OkStatus();
  }

  // The suspect of a failed Run().
  int suspect() const { return suspect_; }

 private:
  absl::Status Connect(int channels) {
    const auto previous = static_cast<uint32_t>(control_.previous());
    for (uint32_t i = 0; i < static_cast<uint32_t>(channels); ++i) {
      ChannelId channel{.purpose = Purpose::kRing, .rank = previous, .stream = i};
      suspect_ = control_.next();
      ASSIGN_OR_RETURN(sys::UniqueFd next, session_.ConnectTo(control_.next(), channel));
      suspect_ = control_.previous();
      ASSIGN_OR_RETURN(sys::UniqueFd before, session_.AwaitFrom(channel));
      channels_.push_back(std::make_unique<RingChannel>(session_.rank(), session_.ranks(),
                                                        std::move(next), std::move(before)));
    }
    suspect_ = -1;
    return absl::OkStatus();
  }

  // Seconds that the slowest rank took.
  absl::StatusOr<double> Iterate(const RingData& pattern, absl::Span<float> data) {
    pattern.Fill(data);
    RETURN_IF_ERROR(control_.Largest(0).status());
    const Moment start = Monotonic::now();
    ASSIGN_OR_RETURN(const Moment end, AllReduce(data));
    const double own_s = SecondsBetween(start, end);
    Verify(pattern, data);
    ASSIGN_OR_RETURN(const double seconds, control_.Largest(own_s));
    context_.reporter.AddSample(
        {.at = absl::Seconds(SecondsBetween(start_, Monotonic::now())),
         .subject = link_.interface(),
         .metric = "busbw",
         .value = checks::BusBandwidth(static_cast<double>(data.size() * sizeof(float)), seconds,
                                       session_.ranks()) /
                  1e9});
    return seconds;
  }

  // The moment at which the last channel was done.
  absl::StatusOr<Moment> AllReduce(absl::Span<float> data) {
    const int count = static_cast<int>(channels_.size());
    std::vector<RingChannel::Outcome> outcomes(channels_.size());
    std::vector<Moment> ends(channels_.size());
    std::atomic<bool> stop = false;
    std::atomic<int> running = count;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      const ElementRange range = PartOf(data.size(), count, i);
      threads.emplace_back([&, i, part = data.subspan(range.begin, range.size())] {
        const auto index = static_cast<size_t>(i);
        outcomes[index] = channels_[index]->AllReduce(part, [&] { return stop.load(); });
        ends[index] = Monotonic::now();
        if (!outcomes[index].status.ok()) stop = true;
        --running;
      });
    }
    absl::Status status;
    while (running > 0) {
      session_.Pause(kCollectiveLook);
      if (!status.ok()) continue;
      status = session_.stopping()() ? absl::CancelledError("stopped") : control_.Listen();
      if (status.ok()) status = link_.Look();
      if (!status.ok()) stop = true;
    }
    for (std::thread& thread : threads) thread.join();
    if (!status.ok()) return status;
    for (const RingChannel::Outcome& outcome : outcomes) {
      if (outcome.status.ok() || absl::IsCancelled(outcome.status)) continue;
      suspect_ = outcome.suspect;
      return outcome.status;
    }
    return *std::max_element(ends.begin(), ends.end());
  }

  void Verify(const RingData& pattern, absl::Span<const float> data) {
    std::vector<RingData::Mismatch> first;
    const size_t count = pattern.Verify(data, kKeptMismatches, first);
    if (count == 0 || wrong_) return;
    wrong_ = true;  // once is enough
    std::vector<std::string> evidence;
    for (const RingData::Mismatch& one : first)
      evidence.push_back(
          absl::StrFormat("element %d is %.9g, not %.9g", one.element, one.found, one.expected));
    AddFault(result_, "wrong_sum", link_.interface(),
             absl::StrCat(count, " of ", data.size(),
                          " sums are wrong: memory, card or network corrupts data"),
             std::move(evidence));
  }

  void Report(const std::vector<double>& times, double bytes, double hop_s) {
    const int ranks = session_.ranks();
    const std::string& nic = link_.interface();
    const double median_s = Median(times);
    const double slowest_s = *std::max_element(times.begin(), times.end());
    AddMetric(result_, "ranks", "", "", ranks);
    AddMetric(result_, "all_reduce_ms", "", nic, median_s * 1e3);
    AddMetric(result_, "all_reduce_max_ms", "", nic, slowest_s * 1e3);
    AddMetric(result_, "algbw", "", nic, checks::AlgorithmBandwidth(bytes, median_s) / 1e9);
    AddMetric(result_, "busbw", "", nic, checks::BusBandwidth(bytes, median_s, ranks) / 1e9);
    AddMetric(result_, "busbw_min", "", nic, checks::BusBandwidth(bytes, slowest_s, ranks) / 1e9);
    AddMetric(result_, "hop_latency", "", nic, hop_s * 1e6);
    const checks::RingModel model = checks::FitRing(median_s, bytes, ranks, hop_s);
    const double compute_s = context_.parameters.Number("compute-time");
    for (int nodes = 1; nodes <= ranks; ++nodes) {
      const bool power = (nodes & (nodes - 1)) == 0;
      if (nodes > kEveryUpTo && !power && nodes != ranks) continue;
      const double reduce_s = checks::RingSeconds(model, bytes, nodes);
      const std::string variant = absl::StrCat("n=", nodes);
      AddMetric(result_, "predicted_ms", variant, nic, reduce_s * 1e3);
      AddMetric(result_, "scaling_worst", variant, nic,
                checks::ScalingEfficiency(compute_s, reduce_s, /*overlapped=*/false));
      AddMetric(result_, "scaling_best", variant, nic,
                checks::ScalingEfficiency(compute_s, reduce_s, /*overlapped=*/true));
    }
  }

  CheckContext& context_;
  PairSession& session_;
  RingControl& control_;
  LinkWatch& link_;
  const Moment start_;
  CheckResult& result_;
  std::vector<std::unique_ptr<RingChannel>> channels_;
  int suspect_ = -1;
  bool wrong_ = false;
};

// An unknown result that names the lost rank.
CheckResult Lost(const absl::Status& status, int suspect, PairSession& session,
                 RingControl& control) {
  if (absl::IsCancelled(status)) {
    control.SayLost(session.rank());
    return SessionFailure(status, "");
  }
  const int lost = absl::IsFailedPrecondition(status)
                       ? session.rank()  // its own link
                       : control.FindLost(suspect, absl::IsDeadlineExceeded(status));
  if (absl::IsFailedPrecondition(status)) control.SayLost(lost);
  if (lost < 0) return SessionFailure(status, "an unknown node of the ring");
  CheckResult result =
      lost == session.rank()
          ? SessionFailure(status, "this rank")
          : Unknown(absl::StrCat("partner lost: rank ", lost, " (",
                                 EndpointText(session.endpoint(lost)), "): ", status.message()));
  result.lost_rank = lost;
  return result;
}

}  // namespace

CheckResult RunCollective(CheckContext& context) {
  const Moment start = Monotonic::now();
  if (context.ranks > RingData::kMaxRanks)
    return Unknown(absl::StrCat(context.ranks, " nodes are more than the ", RingData::kMaxRanks,
                                " whose sums are exact"));
  absl::StatusOr<std::unique_ptr<PairSession>> session = PairSession::Meet(context);
  if (!session.ok()) return SessionFailure(session.status(), "not all nodes connected");
  absl::StatusOr<RingControl> control = RingControl::Connect(**session);
  if (!control.ok())
    return SessionFailure(control.status(),
                          absl::StrCat("a neighbor of rank ", context.rank, " in the ring"));
  LinkWatch link(context.files, (*session)->own_address());
  CheckResult result;
  Collective collective(context, **session, *control, link, start, result);
  if (const absl::Status status = collective.Run(); !status.ok()) {
    std::vector<Fault> faults = std::move(result.faults);
    result = Lost(status, collective.suspect(), **session, *control);
    result.faults = std::move(faults);
  }
  link.Report(result);
  return result;
}

}  // namespace muster::burnin
