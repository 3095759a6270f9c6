#include "agent/burnin/nic/link/link_state.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/ethtool.h"
#include "tests/fakes/fake_file_system.h"

namespace muster::burnin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A card in a slot, as sysfs shows it.
testing::FakeFileSystem FilesWithCard() {
  testing::FakeFileSystem files;
  const std::string net = "/sys/class/net/eth0";
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"operstate", "up"},
           {"carrier", "1"},
           {"speed", "10000"},
           {"duplex", "full"},
           {"mtu", "9000"},
           {"type", "1"},
           {"address", "b8:ce:f6:01:02:03"},
           {"carrier_changes", "2"},
           {"statistics/rx_crc_errors", "17"},
           {"device/current_link_speed", "8.0 GT/s PCIe"},
           {"device/current_link_width", "4"},
           {"device/max_link_speed", "16.0 GT/s PCIe"},
           {"device/max_link_width", "8"},
           {"device/../max_link_speed", "8.0 GT/s PCIe"},
           {"device/../max_link_width", "16"},
       })
    files.AddFile(absl::StrCat(net, "/", name), absl::StrCat(text, "\n"));
  files.AddLink(net + "/device/driver", "../../../../bus/pci/drivers/ixgbe");
  files.AddLink(net + "/device/subsystem", "../../../../bus/pci");
  return files;
}

TEST(LinkStateTest, ReadsACardInASlot) {
  testing::FakeFileSystem files = FilesWithCard();
  const absl::StatusOr<LinkState> state = ReadLinkState(files, "eth0");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->operstate, "up");
  EXPECT_EQ(state->carrier, true);
  EXPECT_EQ(state->speed_mbits, 10000);
  EXPECT_EQ(state->duplex, "full");
  EXPECT_EQ(state->mtu, 9000);
  EXPECT_EQ(state->carrier_changes, 2);
  EXPECT_EQ(state->driver, "ixgbe");
  EXPECT_EQ(state->counters.at("rx_crc_errors"), 17);
  ASSERT_TRUE(state->pcie && state->pcie_possible);
  EXPECT_EQ(state->pcie->width, 4);
  EXPECT_EQ(state->pcie->speed_gts, 8);
  EXPECT_EQ(state->pcie_possible->width, 8) << "the card's, the slot has 16";
  EXPECT_EQ(state->pcie_possible->speed_gts, 8) << "the slot's, the card can do 16";
  EXPECT_FALSE(IsLinkDown(files, "eth0"));
}

TEST(LinkStateTest, WhatCannotBeReadIsAbsent) {
  testing::FakeFileSystem files;
  files.AddFile("/sys/class/net/veth0/operstate", "down\n");
  files.AddFile("/sys/class/net/veth0/speed", "-1\n");
  const absl::StatusOr<LinkState> state = ReadLinkState(files, "veth0");
  ASSERT_TRUE(state.ok());
  EXPECT_FALSE(state->speed_mbits.has_value());
  EXPECT_FALSE(state->carrier.has_value());
  EXPECT_FALSE(state->pcie.has_value());
  EXPECT_TRUE(IsLinkDown(files, "veth0"));
  EXPECT_TRUE(IsLinkDown(files, "gone0"));
  EXPECT_TRUE(absl::IsNotFound(ReadLinkState(files, "gone0").status()));
}

TEST(LinkStateTest, RefusesNamesThatLeadElsewhere) {
  testing::FakeFileSystem files;
  for (const char* name : {"", ".", "..", "../../etc", "a/b", "averyveryverylongname"})
    EXPECT_TRUE(absl::IsInvalidArgument(ReadLinkState(files, name).status())) << name;
}

TEST(LinkStateTest, OnlyCardsCountAsHardware) {
  testing::FakeFileSystem files = FilesWithCard();
  files.AddFile("/sys/class/net/lo/type", "772\n");
  files.AddFile("/sys/class/net/veth0/type", "1\n");
  files.AddFile("/sys/class/net/ens1/type", "1\n");
  files.AddLink("/sys/class/net/ens1/device", "../../../0000:3b:00.0");
  EXPECT_THAT(*PhysicalInterfaces(files), ElementsAre("ens1"));
}

// The kernel reports half duplex for it.
TEST(LinkStateTest, TheManagementControllersUsbPortIsNoCard) {
  testing::FakeFileSystem files;
  for (const char* name : {"ens1", "enx0", "eth0"})
    files.AddFile(absl::StrCat("/sys/class/net/", name, "/type"), "1\n");
  files.AddLink("/sys/class/net/ens1/device", "../../../0000:3b:00.0");
  files.AddLink("/sys/class/net/ens1/device/subsystem", "../../../../bus/pci");
  files.AddLink("/sys/class/net/enx0/device", "../../../1-1:1.0");
  files.AddLink("/sys/class/net/enx0/device/subsystem", "../../../../../bus/usb");
  files.AddLink("/sys/class/net/eth0/device", "../../../virtio0");
  files.AddLink("/sys/class/net/eth0/device/subsystem", "../../../../bus/virtio");
  EXPECT_THAT(*PhysicalInterfaces(files), ElementsAre("ens1", "eth0"));
}

TEST(LinkStateTest, AContainersInterfacesAreThoseThatItWasGiven) {
  testing::FakeFileSystem files;
  for (const char* name : {"host0", "docker0", "veth12"})
    files.AddFile(absl::StrCat("/sys/class/net/", name, "/type"), "1\n");
  files.AddFile("/sys/class/net/lo/type", "772\n");
  files.AddFile("/sys/class/net/docker0/bridge/stp_state", "0\n");
  files.AddLink("/sys/class/net/veth12/master", "../docker0");
  EXPECT_THAT(*PhysicalInterfaces(files), IsEmpty());
  files.AddFile("/run/systemd/container", "systemd-nspawn\n");
  EXPECT_THAT(*PhysicalInterfaces(files), ElementsAre("host0"));
}

TEST(LinkStateTest, PcieSpeedsAreNumbersWithWordsBehind) {
  EXPECT_EQ(ParsePcieSpeed("2.5 GT/s PCIe"), 2.5);
  EXPECT_EQ(ParsePcieSpeed("32 GT/s"), 32);
  EXPECT_EQ(ParsePcieSpeed("Unknown"), 0);
  EXPECT_EQ(ParsePcieSpeed(""), 0);
  EXPECT_EQ(ParsePcieSpeed("-8 GT/s"), 0);
  EXPECT_EQ(ParsePcieSpeed("nan GT/s"), 0);
}

TEST(EthtoolTest, DamagedFramesGoByManyNames) {
  EXPECT_EQ(DamagedFrames({{"rx_packets", 9}, {"tx_errors", 3}}), std::nullopt);
  EXPECT_EQ(DamagedFrames({{"rx_crc_errors", 0}}), 0u);
  EXPECT_EQ(DamagedFrames({{"rx_crc_errors", 1}, {"rx_crc_errors_phy", 4}}), 4u) << "mlx5";
  EXPECT_EQ(DamagedFrames({{"port.rx_crc_errors", 5}}), 5u) << "i40e";
  EXPECT_EQ(DamagedFrames({{"rx_fcs_errors", 6}}), 6u) << "bnxt";
}

TEST(EthtoolTest, AnInterfaceThatIsNotThereHasNoDriver) {
  EXPECT_FALSE(ReadEthtool("nosuchlink0").ok());
}

}  // namespace
}  // namespace muster::burnin
