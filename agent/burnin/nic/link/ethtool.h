// What drivers say of their cards beyond sysfs, by the ethtool ioctl.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/nic/link/link_rules.h"

namespace muster::burnin {

struct EthtoolInfo {
  std::string driver;
  std::string driver_version;
  std::string firmware;
  // The driver's own counters, by the driver's own names; empty where it has none.
  std::map<std::string, uint64_t> statistics;
};

// Unimplemented: the driver knows nothing of ethtool. NotFound: there is no such interface.
absl::StatusOr<EthtoolInfo> ReadEthtool(absl::string_view interface);

// Frames that arrived damaged, over the names that drivers have for them; nullopt: it counts none.
// Drivers that count one thing twice ("rx_crc_errors" and "rx_crc_errors_phy") give the larger.
std::optional<uint64_t> DamagedFrames(const std::map<std::string, uint64_t>& statistics);

// A link's state and, where its driver counts them, the damaged frames of now.
LinkReading WithDamagedFrames(LinkState state);

}  // namespace muster::burnin
