// What drivers report about their cards beyond sysfs, by the ethtool ioctl.
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
  // The driver's own counters, under its own names; empty if it has none.
  std::map<std::string, uint64_t> statistics;
};

// Unimplemented: the driver does not support ethtool. NotFound: there is no such interface.
absl::StatusOr<EthtoolInfo> ReadEthtool(absl::string_view interface);

// Frames that arrived damaged, whatever drivers call them; nullopt: the driver does not count them.
// If a driver counts one thing twice ("rx_crc_errors" and "rx_crc_errors_phy"), the larger counts.
std::optional<uint64_t> DamagedFrames(const std::map<std::string, uint64_t>& statistics);

// A link's state and, if its driver counts them, the number of damaged frames now.
LinkReading WithDamagedFrames(LinkState state);

}  // namespace muster::burnin
