#include "common/value/ethernet_ports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "muster/v1/facts.pb.h"

namespace muster {
namespace {

constexpr absl::string_view kForm = "xx:xx:xx:xx:xx:xx";
constexpr absl::string_view kNone = "00:00:00:00:00:00";

bool IsMac(absl::string_view text) {
  return text != kNone &&
         std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
           return form == 'x' ? absl::ascii_isxdigit(static_cast<unsigned char>(c)) : c == form;
         });
}

}  // namespace

std::vector<std::string> PciEthernetMacs(const v1::Facts& facts) {
  std::vector<std::string> macs;
  for (const v1::NicFacts& nic : facts.nics()) {
    if (nic.kind() != "ethernet" || nic.pci_address().empty() || !IsMac(nic.mac())) continue;
    std::string mac = absl::AsciiStrToLower(nic.mac());
    if (std::find(macs.begin(), macs.end(), mac) != macs.end()) continue;
    macs.push_back(std::move(mac));
    if (macs.size() == kMaxPciPorts) break;
  }
  return macs;
}

}  // namespace muster
