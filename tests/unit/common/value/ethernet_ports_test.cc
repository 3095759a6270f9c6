#include "common/value/ethernet_ports.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_format.h"
#include "muster/v1/facts.pb.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

void AddNic(v1::Facts& facts, const std::string& mac, const std::string& pci_address,
            const std::string& kind = "ethernet") {
  v1::NicFacts& nic = *facts.add_nics();
  nic.set_mac(mac);
  nic.set_kind(kind);
  nic.set_pci_address(pci_address);
}

TEST(EthernetPortsTest, AreThoseOfThePciBus) {
  v1::Facts facts;
  AddNic(facts, "0C:42:a1:00:12:01", "0000:3b:00.0");
  AddNic(facts, "0c:42:a1:00:12:02", "0000:3b:00.1");
  AddNic(facts, "0c:42:a1:00:12:01", "0000:3b:00.2");  // said before
  AddNic(facts, "be:3a:f2:b6:05:9f", "");              // of a BMC, on USB
  AddNic(facts, "00:00:10:29:fe:80:00:00:00:00:00:00", "0000:5e:00.0", "infiniband");
  EXPECT_THAT(PciEthernetMacs(facts), ElementsAre("0c:42:a1:00:12:01", "0c:42:a1:00:12:02"));
}

TEST(EthernetPortsTest, AreAddressesWhateverAMachineTells) {
  v1::Facts facts;
  for (const char* bad : {"", "00:00:00:00:00:00", "0c:42:a1:00:12", "0c:42:a1:00:12:0g",
                          "0c-42-a1-00-12-01", "0c:42:a1:00:12:01:02", "\"], x: [\"a:bb:cc"})
    AddNic(facts, bad, "0000:3b:00.0");
  EXPECT_THAT(PciEthernetMacs(facts), SizeIs(0));
  for (unsigned i = 0; i < 2000; ++i)
    AddNic(facts, absl::StrFormat("0c:42:a1:00:%02x:%02x", i / 256, i % 256), "0000:3b:00.0");
  EXPECT_THAT(PciEthernetMacs(facts), SizeIs(kMaxPciPorts));
}

}  // namespace
}  // namespace muster
