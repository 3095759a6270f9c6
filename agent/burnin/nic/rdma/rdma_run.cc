#include "agent/burnin/nic/rdma/rdma_run.h"

#include <poll.h>

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/rdma/perftest.h"
#include "agent/burnin/nic/rdma/rdma_ports.h"
#include "agent/burnin/tool.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// Time that the programs need besides the test itself: memory is registered, queues are connected.
constexpr absl::Duration kSetupTime = absl::Seconds(30);
// A server takes a moment until it listens and does not announce it: the client retries.
constexpr int kClientTries = 20;
constexpr absl::Duration kClientPause = absl::Milliseconds(250);
constexpr absl::Duration kHelpTime = absl::Seconds(5);
constexpr absl::Duration kRunAnswerTime = absl::Seconds(15);
// Time for a server to end after its client: one whose client never came waits for ever.
constexpr double kServerEndsSeconds = 3;
// Small enough for the card to send it with the request itself.
constexpr absl::string_view kLatencyBytes = "8";
// Without it perftest speaks IPv4 alone; both sides need it. perftest 4.5 does not have it.
constexpr absl::string_view kOverIpv6 = "--ipv6-addr";

bool IsIpv6(absl::string_view address) { return absl::StrContains(address, ":"); }

// The conditions that are watched while perftest runs; for one thread.
class TransferWatch {
 public:
  TransferWatch(sys::FileSystem& files, LinkWatch& link, const RdmaPort& port, int control,
                bool is_server)
      : files_(files), link_(link), port_(port), control_(control), is_server_(is_server) {}

  // Why the program has to end; Internal: only because of this port or run.
  absl::Status Look() {
    RETURN_IF_ERROR(link_.Look());
    const Moment now = Monotonic::now();
    if (IsActive(files_, port_)) {
      down_since_.reset();
    } else if (!down_since_.has_value()) {
      down_since_ = now;
    } else if (SecondsBetween(*down_since_, now) >= absl::ToDoubleSeconds(LinkWatch::kPatience)) {
      return absl::InternalError(absl::StrCat("the link of ", PortName(port_), " is down"));
    }
    // The client reports its result when its program has ended; a server says nothing meanwhile.
    pollfd spoken = {control_, POLLIN, 0};
    if (::poll(&spoken, 1, 0) <= 0) return absl::OkStatus();
    if (!is_server_) return absl::UnavailableError("it closed the connection early");
    if (!spoke_at_.has_value()) spoke_at_ = now;
    if (SecondsBetween(*spoke_at_, now) < kServerEndsSeconds) return absl::OkStatus();
    return absl::InternalError("perftest continued after the partner's had ended");
  }

 private:
  sys::FileSystem& files_;
  LinkWatch& link_;
  const RdmaPort& port_;
  const int control_;
  const bool is_server_;
  std::optional<Moment> down_since_, spoke_at_;
};

// CheckSuccess() has DeadlineExceeded for a program, which here would mean the partner.
absl::Status Failed(const std::vector<std::string>& argv, absl::Duration timeout,
                    const sys::ProcessResult& done) {
  const absl::Status status = sys::CheckSuccess({.argv = argv, .timeout = timeout}, done);
  return status.ok() ? status : absl::InternalError(status.message());
}

}  // namespace

absl::Status RdmaRun::Measure(const RdmaPort& port, const std::string& variant, size_t before,
                              size_t ports, CheckResult& result) {
  const std::string name = PortName(port);
  for (size_t i = 0; i < std::size(kSteps); ++i) {
    const Step& step = kSteps[i];
    const size_t all = ports * std::size(kSteps);
    context_.reporter.SetPhase(
        ports == 1 ? std::string(step.words) : absl::StrCat(name, ": ", step.words),
        static_cast<double>(before * std::size(kSteps) + i) / static_cast<double>(all));
    if (session_.stopping()()) return absl::CancelledError("stopped");
    ++number_;
    const bool is_client = context_.rank == step.client;
    ASSIGN_OR_RETURN(const std::vector<double> values,
                     is_client ? Client(step, port) : Server(step, port));
    if (step.latency && values.size() == 3) {
      AddMetric(result, "write_latency", variant, name, values[0]);
      AddMetric(result, "write_latency_p99", variant, name, values[1]);
      AddMetric(result, "write_latency_p999", variant, name, values[2]);
    } else if (!step.latency && values.size() == 1) {
      AddMetric(result, is_client ? "write_send_gbits" : "write_receive_gbits", variant, name,
                values[0]);
    } else {
      AddUnknown(result, absl::StrCat("the partner did not send its ", step.words));
    }
  }
  return absl::OkStatus();
}

absl::Duration RdmaRun::TimeLimit() const {
  return absl::Seconds(static_cast<int>(context_.parameters.Number("duration"))) + kSetupTime;
}

std::vector<std::string> RdmaRun::Arguments(const Step& step, const RdmaPort& port,
                                            int tcp_port) const {
  const checks::Parameters& parameters = context_.parameters;
  std::vector<std::string> argv = {step.latency ? "ib_write_lat" : "ib_write_bw",
                                   "-d",
                                   port.device,
                                   "-i",
                                   absl::StrCat(port.port),
                                   "-p",
                                   absl::StrCat(tcp_port),
                                   "-F"};
  const auto add = [&argv](std::initializer_list<std::string> words) {
    argv.insert(argv.end(), words);
  };
  if (IsIpv6(partner_)) add({std::string(kOverIpv6)});
  if (const std::string& gid = parameters.texts().at("gid-index"); !gid.empty()) add({"-x", gid});
  if (step.latency) {
    add({"-n", absl::StrCat(static_cast<int>(parameters.Number("iterations"))), "-s",
         std::string(kLatencyBytes)});
  } else {
    add({"--report_gbits", "-D", absl::StrCat(static_cast<int>(parameters.Number("duration"))),
         "-s", absl::StrCat(static_cast<int64_t>(parameters.Number("message-size")))});
  }
  return argv;
}

absl::Status RdmaRun::FindPartner() {
  if (!partner_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Endpoint partner, RemoteEndpoint(control_.fd()));
  if (IsIpv6(partner.address)) {
    bool takes_it = false;
    const auto help = RunTool(context_, {"ib_write_bw", "--help"}, kHelpTime, "perftest",
                              {.on_line = [&takes_it](absl::string_view line) {
                                takes_it = takes_it || absl::StrContains(line, kOverIpv6);
                              }});
    if (!help.ok()) return absl::InternalError(help.status().message());
    if (!takes_it)
      return absl::InternalError(absl::StrCat(
          "perftest of this node has no ", kOverIpv6, " to reach ", partner.address,
          ": give both nodes IPv4 addresses in the inventory, or install a newer perftest"));
  }
  partner_ = partner.address;
  return absl::OkStatus();
}

absl::StatusOr<sys::ProcessResult> RdmaRun::RunPerftest(const std::vector<std::string>& argv,
                                                        const RdmaPort& port, bool is_server) {
  TransferWatch watch(context_.files, link_, port, control_.fd(), is_server);
  absl::Status seen;  // owned by the tool's watching thread until it has ended
  const auto done = RunTool(context_, argv, TimeLimit(), "perftest", {.must_end = [&] {
                              seen = watch.Look();
                              return !seen.ok();
                            }});
  if (session_.stopping()()) return absl::CancelledError("stopped");
  RETURN_IF_ERROR(seen);
  if (!done.ok()) return absl::InternalError(done.status().message());
  return done;
}

// The program's own port is not authenticated: it is open only during one run, at the announced
// address.
absl::StatusOr<std::vector<double>> RdmaRun::Server(const Step& step, const RdmaPort& port) {
  const absl::Status partner = FindPartner();  // the client hears of an error as of any other
  int tcp_port = 0;
  {
    ASSIGN_OR_RETURN(const sys::UniqueFd free, Listen({}, 1));
    ASSIGN_OR_RETURN(const Endpoint endpoint, LocalEndpoint(free.get()));
    tcp_port = endpoint.port;
  }
  RETURN_IF_ERROR(control_.Send(
      {FrameType::kGo, {static_cast<double>(number_), static_cast<double>(tcp_port)}}));
  const std::vector<std::string> argv = Arguments(step, port, tcp_port);
  const auto done = partner.ok() ? RunPerftest(argv, port, /*is_server=*/true)
                                 : absl::StatusOr<sys::ProcessResult>(partner);
  if (!done.ok() && !absl::IsInternal(done.status())) return done.status();
  // The client knows more about a failure.
  ASSIGN_OR_RETURN(const Frame frame,
                   control_.Expect(FrameType::kMeasured, static_cast<uint32_t>(number_),
                                   After(kRunAnswerTime), session_.stopping()));
  if (frame.values.size() > 1)
    return std::vector<double>(frame.values.begin() + 1, frame.values.end());
  RETURN_IF_ERROR(done.status());
  RETURN_IF_ERROR(Failed(argv, TimeLimit(), *done));
  return absl::InternalError("perftest failed on the partner, which reports the cause");
}

absl::StatusOr<std::vector<double>> RdmaRun::Client(const Step& step, const RdmaPort& port) {
  ASSIGN_OR_RETURN(const Frame go, control_.Expect(FrameType::kGo, static_cast<uint32_t>(number_),
                                                   After(kRunAnswerTime), session_.stopping()));
  const double tcp_port = go.value(1);
  if (!(tcp_port >= 1 && tcp_port <= 65535))
    return absl::InvalidArgumentError("the partner did not send a port");
  absl::StatusOr<std::vector<double>> values = RunClient(step, port, static_cast<int>(tcp_port));
  if (!values.ok() && !absl::IsInternal(values.status())) return values.status();
  Frame answer{FrameType::kMeasured, {static_cast<double>(number_)}};
  if (values.ok()) answer.values.insert(answer.values.end(), values->begin(), values->end());
  RETURN_IF_ERROR(control_.Send(answer));
  return values;
}

absl::StatusOr<std::vector<double>> RdmaRun::RunClient(const Step& step, const RdmaPort& port,
                                                       int tcp_port) {
  RETURN_IF_ERROR(FindPartner());
  std::vector<std::string> argv = Arguments(step, port, tcp_port);
  argv.push_back(partner_);
  sys::ProcessResult done;
  for (int attempt = 0; attempt < kClientTries; ++attempt) {
    if (attempt > 0) session_.Pause(kClientPause);
    ASSIGN_OR_RETURN(done, RunPerftest(argv, port, /*is_server=*/false));
    if (done.ok() || done.timed_out) break;
  }
  RETURN_IF_ERROR(Failed(argv, TimeLimit(), done));
  if (step.latency) {
    const absl::StatusOr<WriteLatency> latency = ParseWriteLatency(done.out);
    if (!latency.ok()) return absl::InternalError(latency.status().message());
    return std::vector<double>{latency->typical_us, latency->p99_us, latency->p999_us};
  }
  const absl::StatusOr<double> gbits = ParseWriteBandwidth(done.out);
  if (!gbits.ok()) return absl::InternalError(gbits.status().message());
  return std::vector<double>{*gbits};
}

}  // namespace muster::burnin
