// rdma-pair: the RDMA ports of two nodes, measured one after the other.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/link_watch.h"
#include "agent/burnin/nic/nic_checks.h"
#include "agent/burnin/nic/pair/pair_session.h"
#include "agent/burnin/nic/rdma/rdma_device.h"
#include "agent/burnin/nic/rdma/rdma_ports.h"
#include "agent/burnin/nic/rdma/rdma_run.h"
#include "agent/burnin/nic/transport/control.h"
#include "agent/burnin/tool.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/health/infiniband.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kRdmaAnswerTime = absl::Seconds(15);

// A good link has at most 120 symbol errors an hour (InfiniBand Architecture Specification, bit
// error rate). A test of half a minute has one of these; a few may come at once.
constexpr double kSymbolErrorsAtOnce = 10;
constexpr double kSymbolErrorsPerHour = 120;

void JudgeCounter(const std::string& name, const std::string& counter, int64_t before, int64_t now,
                  double seconds, CheckResult& result) {
  const int64_t growth = now - before;
  if (counter == "link_downed" && growth > 0)
    AddFault(result, "link_flapped", name,
             absl::StrCat("the link of ", name, " went down during the test"));
  else if (counter == "link_error_recovery" && growth > 0)
    AddFault(result, "link_flapped", name,
             absl::StrCat("the link of ", name, " recovered from errors ", Counted(growth, "time"),
                          " during the test: check the cable"));
  else if (counter == "symbol_error" &&
           static_cast<double>(growth) >
               kSymbolErrorsAtOnce + kSymbolErrorsPerHour * seconds / 3600)
    AddFault(result, "symbol_errors", name,
             absl::StrCat(name, " had ", Counted(growth, "symbol error"),
                          " during the test: check the cable"));
  if (muster::health::HasStopped(counter, now))
    AddUnknown(result, absl::StrCat(counter, " of ", name, " is at its maximum, ", now,
                                    ", and counts no more errors: reset it (perfquery -R)"));
}

// Metrics and faults for errors on the port meanwhile.
void CompareErrors(const RdmaPort& before, const std::vector<RdmaPort>& after, double seconds,
                   CheckResult& result) {
  const std::string name = PortName(before);
  for (const RdmaPort& now : after) {
    if (now.device != before.device || now.port != before.port) continue;
    for (const auto& [counter, value] : now.errors) {
      const auto old = before.errors.find(counter);
      if (old == before.errors.end()) continue;
      AddMetric(result, "port_errors", counter, name, static_cast<double>(value - old->second));
      JudgeCounter(name, counter, old->second, value, seconds, result);
    }
    if (!now.active)
      AddFault(result, "link_down", name, absl::StrCat("the link of ", name, " is down"));
  }
}

// Checks the parameter `ports`. The other ports are tested nevertheless.
void JudgeCount(const std::vector<RdmaPort>& ports, const std::vector<size_t>& active,
                const checks::Parameters& parameters, CheckResult& result) {
  const double wanted = parameters.OptionalNumber("ports").value_or(0);
  if (!parameters.Word("device").empty() || static_cast<double>(active.size()) >= wanted) return;
  std::string down;
  for (const RdmaPort& port : ports)
    if (!port.active) absl::StrAppend(&down, down.empty() ? "" : ", ", PortName(port));
  AddFault(result, down.empty() ? "missing_device" : "link_down", "",
           absl::StrCat(Counted(active.size(), "RDMA port"), " of ", wanted,
                        active.size() == 1 ? " is" : " are", " active",
                        down.empty() ? "" : absl::StrCat("; down: ", down)));
}

absl::StatusOr<std::vector<PortMatch>> Agree(const CheckContext& context, Control& control,
                                             const Stopping& stopping,
                                             const std::vector<size_t>& own) {
  Frame frame{FrameType::kPorts, std::vector<double>(own.begin(), own.end())};
  RETURN_IF_ERROR(control.Send(frame));
  ASSIGN_OR_RETURN(const Frame answer, control.Expect(FrameType::kPorts, std::nullopt,
                                                      After(kRdmaAnswerTime), stopping));
  std::vector<size_t> theirs;
  for (const double place : answer.values) {
    if (!(place >= 0 && place < 1e6))
      return absl::InvalidArgumentError("the partner sent an invalid port");
    theirs.push_back(static_cast<size_t>(place));
  }
  return context.rank == 0 ? MatchPorts(own, theirs) : MatchPorts(theirs, own);
}

absl::Status MeasureAll(CheckContext& context, PairSession& session, sys::UniqueFd fd,
                        const std::vector<RdmaPort>& ports, const std::vector<size_t>& active,
                        CheckResult& result) {
  Control control(std::move(fd));
  LinkWatch link(context.files, session.own_address());
  ASSIGN_OR_RETURN(const std::vector<PortMatch> matches,
                   Agree(context, control, session.stopping(), active));
  RdmaRun run(context, session, control, link);
  for (size_t i = 0; i < matches.size(); ++i) {
    const size_t place = context.rank == 0 ? matches[i].first : matches[i].second;
    if (std::find(active.begin(), active.end(), place) == active.end())
      return absl::InternalError(
          "the partner is in another phase: both ends need equal parameters");
    // Both nodes use the same name for a measurement, since their ports have names of their own.
    const std::string variant = matches.size() == 1 ? "" : absl::StrCat(i + 1);
    const absl::Status status = run.Measure(ports[place], variant, i, matches.size(), result);
    if (status.ok()) continue;
    if (!absl::IsInternal(status)) return status;
    AddUnknown(result, absl::StrCat(PortName(ports[place]), ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace

CheckResult RunRdmaPair(CheckContext& context) {
  if (context.ranks != 2)
    return Unknown(absl::StrCat("the check needs two nodes, not ", context.ranks));
  const std::string& device = context.parameters.Word("device");
  const Moment start = Monotonic::now();
  const std::vector<RdmaPort> ports = RdmaPorts(context.files);
  if (ports.empty() && device.empty())
    return Skipped("there is no RDMA device in /sys/class/infiniband");
  CheckResult result;
  const absl::StatusOr<std::vector<size_t>> active = ActivePorts(ports, device);
  if (!active.ok()) {
    AddFault(result, absl::IsNotFound(active.status()) ? "missing_device" : "link_down", device,
             std::string(active.status().message()));
    return result;
  }
  JudgeCount(ports, *active, context.parameters, result);
  const auto version =
      RunTool(context, {"ib_write_bw", "--version"}, absl::Seconds(10), "perftest");
  if (!version.ok()) {
    AddUnknown(result, version.status().message());
    return result;
  }
  CheckResult failure;
  std::optional<NodePair> pair = MeetPartner(context, failure);
  if (!pair.has_value()) return failure;
  result.tools.push_back("perftest");
  const absl::Status status =
      MeasureAll(context, *pair->session, std::move(pair->control), ports, *active, result);
  if (!status.ok()) {
    std::vector<Fault> faults = std::move(result.faults);
    result = SessionFailure(status, pair->partner);
    result.faults = std::move(faults);
  }
  const std::vector<RdmaPort> after = RdmaPorts(context.files);
  for (const size_t place : *active) {
    const RdmaPort& port = ports[place];
    result.subjects.push_back({.id = PortName(port),
                               .kind = "nic",
                               .model = port.link_layer,
                               .attributes = {{"rate", port.rate}}});
    CompareErrors(port, after, SecondsBetween(start, Monotonic::now()), result);
  }
  return result;
}

}  // namespace muster::burnin
