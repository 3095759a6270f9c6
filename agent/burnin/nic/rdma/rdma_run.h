// perftest between two nodes, each side started when the other is ready.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"
#include "agent/burnin/nic/link/link_watch.h"
#include "agent/burnin/nic/pair/pair_session.h"
#include "agent/burnin/nic/rdma/rdma_device.h"
#include "agent/burnin/nic/transport/control.h"
#include "agent/burnin/result.h"
#include "common/sys/process/process.h"

namespace muster::burnin {

// Measures ports one after the other, on both nodes alike. All references must outlive it.
class RdmaRun {
 public:
  RdmaRun(CheckContext& context, PairSession& session, Control& control, LinkWatch& link)
      : context_(context), session_(session), control_(control), link_(link) {}

  // Measures the rates both ways and the latency of this port with one of the partner's, as metrics
  // with `variant`. `before` and `ports` count all ports to be measured, for the phase. Internal:
  // perftest failed with this port, on both nodes; the next one may be tried. Other errors end the
  // session.
  absl::Status Measure(const RdmaPort& port, const std::string& variant, size_t before,
                       size_t ports, CheckResult& result);

 private:
  // One run of perftest, by the measuring side.
  struct Step {
    absl::string_view words;
    int client;
    bool latency;
  };
  static constexpr Step kSteps[] = {{"rate from the first to the second", 0, false},
                                    {"rate from the second to the first", 1, false},
                                    {"latency", 0, true}};

  std::vector<std::string> Arguments(const Step& step, const RdmaPort& port, int tcp_port) const;
  absl::StatusOr<std::vector<double>> Server(const Step& step, const RdmaPort& port);
  absl::StatusOr<std::vector<double>> Client(const Step& step, const RdmaPort& port);
  absl::StatusOr<std::vector<double>> RunClient(const Step& step, const RdmaPort& port,
                                                int tcp_port);
  // Runs perftest and watches meanwhile. Internal: it could not be run, or the port has gone down.
  absl::StatusOr<sys::ProcessResult> RunPerftest(const std::vector<std::string>& argv,
                                                 const RdmaPort& port, bool is_server);
  absl::Duration TimeLimit() const;
  // Finds out how perftest reaches the partner, once. Internal: it cannot.
  absl::Status FindPartner();

  CheckContext& context_;
  PairSession& session_;
  Control& control_;
  LinkWatch& link_;
  // The partner's IP address in the connection between the workers: both sides see one family. "":
  // not known yet.
  std::string partner_;
  size_t number_ = 0;  // of the step, over all ports: both nodes count alike
};

}  // namespace muster::burnin
