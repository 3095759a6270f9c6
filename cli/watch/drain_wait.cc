#include "cli/watch/drain_wait.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/run/drain_report.h"
#include "cli/render/shorten.h"
#include "cli/watch/patience.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_job.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/rollout.grpc.pb.h"

namespace muster::cli {
namespace {

using NodeStub = v1::NodeService::Stub;

// Between two looks. Each asks slurmctld for its jobs.
constexpr absl::Duration kLookInterval = absl::Seconds(2);

bool IsWorker(const v1::Node& node) { return node.role() == "compute" || node.role().empty(); }

// What one look needs, and keeps.
class DrainLook {
 public:
  DrainLook(Connection& connection, const DrainRequest& request) : connection_(connection) {
    for (const v1::Node& node : request.nodes) {
      if (!IsWorker(node)) continue;
      held_.push_back(node.name());
      if (node.connected()) waited_.push_back(node.name());
    }
  }

  const std::vector<std::string>& held() const { return held_; }
  const std::vector<std::string>& waited() const { return waited_; }

  absl::Status Hold(const std::string& reason) {
    NodeStub stub(connection_.channel());
    v1::DrainNodesRequest drain;
    drain.set_nodes(FoldHostlist(held_));
    drain.set_reason(reason);
    v1::DrainNodesResponse response;
    RETURN_IF_ERROR(Call(connection_, stub, &NodeStub::DrainNodes, drain, &response));
    trouble_ = response.trouble();
    reason_ = reason;
    return absl::OkStatus();
  }

  // Slurm is asked for jobs only after it is known to start none: one that is not there then cannot
  // come any more.
  absl::StatusOr<DrainMoment> Now() {
    NodeStub stub(connection_.channel());
    if (!trouble_.empty()) {
      v1::GetStatusResponse status;
      RETURN_IF_ERROR(
          Call(connection_, stub, &NodeStub::GetStatus, v1::GetStatusRequest(), &status));
      trouble_ = status.slurm_gate_trouble();
    }
    DrainMoment moment;
    moment.nodes = waited_;
    moment.trouble = trouble_;
    RETURN_IF_ERROR(CheckHolds());
    if (!moment.trouble.empty() || waited_.empty()) return moment;
    v1::ListNodeJobsRequest request;
    request.set_nodes(FoldHostlist(waited_));
    v1::ListNodeJobsResponse response;
    RETURN_IF_ERROR(Call(connection_, stub, &NodeStub::ListNodeJobs, request, &response));
    moment.unknown = response.unknown();
    moment.jobs = JobsByNode(response);
    return moment;
  }

 private:
  absl::Status CheckHolds() {
    if (reason_.empty()) return absl::OkStatus();
    NodeStub stub(connection_.channel());
    v1::ListNodesResponse all;
    RETURN_IF_ERROR(Call(connection_, stub, &NodeStub::ListNodes, v1::ListNodesRequest(), &all));
    for (const v1::Node& node : all.nodes()) {
      if (std::find(held_.begin(), held_.end(), node.name()) == held_.end()) continue;
      const bool is_held =
          std::any_of(node.holds().begin(), node.holds().end(),
                      [&](const v1::NodeHold& hold) { return hold.reason() == reason_; });
      if (!is_held)
        return absl::FailedPreconditionError(
            absl::StrCat(node.name(), " is not held any more as '", reason_,
                         "': somebody resumed or drained it meanwhile; start again if it is to "
                         "be done all the same"));
    }
    return absl::OkStatus();
  }

  Connection& connection_;
  std::vector<std::string> held_, waited_;
  std::string reason_;   // empty: nothing is held
  std::string trouble_;  // of the gate since the hold; empty: Slurm starts no job there
};

// Redraws on a terminal, and otherwise prints what is new.
class DrainDisplay {
 public:
  DrainDisplay(const Context& context, std::ostream& words)
      : words_(words), is_drawn_(context.output == OutputFormat::kTable) {}

  void Show(const DrainMoment& moment) {
    std::vector<std::string> lines = DescribeDrain(moment);
    if (is_drawn_ && terminal_.interactive()) {
      const ScreenSize size = terminal_.size();
      lines.resize(std::min<size_t>(lines.size(), static_cast<size_t>(std::max(size.rows - 1, 1))));
      for (std::string& line : lines) line = Shorten(line, static_cast<size_t>(size.columns));
      terminal_.Redraw(lines);
      return;
    }
    std::string key = DrainKey(moment);
    if (key == shown_) return;
    shown_ = std::move(key);
    for (const std::string& line : lines) words_ << line << "\n";
    words_ << std::flush;
  }
  void Clear() {
    if (is_drawn_ && terminal_.interactive()) terminal_.Redraw({});
  }

 private:
  std::ostream& words_;
  const bool is_drawn_;
  Terminal terminal_;
  std::string shown_;
};

// Sleeps until the next look; false: Ctrl-C.
bool Rest(Clock& clock) {
  const absl::Time until = clock.Now() + kLookInterval;
  while (clock.Now() < until && !InterruptFlag::IsSet()) clock.Sleep(InterruptFlag::kInterval);
  return !InterruptFlag::IsSet();
}

// The gate is off: nobody keeps jobs away from the nodes.
absl::Status RefuseIfBusy(DrainLook& look) {
  ASSIGN_OR_RETURN(const DrainMoment moment, look.Now());
  if (moment.is_idle()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      moment.unknown.empty() ? DescribeWhere(moment.jobs)
                             : absl::StrCat("it is not known which jobs run: ", moment.unknown),
      ", and the gate to Slurm, which would drain the nodes, is off: drain them by scontrol and "
      "let "
      "the jobs end, or pass --force"));
}

}  // namespace

absl::StatusOr<DrainEnd> DrainAndWait(Context& context, Connection& connection,
                                      const DrainRequest& request, std::ostream& words) {
  DrainLook look(connection, request);
  if (look.held().empty()) return DrainEnd::kIdle;
  v1::GetStatusResponse status;
  NodeStub stub(connection.channel());
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::GetStatus, v1::GetStatusRequest(), &status));
  if (!status.slurm_gate()) {
    if (request.waits) RETURN_IF_ERROR(RefuseIfBusy(look));
    return DrainEnd::kIdle;
  }
  RETURN_IF_ERROR(look.Hold(request.reason));
  words << FoldHostlist(look.held()) << ": drained, " << request.reason << std::endl;
  if (!request.waits || look.waited().empty()) return DrainEnd::kIdle;

  const InterruptFlag interrupt;
  Clock& clock = *context.clock;
  DrainDisplay display(context, words);
  Patience patience(
      clock, [&] { connection.Renew(); },
      [&](absl::string_view text) { words << text << std::flush; });
  const absl::Time deadline = clock.Now() + request.timeout;
  std::optional<DrainEnd> end;
  while (!end.has_value()) {
    const absl::StatusOr<DrainMoment> moment = look.Now();
    if (absl::IsUnavailable(moment.status())) {
      RETURN_IF_ERROR(patience.Await(moment.status()));
      if (InterruptFlag::IsSet()) end = DrainEnd::kInterrupted;
      continue;
    }
    RETURN_IF_ERROR(moment.status());
    patience.OnAnswer();
    if (moment->is_idle()) {
      end = DrainEnd::kIdle;
    } else {
      display.Show(*moment);
      if (clock.Now() >= deadline) end = DrainEnd::kTimedOut;
      if (!end.has_value() && !Rest(clock)) end = DrainEnd::kInterrupted;
    }
  }
  display.Clear();
  if (*end != DrainEnd::kIdle)
    words << AfterDrain(look.held(), *end == DrainEnd::kTimedOut
                                         ? "jobs are still running after --drain-timeout; "
                                         : "")
          << std::flush;
  return *end;
}

absl::Status RefuseIfUpdating(const Connection& connection, const std::vector<std::string>& nodes) {
  NodeStub stub(connection.channel());
  v1::GetStatusResponse status;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::GetStatus, v1::GetStatusRequest(), &status));
  v1::RolloutService::Stub rollouts(connection.channel());
  for (const v1::StatusWork& open : status.rollouts()) {
    v1::GetRolloutRequest request;
    request.set_rollout_id(open.id());
    v1::GetRolloutResponse response;
    RETURN_IF_ERROR(
        Call(connection, rollouts, &v1::RolloutService::Stub::GetRollout, request, &response));
    const std::string words = InHandsOf(response.rollout(), nodes);
    if (!words.empty()) return absl::FailedPreconditionError(words);
  }
  return absl::OkStatus();
}

int ExitCodeOf(DrainEnd end) {
  return end == DrainEnd::kIdle          ? kExitClean
         : end == DrainEnd::kInterrupted ? kExitDetached
                                         : kExitFailed;
}

}  // namespace muster::cli
