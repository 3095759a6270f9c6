#include "cli/render/report/discovery_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/boot.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kListedAt = absl::FromUnixSeconds(1'900'000'000);

v1::UnknownMachine& AddMachine(v1::ListUnknownMachinesResponse& response, const std::string& mac,
                               absl::Duration ago) {
  v1::UnknownMachine& machine = *response.add_machines();
  machine.set_mac(mac);
  machine.set_address("10.0.0.9");
  *machine.mutable_first_seen() = ToTimestamp(kListedAt - ago);
  return machine;
}

v1::ListUnknownMachinesResponse ThreeMachines() {
  v1::ListUnknownMachinesResponse response;
  *response.mutable_time() = ToTimestamp(kListedAt);
  *AddMachine(response, "aa:aa:aa:aa:aa:03", absl::Minutes(1)).mutable_last_seen() =
      ToTimestamp(kListedAt - absl::Seconds(50));
  v1::UnknownMachine& silent = AddMachine(response, "aa:aa:aa:aa:aa:02", absl::Hours(2));
  *silent.mutable_told_at() = ToTimestamp(kListedAt - absl::Hours(1));
  silent.mutable_facts()->mutable_machine()->set_product("PowerEdge");
  v1::UnknownMachine& machine = AddMachine(response, "aa:aa:aa:aa:aa:01", absl::Hours(3));
  *machine.mutable_told_at() = ToTimestamp(kListedAt - absl::Seconds(10));
  v1::Facts& facts = *machine.mutable_facts();
  facts.mutable_machine()->set_vendor("Supermicro");
  facts.mutable_machine()->set_product("SYS-821GE-TNHR");
  facts.mutable_machine()->set_serial("S4EVIL\x1b[31m");
  facts.mutable_cpu()->set_sockets(2);
  facts.mutable_cpu()->set_cores_per_socket(56);
  facts.mutable_memory()->set_total_mib(2'063'000);
  v1::NicFacts& nic = *facts.add_nics();
  nic.set_name("eno1");
  nic.set_mac(machine.mac());
  v1::NeighborFacts& neighbor = *facts.add_neighbors();
  neighbor.set_interface("eno1");
  neighbor.set_system("leaf03\x1b[2J");
  neighbor.set_port("Ethernet1/7");
  for (int i = 0; i < 8; ++i) {
    v1::PciDeviceFacts& device = *facts.add_pci_devices();
    device.set_vendor_id("10de");
    device.set_device_id("2330");
    device.set_class_code("030200");
    // The bridges of its fabric are no GPUs.
    v1::PciDeviceFacts& bridge = *facts.add_pci_devices();
    bridge.set_vendor_id("10de");
    bridge.set_class_code("068000");
    facts.add_disks()->set_size_bytes(3'840'000'000'000);
  }
  return response;
}

TEST(DiscoveryReportTest, MachinesInTheOrderOfTheirComing) {
  EXPECT_THAT(RenderDiscovered(ThreeMachines()), Said());
  v1::ListUnknownMachinesResponse none;
  none.set_trouble("boot_unknown: finder: no image 'finder'");
  EXPECT_THAT(RenderDiscovered(none), Said());
}

TEST(DiscoveryReportTest, APortOfANodeIsNoMachineToAdopt) {
  v1::ListUnknownMachinesResponse response;
  *response.mutable_time() = ToTimestamp(kListedAt);
  v1::UnknownMachine& machine = AddMachine(response, "aa:aa:aa:aa:aa:04", absl::Minutes(1));
  *machine.mutable_told_at() = ToTimestamp(kListedAt - absl::Seconds(10));
  machine.set_node("c003");
  EXPECT_THAT(RenderDiscovered(response),
              AllOf(HasSubstr("  port of c003  "), HasSubstr("\n0 machines to adopt\n")));
}

TEST(DiscoveryReportTest, WhoBecomesWhom) {
  const v1::ListUnknownMachinesResponse response = ThreeMachines();
  const std::vector<Adoption> adoptions = {
      {"c001", &response.machines(2), {"aa:aa:aa:aa:aa:01", "aa:aa:aa:aa:bb:01"}, {}},
      {"c002",
       &response.machines(1),
       {"aa:aa:aa:aa:aa:02"},
       {{"aa:aa:aa:aa:aa:03", "aa:aa:aa:aa:aa:03"}}}};
  EXPECT_THAT(RenderAdoptions(adoptions, {{"c001", "10.0.0.17"}}), Said());
}

}  // namespace
}  // namespace muster::cli
