#include "controller/enrollment/trusted_network.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::controller {
namespace {

// Of the table's flags, ATF_COM of if_arp.h: the address is known.
constexpr uint32_t kComplete = 2;
// IP address, HW type, Flags, HW address, Mask, Device.
constexpr size_t kColumns = 6;

}  // namespace

std::optional<std::string> WhyNotByNetwork(const std::vector<IpNetwork>& trusted,
                                           const std::vector<std::string>& macs,
                                           const NetworkEvidence& evidence, absl::Time now) {
  const bool is_trusted =
      std::any_of(trusted.begin(), trusted.end(),
                  [&](const IpNetwork& network) { return network.Contains(evidence.address); });
  if (!is_trusted) return std::nullopt;
  // Ports that only root may use (ip(7)): the same MAC address has also a job on the node.
  if (evidence.port.value_or(IPPORT_RESERVED) >= IPPORT_RESERVED)
    return absl::StrCat("it asks from a port that is not below ", IPPORT_RESERVED,
                        ", so that any user of the machine may be asking");
  if (evidence.neighbor_mac.empty())
    return absl::StrCat(evidence.address,
                        " is not in the controller's own network, which so does not see its MAC "
                        "address");
  if (std::find(macs.begin(), macs.end(), evidence.neighbor_mac) == macs.end())
    return absl::StrCat(evidence.address, " has the MAC address ", evidence.neighbor_mac,
                        ", and the node has ", absl::StrJoin(macs, ", "));
  if (!evidence.boot_began_at.has_value() || now - *evidence.boot_began_at > kTrustedBootWindow)
    return absl::StrCat("it has not asked the boot server what to boot within the last ",
                        absl::FormatDuration(kTrustedBootWindow));
  if (evidence.is_connected) return std::string("a machine is connected as this node");
  if (evidence.has_tpm_on_record)
    return std::string("the node has joined by a TPM, which this machine has not shown");
  return std::string();
}

std::string NeighborMac(absl::string_view arp_table, absl::string_view address) {
  for (const absl::string_view line : absl::StrSplit(arp_table, '\n')) {
    const std::vector<absl::string_view> columns =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    uint32_t flags = 0;
    if (columns.size() != kColumns || columns[0] != address) continue;
    if (!absl::SimpleHexAtoi(columns[2], &flags) || (flags & kComplete) == 0) continue;
    return absl::AsciiStrToLower(columns[3]);
  }
  return "";
}

}  // namespace muster::controller
