#include "cli/render/top/top_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/render/top/load.h"
#include "muster/v1/reading.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

void AddGpu(v1::NodeReadings& readings, float busy, float celsius, float watts) {
  v1::GpuReading& gpu = *readings.add_gpus();
  gpu.set_index(static_cast<uint32_t>(readings.gpus_size() - 1));
  gpu.set_busy_ratio(busy);
  gpu.set_temperature_celsius(celsius);
  gpu.set_power_watts(watts);
  gpu.set_power_limit_watts(250);
  gpu.set_sm_clock_mhz(1650);
  gpu.set_memory_used_bytes(uint64_t{9} << 30);
  gpu.set_memory_total_bytes(uint64_t{11} << 30);
}

v1::WatchedNode& AddNode(v1::GetReadingsResponse& answer, const std::string& name,
                         const std::string& rack) {
  v1::WatchedNode& node = *answer.add_nodes();
  node.set_node(name);
  node.set_rack(rack);
  node.set_connected(true);
  return node;
}

// Two racks of RTX 2080 Ti: one node is busy, one idle, one away, one has a lost GPU.
v1::GetReadingsResponse Cluster() {
  v1::GetReadingsResponse answer;
  v1::NodeReadings& busy = *AddNode(answer, "c001", "r1").mutable_readings();
  busy.set_cpu_busy_ratio(0.61F);
  busy.set_memory_used_bytes(96);
  busy.set_memory_total_bytes(128);
  busy.set_power_watts(1120);
  AddGpu(busy, 1, 83, 248);
  AddGpu(busy, 0.5, 71, 200);
  v1::LinkReading& link = *busy.add_links();
  link.set_name("eth0");
  link.set_received_bytes_per_s(1.24e9);
  link.set_sent_bytes_per_s(3.1e6);
  link.set_bytes_per_s(1.25e9);
  v1::NodeReadings& idle = *AddNode(answer, "c002", "r1").mutable_readings();
  idle.set_cpu_busy_ratio(0.01F);
  AddGpu(idle, 0, 34, 9);
  AddGpu(idle, 0, 35, 11);
  AddNode(answer, "c003", "r2").set_connected(false);
  v1::NodeReadings& lost = *AddNode(answer, "c004", "r2").mutable_readings();
  AddGpu(lost, 0.13F, 50, 120);
  v1::GpuReading& gpu = *lost.add_gpus();
  gpu.set_index(1);
  gpu.set_is_lost(true);
  AddNode(answer, "login1", "");
  v1::WatchedRack& rack = *answer.add_racks();
  rack.set_rack("r1");
  rack.set_power_limit_watts(6000);
  answer.add_racks()->set_rack("r2");
  return answer;
}

TEST(TopReportTest, NodesInTheOrderOfTheInventory) {
  EXPECT_THAT(RenderTop(Cluster(), {}), Said());
}

TEST(TopReportTest, Racks) { EXPECT_THAT(RenderTop(Cluster(), {.by_rack = true}), Said()); }

TEST(TopReportTest, ANarrowTerminalShowsNotesRatherThanTheNetwork) {
  for (const bool by_rack : {false, true}) {
    const std::string wide = RenderTop(Cluster(), {.by_rack = by_rack, .columns = 200});
    EXPECT_EQ(wide, RenderTop(Cluster(), {.by_rack = by_rack}));
    const std::string narrow = RenderTop(Cluster(), {.by_rack = by_rack, .columns = 79});
    EXPECT_THAT(narrow, HasSubstr("NOTE"));
    EXPECT_THAT(narrow, Not(HasSubstr("OUT")));
    EXPECT_THAT(narrow, Not(HasSubstr("1.24 GB/s  3.10 MB/s")));
  }
}

TEST(TopReportTest, OneNodeWithItsGpusAndLinks) {
  v1::GetReadingsResponse answer;
  *answer.add_nodes() = Cluster().nodes(0);
  EXPECT_THAT(RenderTop(answer, {}), Said());
}

TEST(TopReportTest, GreatestComeFirst) {
  for (const char* order : {"cpu", "memory", "gpu", "temperature", "power", "network"}) {
    const std::string text = RenderTop(Cluster(), {.order = *ParseTopOrder(order)});
    EXPECT_LT(text.find("c001"), text.find("c002")) << order;
    EXPECT_LT(text.find("c001"), text.find("c003")) << order;
  }
  EXPECT_FALSE(ParseTopOrder("color").has_value());
}

TEST(TopReportTest, PowerOfARackIsWholeIfAllMachinesHaveAMeter) {
  v1::GetReadingsResponse answer = Cluster();
  EXPECT_EQ(LoadsOfRacks(answer)[0].watts, 1140) << "a machine, and the GPUs of another";
  EXPECT_FALSE(LoadsOfRacks(answer)[0].is_all_power);
  answer.mutable_nodes(1)->mutable_readings()->set_power_watts(180);
  EXPECT_EQ(LoadsOfRacks(answer)[0].watts, 1300);
  EXPECT_TRUE(LoadsOfRacks(answer)[0].is_all_power);
}

TEST(TopReportTest, PowerOfManyMachines) {
  v1::GetReadingsResponse answer;
  AddNode(answer, "c001", "r1").mutable_readings()->set_power_watts(12'345);
  EXPECT_THAT(RenderTop(answer, {}), HasSubstr("12.3 kW"));
  AddNode(answer, "c002", "r1").mutable_readings()->set_power_watts(3'305'300);
  EXPECT_THAT(RenderTop(answer, {}), HasSubstr("3.32 MW"));
}

TEST(TopReportTest, WordsOfNodesDoNotControlTheTerminal) {
  v1::GetReadingsResponse answer;
  v1::NodeReadings& readings = *AddNode(answer, "c001", "r1").mutable_readings();
  readings.set_gpu_trouble("\x1b[2Jgone\nc002");
  readings.add_links()->set_name("\x1b]0;x\x07");
  EXPECT_THAT(RenderTop(answer, {}), Not(HasSubstr("\x1b")));
}

TEST(TopReportTest, Bars) {
  EXPECT_EQ(Bar(0), "▁");
  EXPECT_EQ(Bar(0.5), "▅");
  EXPECT_EQ(Bar(1), "█");
  EXPECT_EQ(Bar(7), "█");
}

TEST(TopReportTest, Rates) {
  std::vector<std::string> texts;
  for (const double rate : {0.0, 0.4, 12.0, 999.4, 999.6, 12'345.0, 3.1e6, 1.24e9, 5e13})
    texts.push_back(HumanRate(rate));
  EXPECT_THAT(texts, ElementsAre("0", "0", "12 B/s", "999 B/s", "1.00 kB/s", "12.3 kB/s",
                                 "3.10 MB/s", "1.24 GB/s", "50.0 TB/s"));
}

}  // namespace
}  // namespace muster::cli
