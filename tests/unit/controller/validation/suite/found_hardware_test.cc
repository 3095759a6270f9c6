#include "controller/validation/suite/found_hardware.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

void AddPort(const char* name, const char* kind, bool up, const char* driver, v1::Facts& facts) {
  v1::NicFacts& nic = *facts.add_nics();
  nic.set_name(name);
  nic.set_kind(kind);
  nic.set_up(up);
  nic.set_driver(driver);
}

TEST(FoundHardware, IsWhatTheFactsSay) {
  v1::Facts facts;
  EXPECT_EQ(FoundOn(facts).gpus, 0);
  EXPECT_FALSE(FoundOn(facts).nics);
  facts.add_gpus();
  facts.add_gpus();
  AddPort("br0", "ethernet", true, "", facts);  // a bridge is not a card
  EXPECT_TRUE(FoundOn(facts).nics);
  EXPECT_EQ(FoundOn(facts).sole_port, "");
  AddPort("eth0", "ethernet", true, "ixgbe", facts);
  AddPort("eth1", "ethernet", false, "ixgbe", facts);
  EXPECT_EQ(FoundOn(facts).sole_port, "eth0");
  EXPECT_FALSE(FoundOn(facts).rdma);
  AddPort("ib0", "infiniband", true, "mlx4_core", facts);
  EXPECT_EQ(FoundOn(facts).gpus, 2);
  EXPECT_THAT(FoundOn(facts).gpu_power_limits, ::testing::IsEmpty());
  facts.mutable_gpus(0)->set_power_limit_watts(250);
  EXPECT_THAT(FoundOn(facts).gpu_power_limits, ::testing::IsEmpty());  // of one of two
  facts.mutable_gpus(1)->set_power_limit_watts(200);
  EXPECT_THAT(FoundOn(facts).gpu_power_limits, ::testing::ElementsAre(250, 200));
  EXPECT_TRUE(FoundOn(facts).rdma);
  EXPECT_EQ(FoundOn(facts).sole_port, "");
}

TEST(FoundHardware, ThePortToTheManagementControllerIsNoCard) {
  for (const char* card : {"ixgbe", "virtio_net", "hv_netvsc"}) {
    v1::Facts facts;
    AddPort("eth0", "ethernet", true, card, facts);
    AddPort("enx0", "ethernet", true, "cdc_ether", facts);
    AddPort("usb0", "ethernet", true, "rndis_host", facts);
    EXPECT_EQ(FoundOn(facts).sole_port, "eth0") << card;
  }
}

TEST(FoundHardware, InfinibandNeedsNoNetworkInterface) {
  v1::Facts facts;
  AddPort("ib0", "infiniband", false, "mlx5_core", facts);
  EXPECT_FALSE(FoundOn(facts).rdma);
  facts.set_infiniband_ports(1);
  EXPECT_TRUE(FoundOn(facts).rdma);
  facts.mutable_os()->set_virtualization("systemd-nspawn");
  EXPECT_FALSE(FoundOn(facts).rdma);
}

TEST(FoundHardware, KnowsContainersByWhatTheyRunIn) {
  v1::Facts facts;
  for (const char* machine : {"", "none", "kvm", "vmware"}) {
    facts.mutable_os()->set_virtualization(machine);
    EXPECT_FALSE(FoundOn(facts).container) << machine;
  }
  for (const char* container : {"systemd-nspawn", "lxc", "docker", "podman"}) {
    facts.mutable_os()->set_virtualization(container);
    EXPECT_TRUE(FoundOn(facts).container) << container;
  }
}

TEST(FoundHardware, CardsThatNoDriverKnowsAreFoundToo) {
  v1::Facts facts;
  const auto add = [&](const char* vendor, const char* kind) {
    v1::PciDeviceFacts& device = *facts.add_pci_devices();
    device.set_vendor_id(vendor);
    device.set_class_code(kind);
  };
  add("10de", "030200");
  add("10de", "030000");
  add("10de", "040300");  // a card's sound device
  add("10de", "068000");  // an NVSwitch
  add("15b3", "020700");
  EXPECT_EQ(FoundOn(facts).gpu_cards, 2);
  EXPECT_EQ(UnpackFound(PackFound(FoundOn(facts)))->gpu_cards, 2);
  // The kernel shows containers the host's devices.
  facts.mutable_os()->set_virtualization("systemd-nspawn");
  EXPECT_EQ(FoundOn(facts).gpu_cards, 0);
}

TEST(FoundHardware, ComesBackFromTheStore) {
  FoundHardware found;
  found.container = true;
  found.gpus = 4;
  found.gpu_power_limits = {250, 250};
  found.nics = true;
  found.sole_port = "eth0";
  const FoundHardware back = UnpackFound(PackFound(found)).value();
  EXPECT_EQ(back.gpus, 4);
  EXPECT_THAT(back.gpu_power_limits, ::testing::ElementsAre(250, 250));
  EXPECT_TRUE(back.nics);
  EXPECT_FALSE(back.rdma);
  EXPECT_EQ(back.sole_port, "eth0");
  EXPECT_TRUE(back.container);
  // A node with nothing differs from one of which nothing was stored.
  EXPECT_TRUE(UnpackFound(PackFound(FoundHardware())).has_value());
  EXPECT_FALSE(UnpackFound("").has_value());
  EXPECT_FALSE(UnpackFound("\xff damaged").has_value());
}

TEST(FoundHardware, NamesWhatChanged) {
  FoundHardware then, now;
  EXPECT_EQ(DescribeChange(then, now), "");
  now.gpu_uuids = "GPU-1";
  EXPECT_EQ(DescribeChange(then, now), "") << "nobody had looked";
  then.kernel = now.kernel = "6.1";
  EXPECT_EQ(DescribeChange(then, now), "GPU-1 is new");
  now.kernel = "6.12";
  EXPECT_EQ(DescribeChange(then, now), "GPU-1 is new; kernel 6.1 at its start, 6.12 at its end");
  EXPECT_EQ(DescribeChange(*UnpackFound(PackFound(then)), now), DescribeChange(then, now));
}

}  // namespace
}  // namespace muster::controller::validation
