// Probes of the certificate, disks, BMC, memory, units and clock, on copies of a kernel's files.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/health/condition_board.h"
#include "agent/health/probes/probe.h"
#include "common/health/catalogue.h"
#include "common/health/kernel_message.h"
#include "common/health/xid.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "muster/v1/records.pb.h"
#include "tests/unit/agent/health/health_probes.h"

namespace muster::agent::health {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Nothing is watched by two, and everything by somebody.
TEST_F(HealthProbes, CoverTheCatalogueOnce) {
  std::multiset<std::string> watched = {"kmsg_reader", "agent_overload"};
  for (const ProbeSpec& spec : MakeProbes(context())) {
    EXPECT_GE(spec.interval, absl::Seconds(30)) << spec.name;
    for (const WatchedCondition& condition : spec.conditions) watched.insert(condition.name);
  }
  std::set<std::string> of_log;
  for (const muster::health::KernelMessage& row : muster::health::KernelMessages())
    if (!row.condition.empty()) of_log.emplace(row.condition);
  for (const muster::health::XidInfo& row : muster::health::XidTable()) {
    const absl::string_view condition = muster::health::ConditionOf(row.first, row.action);
    if (!condition.empty()) of_log.emplace(condition);
  }
  // The probe sees what the kernel shows of it, and the log says the rest.
  EXPECT_EQ(of_log.erase("disk_readonly"), 1u);
  watched.insert(of_log.begin(), of_log.end());
  std::multiset<std::string> catalogue;
  for (const muster::health::ConditionInfo& condition : muster::health::Catalogue())
    catalogue.emplace(condition.name);
  EXPECT_EQ(watched, catalogue);
}

TEST_F(HealthProbes, CertificateThatIsNotRenewed) {
  const auto probe = MakeCertificateProbe(context());
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("certificate_renewal"));
  const absl::Time made = clock.Now();
  const pki::Authority ca = pki::MakeCa("ca", absl::Hours(24 * 365), made).value();
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("c001").value();
  const auto lasts = [&](absl::Duration life) {
    Write("/state/client.crt", pki::SignCsr(ca, key.csr_pem, {.common_name = "c001"},
                                            {made, made + life}, pki::Usage::kClient)
                                   .value());
  };
  lasts(absl::Hours(24 * 30));
  clock.Advance(absl::Hours(24));
  EXPECT_THAT(Look(*probe), IsEmpty());
  renewal.Set("no space left");
  EXPECT_THAT(Look(*probe), IsEmpty()) << "there is time";
  lasts(absl::Hours(25));
  EXPECT_THAT(Look(*probe), ElementsAre("certificate_renewal")) << "nearly over";
  lasts(absl::Hours(24 * 30));
  clock.Advance(absl::Hours(12));
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("certificate_renewal"));
  EXPECT_THAT(found->troubles[0].evidence, HasSubstr("no space left"));
  renewal.Set("");
  EXPECT_THAT(Look(*probe), ElementsAre("unknown certificate_renewal")) << "nobody has tried";
}

// The nodes' certificates are old when the controller is back, and are renewed at once.
TEST_F(HealthProbes, AControllerThatWasAwayForDaysIsNoFaultOfTheNode) {
  const absl::Time made = clock.Now();
  const pki::Authority ca = pki::MakeCa("ca", absl::Hours(24 * 365), made).value();
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("c001").value();
  Write("/state/client.crt", pki::SignCsr(ca, key.csr_pem, {.common_name = "c001"},
                                          {made, made + absl::Hours(24 * 30)}, pki::Usage::kClient)
                                 .value());
  const std::vector<ProbeSpec> probes = MakeProbes(context());
  const auto spec = std::find_if(probes.begin(), probes.end(), [](const ProbeSpec& probe) {
    return probe.name == "certificate";
  });
  ConditionBoard board;
  const auto look_for = [&](absl::Duration duration) {
    for (const absl::Time end = clock.Now() + duration; clock.Now() < end;
         clock.Advance(spec->interval))
      board.Merge(spec->conditions, *spec->probe->Look(limits), 2 * spec->interval, clock.Now());
    return !board.BadFindings().empty();
  };
  EXPECT_FALSE(look_for(absl::Hours(48)));
  renewal.Set("deadline exceeded");
  EXPECT_FALSE(look_for(absl::Minutes(11))) << "the next attempt may succeed";
  EXPECT_TRUE(look_for(absl::Hours(1)));
  renewal.Set("");
  EXPECT_TRUE(look_for(absl::Hours(48))) << "it fails until one succeeds";
}

TEST_F(HealthProbes, DisksThatSayThatTheyFail) {
  for (const char* disk : {"sda", "sdb", "nvme0n1", "loop0", "dm-0"})
    Write(std::string("/sys/block/") + disk + "/size", "1000\n");
  Write("/sys/block/sdc/size", "0\n");
  const auto probe = MakeDiskProbe(context());
  const auto without = probe->Look(limits);
  ASSERT_TRUE(without.ok());
  EXPECT_THAT(without->not_watched, ElementsAre("disk_health"));
  processes.On("smartctl", {.exit_code = 0});
  // 64: its log has errors of the past; 8: it is failing.
  processes.On("smartctl --nocheck=standby --health /dev/sdb", {.exit_code = 64 + 8});
  processes.On("smartctl --nocheck=standby --health /dev/sda", {.exit_code = 2});
  processes.ClearLog();
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("disk_health sdb"));
  EXPECT_THAT(found->well, ElementsAre(Pair("disk_health", "nvme0n1")));
  EXPECT_EQ(processes.commands().size(), 3u);
}

TEST_F(HealthProbes, AFailingDiskThatDiesIsNotWellAgain) {
  const std::vector<ProbeSpec> probes = MakeProbes(context());
  const auto disks = std::find_if(probes.begin(), probes.end(),
                                  [](const ProbeSpec& spec) { return spec.name == "disks"; });
  ASSERT_NE(disks, probes.end());
  ConditionBoard board;
  const auto rows = [&] {
    const auto findings = disks->probe->Look(limits);
    EXPECT_TRUE(findings.ok());
    clock.Advance(disks->interval);
    board.Merge(disks->conditions, *findings, 2 * disks->interval, clock.Now());
    return board.Rows().size();
  };
  Write("/sys/block/sdb/size", "1000\n");
  processes.On("smartctl", {.exit_code = 2});
  EXPECT_EQ(rows(), 0u) << "it does not answer, and nobody knows why";
  processes.On("smartctl", {.exit_code = 8});
  EXPECT_EQ(rows(), 1u);
  for (const int cannot : {1, 2, 4}) {
    processes.On("smartctl", {.exit_code = cannot});
    EXPECT_EQ(rows(), 1u) << cannot;
  }
  std::filesystem::remove_all(root() + "/sys/block/sdb");
  EXPECT_EQ(rows(), 1u);
  Write("/sys/block/sdb/size", "1000\n");
  processes.On("smartctl", {.exit_code = 64});
  EXPECT_EQ(rows(), 0u) << "another one is in its place";
}

// Answers of FreeIPMI 1.6.10 to a simulated BMC.
TEST_F(HealthProbes, ABmcThatComplains) {
  const auto probe = MakeBmcProbe(context());
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("bmc_sensor", "bmc_log"));
  processes.On("ipmi-sel", {.exit_code = 1, .output = "could not find inband device\n"});
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("bmc_sensor", "bmc_log"));
  processes.On("ipmi-sel", {.exit_code = 1, .output = "ipmi-sel: driver timeout\n"});
  processes.On("ipmi-sensors", {.exit_code = 1, .output = "ipmi-sensors: BMC busy\n"});
  EXPECT_THAT(Look(*probe), ElementsAre("unknown bmc_log", "unknown bmc_sensor"));

  const auto say = [&](const std::string& sensors, const std::string& info,
                       const std::string& events) {
    processes.On("ipmi-sensors", {.out = sensors, .output = sensors});
    processes.On("ipmi-sel --info", {.out = info, .output = info});
    processes.On("ipmi-sel --output-event-state", {.out = events, .output = events});
    processes.ClearLog();
  };
  const std::string old =
      "1,Nov-27-2026,21:10:11,PSU1 Status,Power Supply,Critical,Power Supply Failure detected\n";
  say("1,PSU1 Status,Power Supply,Nominal,N/A,N/A,'Presence detected'\n", "entries : 1\n", old);
  EXPECT_THAT(Look(*probe), IsEmpty());  // what it logged before is history
  EXPECT_EQ(processes.commands().size(), 3u);
  EXPECT_THAT(Look(*probe), IsEmpty());
  EXPECT_EQ(processes.commands().size(), 4u);  // nothing was added to the log
  clock.Advance(absl::Hours(1));
  EXPECT_THAT(Look(*probe), IsEmpty());
  EXPECT_EQ(processes.commands().size(), 6u);  // the sensors' hour

  say("1,PSU1 Status,Power Supply,Critical,N/A,N/A,'Presence detected' 'Power Supply Failure "
      "detected'\n4,Fan 1, rear,Fan,Critical,0.00,RPM,'At or Below (<=) Lower Critical Threshold'\n"
      "5,Fan 1, rear,Fan,Critical,0.00,RPM,'At or Below (<=) Lower Critical Threshold'\n"
      "6,Temp,Temperature,Warning,41.00,C,'At or Above (>=) Upper Non-Critical "
      "Threshold'\nrubbish\n",
      "entries : 2\nEvents dropped due to lack of space    : Yes\n",
      old +
          "2,PostInit,PostInit,Sensor #16,Memory,Critical,Uncorrectable memory error\n"
          "3,PostInit,PostInit,PSU2 Status,Power Supply,Nominal,Presence detected\n");
  clock.Advance(absl::Minutes(5));
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("bmc_log full", "bmc_log", "bmc_sensor PSU1 Status",
                                        "bmc_sensor Fan 1, rear", "bmc_sensor Fan 1, rear #5"));
  EXPECT_EQ(found->troubles[3].evidence,
            "Fan 1, rear (Fan): 0.00 RPM 'At or Below (<=) Lower Critical Threshold'");
  EXPECT_EQ(
      found->troubles[1].evidence,
      "critical events within a day: 1; the last: Sensor #16 (Memory): Uncorrectable memory error");

  processes.ClearLog();
  EXPECT_EQ(probe->Look(limits)->troubles.size(), 5u);
  EXPECT_EQ(processes.commands().size(), 2u);  // what is critical is looked at each time
  say("", "entries : 0\nEvents dropped due to lack of space    : No\n", "");  // --clear
  clock.Advance(absl::Hours(12));
  EXPECT_THAT(Look(*probe), ElementsAre("bmc_log"));
  clock.Advance(absl::Hours(13));
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, ABmcWhoseLogIsFullAndOverwritesItself) {
  const auto event = [](int id, const char* time, const char* state) {
    return absl::StrCat(id, ",Nov-27-2026,", time, ",PSU,Power Supply,", state, ",failed\n");
  };
  std::vector<std::string> log;
  for (int i = 0; i < 6; ++i)
    log.push_back(event(65530 + i, "10:00:00", i % 2 == 0 ? "Critical" : "Nominal"));
  int additions = 0;
  const auto say = [&] {
    const std::string info = absl::StrCat("additions: ", ++additions, "\n");
    const std::string events = absl::StrJoin(log, "");
    processes.On("ipmi-sel --info", {.out = info, .output = info});
    processes.On("ipmi-sel --output-event-state", {.out = events, .output = events});
    clock.Advance(absl::Minutes(5));
  };
  const auto probe = MakeBmcProbe(context());
  say();
  EXPECT_THAT(Look(*probe), IsEmpty());
  // Each event that is added pushes the oldest one out, and the ids begin anew.
  const auto add = [&](const std::string& added) {
    log.erase(log.begin());
    log.push_back(added);
    say();
  };
  add(event(1, "11:00:00", "Nominal"));
  EXPECT_THAT(Look(*probe), IsEmpty()) << "a critical one went, none came";
  add(event(2, "11:00:01", "Nominal"));
  EXPECT_THAT(Look(*probe), IsEmpty());
  add(event(3, "11:00:02", "Critical"));
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("bmc_log"));
  EXPECT_THAT(found->troubles[0].evidence, HasSubstr("within a day: 1;"));
  // The agent that starts after a boot knows what was seen, and what came meanwhile.
  v1::HealthRecord record;
  trends.Save(record);
  trends.Load(record, /*same_boot=*/false);
  clock.Advance(absl::Hours(25));
  const auto next = MakeBmcProbe(context());
  EXPECT_THAT(Look(*next), IsEmpty());
  add("4,PostInit,PostInit,DIMM,Memory,Critical,Uncorrectable memory error\n");
  EXPECT_THAT(Look(*next), ElementsAre("bmc_log"));
  // All of a log that was cleared and has filled again is new.
  clock.Advance(absl::Hours(25));
  EXPECT_THAT(Look(*next), IsEmpty());
  log = {event(5, "12:00:00", "Nominal")};
  say();
  EXPECT_THAT(Look(*next), IsEmpty());
  log = {event(1, "13:00:00", "Critical"), event(2, "13:00:01", "Nominal")};
  say();
  EXPECT_THAT(Look(*next), ElementsAre("bmc_log"));
}

TEST_F(HealthProbes, MemoryErrors) {
  const auto probe = MakeMemoryProbe(context());
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("memory_ecc", "memory_ecc_corrected"));
  const std::string mc = "/sys/devices/system/edac/mc/mc0";
  Write(mc + "/ue_count", "0\n");
  Write(mc + "/ce_count", "50000\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(1));
  Write(mc + "/ce_count", "50101\n");
  EXPECT_THAT(Look(*probe), ElementsAre("memory_ecc_corrected mc0"));
  Write(mc + "/ue_count", "1\n");
  EXPECT_THAT(Look(*probe), ElementsAre("memory_ecc mc0", "memory_ecc_corrected mc0"));
}

TEST_F(HealthProbes, Units) {
  units.units["backup.service"].status.active_state = "failed";
  units.units["munge.service"].status.unit_file_state = "enabled";
  units.units["munge.service"].status.active_state = "failed";
  units.units["slurmd.service"].status.unit_file_state = "disabled";
  const auto probe = MakeUnitProbe(context());
  const auto findings = probe->Look(limits);
  EXPECT_THAT(Names(findings), ElementsAre("unit_failed backup.service", "munge_down"));
  EXPECT_THAT(findings->not_watched, ElementsAre("slurmd_down"));
  units.units["slurmd.service"].status.unit_file_state = "enabled";
  units.units["munge.service"].status.active_state = "active";
  EXPECT_THAT(Look(*probe), ElementsAre("unit_failed backup.service", "slurmd_down"));
  units.units["slurmd.service"].status.active_state = "activating";
  EXPECT_THAT(Look(*probe), ElementsAre("unit_failed backup.service"));
}

TEST_F(HealthProbes, ClockAsChronySeesIt) {
  const auto probe = MakeTimeProbe(context());
  const auto tracking = [](const char* offset, const char* leap) {
    return FakeProcessRunner::Prints(
        absl::StrCat("0A000001,10.0.0.1,3,1700000000.0,", offset,
                     ",0.000002,0.000003,-1.5,0.001,0.02,0.0004,0.0005,64.2,", leap, "\n"));
  };
  processes.On("chronyc -c tracking", tracking("0.000001", "Normal"));
  EXPECT_THAT(Look(*probe), IsEmpty());
  processes.On("chronyc -c tracking", tracking("-0.75", "Normal"));
  EXPECT_THAT(Look(*probe), ElementsAre("clock_offset"));
  processes.On("chronyc -c tracking", tracking("0", "Not synchronised"));
  EXPECT_THAT(Look(*probe), ElementsAre("clock_offset"));
  processes.On("chronyc -c tracking", FakeProcessRunner::Prints("nonsense"));
  EXPECT_FALSE(probe->Look(limits).ok());
}

}  // namespace
}  // namespace muster::agent::health
