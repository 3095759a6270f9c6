// One phase of traffic between two nodes: in one direction or both at once, for a fixed time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/burnin/nic/pair/pair_session.h"
#include "agent/burnin/nic/transport/control.h"
#include "agent/burnin/nic/transport/traffic.h"

namespace muster::burnin {

// The parameters that both sides must share.
struct PhasePlan {
  uint32_t phase = 0;  // unique
  bool send = false;
  bool receive = false;
  int streams = 1;
  absl::Duration warmup;  // not measured: connections grow into their windows
  absl::Duration duration;
  SendMethod method = SendMethod::kAuto;
};

struct PhaseRates {
  double received_gbits = 0;     // measured here
  double sent_gbits = 0;         // measured by the partner: the part that arrived
  TrafficSender::Totals totals;  // of the data that was sent
};

// If nothing moves for this long, the connection is dead, whatever TCP still hopes for.
inline constexpr absl::Duration kStallTime = absl::Seconds(5);

// Called about ten times a second with the rates since the last call, in Gbit/s. An error ends the
// phase.
using PhaseWatch = std::function<absl::Status(double received_gbits, double sent_gbits)>;

// Unavailable: the partner or the path to it is lost.
absl::StatusOr<PhaseRates> RunPhase(PairSession& session, Control& control, const PhasePlan& plan,
                                    const PhaseWatch& watch);

}  // namespace muster::burnin
