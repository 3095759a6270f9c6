// rdma-pair: perftest between two nodes, each side started when the other is ready.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/control.h"
#include "agent/burnin/nic/nic_checks.h"
#include "agent/burnin/nic/pair_session.h"
#include "agent/burnin/nic/perftest.h"
#include "agent/burnin/nic/rdma_device.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process.h"

namespace muster::burnin {
namespace {

// What the programs need beside the test itself: memory is registered, queues are connected.
constexpr absl::Duration kSetupTime = absl::Seconds(30);
// A server takes a moment until it listens and nobody says when: the client tries again.
constexpr int kClientTries = 20;
constexpr absl::Duration kClientPause = absl::Milliseconds(250);
constexpr absl::Duration kAnswerTime = absl::Seconds(15);
// Small enough for the card to send it with the request itself.
constexpr absl::string_view kLatencyBytes = "8";

// One run of perftest, by who measures.
struct Step {
  absl::string_view words;
  int client;
  bool latency;
};
constexpr Step kSteps[] = {{"rate from the first to the second", 0, false},
                           {"rate from the second to the first", 1, false},
                           {"latency", 0, true}};

class RdmaPair {
 public:
  RdmaPair(CheckContext& context, PairSession& session, sys::UniqueFd control, const RdmaPort& port,
           CheckResult& result)
      : context_(context),
        session_(session),
        control_(std::move(control)),
        port_(port),
        result_(result) {}

  absl::Status Run() {
    for (size_t i = 0; i < std::size(kSteps); ++i) {
      context_.reporter.SetPhase(kSteps[i].words,
                                 static_cast<double>(i) / static_cast<double>(std::size(kSteps)));
      if (session_.stopping()()) return absl::CancelledError("stopped");
      ASSIGN_OR_RETURN(const std::vector<double> values, context_.rank == kSteps[i].client
                                                             ? Client(kSteps[i], i)
                                                             : Server(kSteps[i], i));
      Take(kSteps[i], values);
    }
    return absl::OkStatus();
  }

 private:
  sys::ProcessSpec Spec(const Step& step, int port) const {
    const checks::Parameters& parameters = context_.parameters;
    const auto seconds = static_cast<int>(parameters.Number("duration"));
    sys::ProcessSpec spec{
        .argv = {step.latency ? "ib_write_lat" : "ib_write_bw", "-d", port_.device, "-i",
                 absl::StrCat(port_.port), "-p", absl::StrCat(port), "-F"},
        .timeout = absl::Seconds(seconds) + kSetupTime,
        .die_with_parent = true};
    const auto add = [&spec](std::initializer_list<std::string> words) {
      spec.argv.insert(spec.argv.end(), words);
    };
    if (const std::string& gid = parameters.texts().at("gid-index"); !gid.empty()) add({"-x", gid});
    if (step.latency) {
      add({"-n", absl::StrCat(static_cast<int>(parameters.Number("iterations"))), "-s",
           std::string(kLatencyBytes)});
    } else {
      add({"--report_gbits", "-D", absl::StrCat(seconds), "-s",
           absl::StrCat(static_cast<int64_t>(parameters.Number("message-size")))});
    }
    return spec;
  }

  // The program's own port knows no key: it is open while one run lasts, and where.
  absl::StatusOr<std::vector<double>> Server(const Step& step, size_t number) {
    int port = 0;
    {
      ASSIGN_OR_RETURN(const sys::UniqueFd free, Listen("", 1));
      ASSIGN_OR_RETURN(const Endpoint endpoint, LocalEndpoint(free.get()));
      port = endpoint.port;
    }
    RETURN_IF_ERROR(
        control_.Send({FrameType::kGo, {static_cast<double>(number), static_cast<double>(port)}}));
    const sys::ProcessSpec spec = Spec(step, port);
    ASSIGN_OR_RETURN(const sys::ProcessResult done, context_.processes.Run(spec));
    // The client knows more of a failure.
    const absl::StatusOr<Frame> frame =
        control_.Expect(FrameType::kMeasured, static_cast<uint32_t>(number), After(kAnswerTime),
                        session_.stopping());
    if (frame.ok() && frame->values.size() > 1)
      return std::vector<double>(frame->values.begin() + 1, frame->values.end());
    RETURN_IF_ERROR(frame.status());
    RETURN_IF_ERROR(Failed(spec, done));
    return absl::InternalError("perftest failed on the partner, which says why");
  }

  absl::StatusOr<std::vector<double>> Client(const Step& step, size_t number) {
    ASSIGN_OR_RETURN(const Frame go, control_.Expect(FrameType::kGo, static_cast<uint32_t>(number),
                                                     After(kAnswerTime), session_.stopping()));
    const double port = go.value(1);
    if (!(port >= 1 && port <= 65535)) return absl::InternalError("the partner named no port");
    absl::StatusOr<std::vector<double>> values = Measure(step, static_cast<int>(port));
    Frame answer{FrameType::kMeasured, {static_cast<double>(number)}};
    if (values.ok()) answer.values.insert(answer.values.end(), values->begin(), values->end());
    RETURN_IF_ERROR(control_.Send(answer));
    return values;
  }

  absl::StatusOr<std::vector<double>> Measure(const Step& step, int port) {
    sys::ProcessSpec spec = Spec(step, port);
    spec.argv.push_back(session_.endpoint(1 - context_.rank).address);
    sys::ProcessResult done;
    for (int attempt = 0; attempt < kClientTries; ++attempt) {
      if (attempt > 0) session_.Pause(kClientPause);
      if (session_.stopping()()) return absl::CancelledError("stopped");
      ASSIGN_OR_RETURN(done, context_.processes.Run(spec));
      if (done.ok() || done.timed_out) break;
    }
    RETURN_IF_ERROR(Failed(spec, done));
    if (step.latency) {
      ASSIGN_OR_RETURN(const WriteLatency latency, ParseWriteLatency(done.out));
      return std::vector<double>{latency.typical_us, latency.p99_us, latency.p999_us};
    }
    ASSIGN_OR_RETURN(const double gbits, ParseWriteBandwidth(done.out));
    return std::vector<double>{gbits};
  }

  // CheckSuccess() has DeadlineExceeded for a program, which here would stand for the partner.
  static absl::Status Failed(const sys::ProcessSpec& spec, const sys::ProcessResult& done) {
    const absl::Status status = sys::CheckSuccess(spec, done);
    return status.ok() ? status : absl::InternalError(status.message());
  }

  void Take(const Step& step, const std::vector<double>& values) {
    if (step.latency && values.size() == 3) {
      AddMetric(result_, "write_latency", "", port_.device, values[0]);
      AddMetric(result_, "write_latency_p99", "", port_.device, values[1]);
      AddMetric(result_, "write_latency_p999", "", port_.device, values[2]);
    } else if (!step.latency && values.size() == 1) {
      AddMetric(result_, step.client == context_.rank ? "write_send_gbits" : "write_receive_gbits",
                "", port_.device, values[0]);
    } else {
      AddUnknown(result_, absl::StrCat("the partner told no ", step.words));
    }
  }

  CheckContext& context_;
  PairSession& session_;
  Control control_;
  const RdmaPort& port_;
  CheckResult& result_;
};

// Metrics and faults of what went wrong on the port meanwhile.
void CompareErrors(const RdmaPort& before, sys::FileSystem& files, CheckResult& result) {
  for (const RdmaPort& now : RdmaPorts(files)) {
    if (now.device != before.device || now.port != before.port) continue;
    for (const auto& [name, value] : now.errors) {
      const auto old = before.errors.find(name);
      if (old == before.errors.end()) continue;
      AddMetric(result, "port_errors", name, before.device,
                static_cast<double>(value - old->second));
      if (name == "link_downed" && value > old->second)
        AddFault(result, "link_flapped", before.device,
                 absl::StrCat("the link of ", before.device, " went down during the test"));
    }
    if (!now.active)
      AddFault(result, "link_down", before.device,
               absl::StrCat("the link of ", before.device, " is down"));
  }
}

}  // namespace

CheckResult RunRdmaPair(CheckContext& context) {
  if (context.ranks != 2) return Unknown(absl::StrCat("it takes two nodes, not ", context.ranks));
  const std::string& device = context.parameters.Word("device");
  const std::vector<RdmaPort> ports = RdmaPorts(context.files);
  if (ports.empty() && device.empty())
    return Skipped("there is no RDMA device in /sys/class/infiniband");
  CheckResult result;
  const absl::StatusOr<RdmaPort> port = ChooseRdmaPort(ports, device);
  if (!port.ok()) {
    AddFault(result, absl::IsNotFound(port.status()) ? "missing_device" : "link_down", device,
             std::string(port.status().message()));
    return result;
  }
  const absl::StatusOr<sys::ProcessResult> version =
      context.processes.Run({.argv = {"ib_write_bw", "--version"}, .timeout = absl::Seconds(10)});
  if (!version.ok())
    return Unknown("ib_write_bw is not there: install the package perftest on the node");
  absl::StatusOr<std::unique_ptr<PairSession>> session = PairSession::Meet(context);
  if (!session.ok()) return SessionFailure(session.status(), "it did not come");
  const std::string partner = EndpointText((*session)->endpoint(1 - context.rank));
  const ChannelId channel{.purpose = Purpose::kControl, .rank = 1};
  absl::StatusOr<sys::UniqueFd> control =
      context.rank == 1 ? (*session)->ConnectTo(0, channel) : (*session)->AwaitFrom(channel);
  if (!control.ok()) return SessionFailure(control.status(), partner);
  result.tools.push_back("perftest");
  const absl::Status status =
      RdmaPair(context, **session, *std::move(control), *port, result).Run();
  if (!status.ok()) result = SessionFailure(status, partner);
  result.subjects.push_back({.id = port->device,
                             .kind = "nic",
                             .model = port->link_layer,
                             .attributes = {{"rate", port->rate}}});
  CompareErrors(*port, context.files, result);
  return result;
}

}  // namespace muster::burnin
