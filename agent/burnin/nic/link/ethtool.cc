#include "agent/burnin/nic/link/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/unique_fd.h"

namespace muster::burnin {
namespace {

// mlx5 has about 2,000; a driver that claims far more is not believed.
constexpr uint32_t kMaxStatistics = 16384;

// Makes one request; `command` is a struct of linux/ethtool.h. Returns 0 or an errno.
int Ask(int socket, absl::string_view interface, void* command) {
  ifreq request = {};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(command);
  return ioctl(socket, SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

std::string Text(const char* field, size_t size) {
  return std::string(field, strnlen(field, size));
}

// Space for a struct with an array at its end, as large as requested.
template <typename T>
T* Place(std::vector<uint64_t>& memory, size_t extra_bytes) {
  memory.assign((sizeof(T) + extra_bytes + 7) / 8, 0);
  return reinterpret_cast<T*>(memory.data());
}

uint32_t CountStatistics(int socket, absl::string_view interface) {
  std::vector<uint64_t> memory;
  auto* info = Place<ethtool_sset_info>(memory, sizeof(uint32_t));
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = uint64_t{1} << ETH_SS_STATS;
  if (Ask(socket, interface, info) != 0 || info->sset_mask == 0) return 0;
  return std::min(info->data[0], kMaxStatistics);
}

std::map<std::string, uint64_t> ReadStatistics(int socket, absl::string_view interface) {
  const uint32_t count = CountStatistics(socket, interface);
  if (count == 0) return {};
  std::vector<uint64_t> name_memory;
  auto* names = Place<ethtool_gstrings>(name_memory, size_t{count} * ETH_GSTRING_LEN);
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_STATS;
  names->len = count;
  std::vector<uint64_t> value_memory;
  auto* values = Place<ethtool_stats>(value_memory, size_t{count} * sizeof(uint64_t));
  values->cmd = ETHTOOL_GSTATS;
  values->n_stats = count;
  if (Ask(socket, interface, names) != 0 || Ask(socket, interface, values) != 0) return {};
  std::map<std::string, uint64_t> statistics;
  for (uint32_t i = 0; i < std::min({count, names->len, values->n_stats}); ++i) {
    const auto* name = reinterpret_cast<const char*>(names->data) + size_t{i} * ETH_GSTRING_LEN;
    statistics[Text(name, ETH_GSTRING_LEN)] = values->data[i];
  }
  return statistics;
}

}  // namespace

absl::StatusOr<EthtoolInfo> ReadEthtool(absl::string_view interface) {
  const sys::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return ErrnoStatus(errno, "opening a socket");
  ethtool_drvinfo driver = {};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (const int error = Ask(socket.get(), interface, &driver); error != 0) {
    const std::string what = absl::StrCat("asking ", interface, " for its driver");
    if (error == ENODEV) return absl::NotFoundError(what);
    if (error == EOPNOTSUPP) return absl::UnimplementedError(what);
    return ErrnoStatus(error, what);
  }
  return EthtoolInfo{.driver = Text(driver.driver, sizeof driver.driver),
                     .driver_version = Text(driver.version, sizeof driver.version),
                     .firmware = Text(driver.fw_version, sizeof driver.fw_version),
                     .statistics = ReadStatistics(socket.get(), interface)};
}

std::optional<uint64_t> DamagedFrames(const std::map<std::string, uint64_t>& statistics) {
  std::optional<uint64_t> most;
  for (const auto& [name, value] : statistics) {
    // rx_crc_errors, rx_crc_errors_phy, port.rx_crc_errors, rx_fcs_errors, rx_crc_error,
    // rx_align_code_errors; queues count the frames that the card passed on, not those that it
    // dropped.
    const bool received = absl::StrContains(name, "rx");
    const bool damaged = absl::StrContains(name, "crc_err") || absl::StrContains(name, "fcs_err") ||
                         absl::StrContains(name, "align_code_err");
    if (received && damaged) most = std::max(most.value_or(0), value);
  }
  return most;
}

LinkReading WithDamagedFrames(LinkState state) {
  LinkReading reading{.state = std::move(state), .damaged_frames = std::nullopt};
  if (const absl::StatusOr<EthtoolInfo> info = ReadEthtool(reading.state.name); info.ok())
    reading.damaged_frames = DamagedFrames(info->statistics);
  return reading;
}

}  // namespace muster::burnin
