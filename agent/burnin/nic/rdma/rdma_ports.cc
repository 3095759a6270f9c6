#include "agent/burnin/nic/rdma/rdma_ports.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::burnin {
namespace {

constexpr absl::string_view kInfiniBand = "InfiniBand";

bool Has(const std::vector<size_t>& places, size_t place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace

absl::StatusOr<std::vector<size_t>> ActivePorts(const std::vector<RdmaPort>& ports,
                                                absl::string_view device) {
  const bool only_infiniband =
      device.empty() && std::any_of(ports.begin(), ports.end(), [](const RdmaPort& port) {
        return port.link_layer == kInfiniBand;
      });
  bool found = false;
  std::vector<size_t> active;
  for (size_t i = 0; i < ports.size() && active.size() < kMostPorts; ++i) {
    if (!device.empty() && ports[i].device != device) continue;
    found = true;
    if (only_infiniband && ports[i].link_layer != kInfiniBand) continue;
    if (ports[i].active) active.push_back(i);
  }
  if (!active.empty()) return active;
  if (!found) return absl::NotFoundError(absl::StrCat("no RDMA device ", device));
  return absl::FailedPreconditionError(absl::StrCat(
      device.empty() ? "no RDMA device" : device, " has ", device.empty() ? "an" : "no",
      " active port: check cable, switch and subnet manager"));
}

std::string PortName(const RdmaPort& port) {
  return port.port == 1 ? port.device : absl::StrCat(port.device, "/", port.port);
}

std::vector<PortMatch> MatchPorts(const std::vector<size_t>& first,
                                  const std::vector<size_t>& second) {
  std::vector<PortMatch> matches;
  if (first.empty() || second.empty()) return matches;
  for (const size_t place : first)
    if (Has(second, place)) matches.push_back({place, place});
  size_t next = 0;
  for (const size_t place : first)
    if (!Has(second, place)) matches.push_back({place, second[next++ % second.size()]});
  next = 0;
  for (const size_t place : second) {
    const bool matched =
        std::any_of(matches.begin(), matches.end(),
                    [place](const PortMatch& match) { return match.second == place; });
    if (!matched) matches.push_back({first[next++ % first.size()], place});
  }
  return matches;
}

}  // namespace muster::burnin
