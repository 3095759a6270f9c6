// nic-link: each link is as it should be, and stays so while it is watched.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/ethtool.h"
#include "agent/burnin/nic/link/link_identity.h"
#include "agent/burnin/nic/link/link_rules.h"
#include "agent/burnin/nic/link/link_state.h"
#include "agent/burnin/nic/nic_checks.h"
#include "agent/burnin/nic/transport/socket.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/lldp_neighbors.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kLinkLook = absl::Milliseconds(200);

// Adds the port as a subject.
LinkIdentity Describe(const LinkState& state, const sys::LldpNeighbors& neighbors,
                      CheckResult& result) {
  Subject subject = NicSubject(state);
  LinkIdentity identity{.name = state.name};
  if (const absl::StatusOr<EthtoolInfo> info = ReadEthtool(state.name); info.ok()) {
    if (subject.model.empty()) subject.model = info->driver;
    subject.attributes["driver_version"] = info->driver_version;
    subject.attributes["firmware_version"] = identity.firmware = info->firmware;
  }
  if (const auto it = neighbors.find(state.name); it != neighbors.end()) {
    subject.attributes["neighbor"] = it->second.system;
    subject.attributes["neighbor_port"] = it->second.port;
    identity.neighbors = it->second.names;
  }
  identity.driver = subject.model;
  result.subjects.push_back(std::move(subject));
  return identity;
}

// True: it watched for the whole time.
bool WatchFor(CheckContext& context, absl::Duration duration) {
  const Moment start = Monotonic::now();
  for (;;) {
    const double fraction =
        SecondsBetween(start, Monotonic::now()) / absl::ToDoubleSeconds(duration);
    if (fraction >= 1) return true;
    if (context.reporter.stopping()) return false;
    context.reporter.SetPhase("watching the links", fraction);
    context.clock.Sleep(std::min(kLinkLook, duration * (1 - fraction)));
  }
}

}  // namespace

CheckResult RunNicLink(CheckContext& context) {
  std::vector<std::string> names = context.parameters.Words("interfaces");
  const bool named = !names.empty();
  if (!named) {
    absl::StatusOr<std::vector<std::string>> physical = PhysicalInterfaces(context.files);
    if (!physical.ok()) return Unknown(std::string(physical.status().message()));
    names = *std::move(physical);
    if (names.empty()) return Skipped("there is no network card");
  }
  const LinkExpectation expectation{.speed_mbits = context.parameters.OptionalNumber("speed"),
                                    .mtu = context.parameters.OptionalNumber("mtu"),
                                    .must_be_up = named};
  const IdentityExpectation expected_identity{.driver = context.parameters.Word("driver"),
                                              .firmware = context.parameters.Words("firmware"),
                                              .neighbors = context.parameters.Words("neighbors")};
  CheckResult result;
  std::vector<LinkReading> before;
  for (const std::string& name : names) {
    absl::StatusOr<LinkState> state = ReadLinkState(context.files, name);
    if (state.ok()) {
      // A port that nobody named and that nothing is plugged into is not a fault.
      if (named || state->carrier == true) before.push_back(WithDamagedFrames(*state));
    } else if (named && absl::IsNotFound(state.status())) {
      AddFault(result, "missing_device", name, std::string(state.status().message()));
    } else {
      AddUnknown(result, state.status().message());
    }
  }
  if (!named && before.empty()) AddUnknown(result, "no network card has a link");
  const sys::LldpNeighbors neighbors =
      sys::ReadLldpNeighbors(context.processes).value_or(sys::LldpNeighbors());
  if (!before.empty() && !WatchFor(context, absl::Seconds(context.parameters.Number("duration"))))
    return Unknown("stopped before the end");
  for (const LinkReading& reading : before) {
    const std::string& name = reading.state.name;
    JudgeIdentity(Describe(reading.state, neighbors, result), expected_identity, result);
    const absl::StatusOr<LinkState> state = ReadLinkState(context.files, name);
    if (state.ok()) {
      JudgeLink(reading, WithDamagedFrames(*state), expectation, result);
    } else {
      AddFault(result, "missing_device", name, absl::StrCat(name, " disappeared during the test"));
    }
  }
  if (!neighbors.empty()) result.tools.push_back("lldpcli");
  return result;
}

}  // namespace muster::burnin
