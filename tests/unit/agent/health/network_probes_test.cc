// Probes of network cards and ports of InfiniBand.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/health/probes/probe.h"
#include "tests/unit/agent/health/health_probes.h"

namespace muster::agent::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(HealthProbes, NicThatLostItsLink) {
  WriteNic("eth0", "1", 1, 0);
  WriteNic("eth1", "0", 2, 2);  // had a link since the boot
  WriteNic("eth2", "0", 0, 0);  // never had one
  WriteNic("eth3", "0", 2, 2);
  Write("/sys/class/net/eth3/flags", "0x1002\n");  // switched off
  Write("/sys/class/net/lo/type", "772\n");
  Write("/sys/class/net/docker0/type", "1\n");
  Write("/sys/class/net/docker0/flags", "0x1003\n");
  Write("/sys/class/net/docker0/carrier", "0\n");
  Write("/sys/class/net/docker0/carrier_up_count", "5\n");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), ElementsAre("nic_down eth1"));
}

TEST_F(HealthProbes, NicWhoseAdapterFellOffTheBus) {
  const auto put = [&](const std::string& name, const std::string& adapter) {
    const std::string nic = "/sys/class/net/" + name;
    const std::string slot = "/sys/bus/pci/devices/" + adapter;
    Write(nic + "/type", "1\n");
    Write(nic + "/flags", "0x1003\n");
    Write(nic + "/carrier", "1\n");
    Write(slot + "/vendor", "0x15b3\n");
    Link(slot + "/driver", root() + "/sys/bus/pci/drivers/mlx5_core");
    Link(nic + "/device", root() + slot);
  };
  Write("/sys/bus/pci/drivers/mlx5_core/new_id", "");
  for (int i = 0; i < 4; ++i) put(absl::StrCat("eth", i), absl::StrCat("0000:3b:00.", i));
  Link("/sys/bus/pci/devices/0000:3b:00.3/physfn", root() + "/sys/bus/pci/devices/0000:3b:00.0");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  for (int i = 0; i < 4; ++i)
    std::filesystem::remove_all(absl::StrCat(root(), "/sys/class/net/eth", i));
  EXPECT_THAT(Look(*probe), IsEmpty()) << "moved or renamed: the adapters are there";
  std::filesystem::remove_all(root() + "/sys/bus/pci/devices/0000:3b:00.0");
  std::filesystem::remove(root() + "/sys/bus/pci/devices/0000:3b:00.1/driver");
  std::filesystem::remove_all(root() + "/sys/bus/pci/devices/0000:3b:00.3");
  EXPECT_THAT(Look(*probe), ElementsAre("nic_down eth0", "nic_down eth1"));
}

TEST_F(HealthProbes, InAContainerTheEndOfThePairIsTheNic) {
  Write("/run/systemd/container", "systemd-nspawn\n");
  for (const char* name : {"host0", "veth1"}) {
    const std::string nic = std::string("/sys/class/net/") + name;
    Write(nic + "/type", "1\n");
    Write(nic + "/flags", "0x1003\n");
    Write(nic + "/carrier", "0\n");
    Write(nic + "/carrier_up_count", "3\n");
    Write(nic + "/iflink", "17\n");
    Write(nic + "/ifindex", "2\n");
  }
  Write("/sys/class/net/veth1/master/x", "");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), ElementsAre("nic_down host0"));
}

TEST_F(HealthProbes, NicThatIsSlowerThanBefore) {
  WriteNic("eth0", "1", 1, 0);
  Write("/sys/class/net/eth0/speed", "25000\n");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  Write("/sys/class/net/eth0/speed", "1000\n");
  EXPECT_THAT(Look(*probe), ElementsAre("nic_slow eth0"));
  Write("/sys/class/net/eth0/speed", "-1\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, NicThatFlapsOrDamagesPackets) {
  WriteNic("eth0", "1", 1, 100);
  Write("/sys/class/net/eth0/statistics/rx_crc_errors", "1000000\n");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());  // history
  clock.Advance(absl::Minutes(10));
  WriteNic("eth0", "1", 1, 104);
  Write("/sys/class/net/eth0/statistics/rx_crc_errors", "1000600\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(10));
  WriteNic("eth0", "1", 1, 105);
  Write("/sys/class/net/eth0/statistics/rx_crc_errors", "1000601\n");
  EXPECT_THAT(Look(*probe), ElementsAre("nic_flapping eth0", "nic_errors eth0"));
  clock.Advance(absl::Hours(26));
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, InfinibandPorts) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  Write(port + "/link_layer", "InfiniBand\n");
  Write(port + "/state", "4: ACTIVE\n");
  Write(port + "/counters/symbol_error", "7\n");
  Write(port + "/counters/link_error_recovery", "0\n");
  Write(port + "/counters/link_downed", "0\n");
  Write("/sys/class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n");
  Write("/sys/class/infiniband/mlx5_2/ports/1/link_layer", "InfiniBand\n");
  Write("/sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN\n");  // never connected
  const auto probe = MakeInfinibandProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(1));
  Write(port + "/state", "1: DOWN\n");
  Write(port + "/counters/link_downed", "1\n");
  Write(port + "/counters/symbol_error", "70\n");
  EXPECT_THAT(Look(*probe), ElementsAre("ib_port mlx5_0/1", "ib_errors mlx5_0/1"));
  // An agent that is new knows it from the counter.
  EXPECT_THAT(Look(*MakeInfinibandProbe(context())),
              ElementsAre("ib_port mlx5_0/1", "ib_errors mlx5_0/1"));
  // The adapter falls off the bus.
  std::filesystem::remove_all(root() + "/sys/class/infiniband/mlx5_0");
  EXPECT_THAT(Look(*probe), ElementsAre("ib_port mlx5_0/1"));
}

TEST_F(HealthProbes, AnInfinibandCounterAtItsMaximumIsNotWellAgain) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  Write(port + "/link_layer", "InfiniBand\n");
  Write(port + "/state", "4: ACTIVE\n");
  Write(port + "/counters/symbol_error", "65535\n");  // since when, nobody knows
  Write(port + "/counters/link_error_recovery", "250\n");
  const auto probe = MakeInfinibandProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(1));
  Write(port + "/counters/link_error_recovery", "254\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
  Write(port + "/counters/link_error_recovery", "255\n");
  EXPECT_THAT(Look(*probe), ElementsAre("ib_errors mlx5_0/1"));
  clock.Advance(absl::Hours(100));
  EXPECT_THAT(Look(*probe), ElementsAre("ib_errors mlx5_0/1"));
  Write(port + "/counters/link_error_recovery", "0\n");  // perfquery -R
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, InfinibandPortsThatMayGo) {
  const std::string made = "/sys/class/infiniband/mlx5_3";
  const std::string turned = "/sys/class/infiniband/mlx5_4";
  for (const std::string& adapter : {made, turned}) {
    Write(adapter + "/ports/1/link_layer", "InfiniBand\n");
    Write(adapter + "/ports/1/state", "4: ACTIVE\n");
  }
  Link(made + "/device/physfn", root() + turned);
  const auto probe = MakeInfinibandProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  std::filesystem::remove_all(root() + made);
  Write(turned + "/ports/1/link_layer", "Ethernet\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
}

}  // namespace
}  // namespace muster::agent::health
