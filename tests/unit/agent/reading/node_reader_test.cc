#include "agent/reading/node_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/wire/message_rules.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTwoGpus[] = R"(# HELP muster_gpu_driver_up Whether the driver answers
muster_gpu_driver_up 1
muster_gpu_lost{gpu="0",uuid="GPU-a"} 0
muster_gpu_lost{gpu="1",uuid=""} 1
muster_gpu_temperature_celsius{gpu="0",uuid="GPU-a"} 61
muster_gpu_power_watts{gpu="0",uuid="GPU-a"} 231.5
muster_gpu_power_limit_watts{gpu="0",uuid="GPU-a"} 250
muster_gpu_utilization_ratio{gpu="0",uuid="GPU-a"} 0.97
muster_gpu_memory_used_bytes{gpu="0",uuid="GPU-a"} 9663676416
muster_gpu_memory_total_bytes{gpu="0",uuid="GPU-a"} 11811160064
muster_gpu_sm_clock_hertz{gpu="0",uuid="GPU-a"} 1650000000
muster_node_power_watts 612
)";

class NodeReaderTest : public ::testing::Test {
 protected:
  NodeReaderTest() {
    Write("/proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
    Write("/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:    250 kB\n");
    Interface("eth0", 1000, 0);
    processes_.On("muster-burnin metrics --node-power", FakeProcessRunner::Prints(kTwoGpus));
  }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = dir_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void Interface(const std::string& name, uint64_t received, uint64_t sent) {
    const std::string device = "/sys/class/net/" + name;
    Write(device + "/type", "1\n");
    Write(device + "/carrier", "1\n");
    Write(device + "/speed", "10000\n");
    Write(device + "/device/vendor", "0x15b3\n");
    Write(device + "/statistics/rx_bytes", std::to_string(received));
    Write(device + "/statistics/tx_bytes", std::to_string(sent));
  }
  void Port(const std::string& state, uint64_t words) {
    const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
    Write(port + "/state", state);
    Write(port + "/rate", "100 Gb/sec (4X EDR)");
    Write(port + "/counters/port_rcv_data", std::to_string(words));
    Write(port + "/counters/port_xmit_data", "0");
  }
  v1::NodeReadings Read() {
    v1::NodeReadings readings = reader_.Read();
    v1::AgentMessage message;
    *message.mutable_readings() = readings;
    EXPECT_OK(wire::Check(message));
    return readings;
  }

  muster::testing::TempDir dir_;
  muster::testing::FakeClock clock_;
  FakeProcessRunner processes_;
  NodeReader reader_{{.root = dir_.path()}, processes_, clock_};
};

TEST_F(NodeReaderTest, RatesAreMeansSinceTheReadingBefore) {
  const v1::NodeReadings first = Read();
  EXPECT_FALSE(first.has_cpu_busy_ratio());
  ASSERT_THAT(first.links(), SizeIs(1));
  EXPECT_EQ(first.links(0).received_bytes_per_s(), 0);
  clock_.Advance(absl::Seconds(4));
  Write("/proc/stat", "cpu  160 0 120 710 110 0 0 0 0 0\n");  // 100 ticks, 80 of them busy
  Interface("eth0", 5000, 8000);
  const v1::NodeReadings second = Read();
  EXPECT_FLOAT_EQ(second.cpu_busy_ratio(), 0.8F);
  EXPECT_EQ(second.links(0).name(), "eth0");
  EXPECT_DOUBLE_EQ(second.links(0).received_bytes_per_s(), 1000);
  EXPECT_DOUBLE_EQ(second.links(0).sent_bytes_per_s(), 2000);
  EXPECT_DOUBLE_EQ(second.links(0).bytes_per_s(), 1.25e9);
  EXPECT_EQ(second.memory_used_bytes(), 750 * 1024);
  EXPECT_EQ(second.memory_total_bytes(), 1000 * 1024);
}

TEST_F(NodeReaderTest, CounterThatWasResetIsNoRate) {
  Read();
  clock_.Advance(absl::Seconds(1));
  Interface("eth0", 10, 0);
  EXPECT_EQ(Read().links(0).received_bytes_per_s(), 0);
}

TEST_F(NodeReaderTest, InfinibandCountsWordsOfFourBytes) {
  Port("4: ACTIVE", 0);
  Read();
  clock_.Advance(absl::Seconds(2));
  Port("4: ACTIVE", 1'000'000);
  const v1::NodeReadings readings = Read();
  ASSERT_THAT(readings.links(), SizeIs(2));
  EXPECT_EQ(readings.links(1).name(), "mlx5_0/1");
  EXPECT_DOUBLE_EQ(readings.links(1).received_bytes_per_s(), 2e6);
  EXPECT_DOUBLE_EQ(readings.links(1).bytes_per_s(), 12.5e9);
  Port("1: DOWN", 1'000'000);
  EXPECT_THAT(Read().links(), SizeIs(1));
}

TEST_F(NodeReaderTest, LinkWithoutCarrierIsLeftOut) {
  Write("/sys/class/net/eth0/carrier", "0\n");
  EXPECT_THAT(Read().links(), IsEmpty());
}

TEST_F(NodeReaderTest, GpusAndPowerOfTheMachine) {
  const v1::NodeReadings readings = Read();
  EXPECT_FLOAT_EQ(readings.power_watts(), 612);
  EXPECT_EQ(readings.gpu_trouble(), "");
  ASSERT_THAT(readings.gpus(), SizeIs(2));
  const v1::GpuReading& gpu = readings.gpus(0);
  EXPECT_FLOAT_EQ(gpu.busy_ratio(), 0.97F);
  EXPECT_FLOAT_EQ(gpu.temperature_celsius(), 61);
  EXPECT_FLOAT_EQ(gpu.power_watts(), 231.5);
  EXPECT_FLOAT_EQ(gpu.power_limit_watts(), 250);
  EXPECT_FLOAT_EQ(gpu.sm_clock_mhz(), 1650);
  EXPECT_EQ(gpu.memory_used_bytes(), 9663676416);
  EXPECT_FALSE(gpu.is_lost());
  EXPECT_TRUE(readings.gpus(1).is_lost());
  EXPECT_FALSE(readings.gpus(1).has_busy_ratio());
}

TEST_F(NodeReaderTest, DriverThatHangsIsSaidAndTheRestIsThere) {
  processes_.On("muster-burnin metrics --node-power", sys::ProcessResult{.timed_out = true});
  const v1::NodeReadings readings = Read();
  EXPECT_THAT(readings.gpu_trouble(), HasSubstr("10s"));
  EXPECT_THAT(readings.gpus(), IsEmpty());
  EXPECT_THAT(readings.links(), SizeIs(1));
}

TEST_F(NodeReaderTest, MachineWithoutGpusIsAskedRarely) {
  processes_.On("muster-burnin metrics --node-power",
                FakeProcessRunner::Prints("muster_gpu_driver_up 0\nmuster_gpu_count 0\n"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Read().gpu_trouble(), "");
  EXPECT_THAT(processes_.commands(), SizeIs(2));
}

TEST_F(NodeReaderTest, MachineWithoutTheWorkerIsNoTrouble) {
  processes_.RemovePrograms();
  EXPECT_EQ(Read().gpu_trouble(), "");
}

TEST_F(NodeReaderTest, GarbageOfTheKernelIsLeftOut) {
  Write("/proc/stat", "cpu  what\n");
  Write("/proc/meminfo", "MemTotal: x kB\n\n:\n");
  const v1::NodeReadings readings = Read();
  EXPECT_FALSE(readings.has_cpu_busy_ratio());
  EXPECT_EQ(readings.memory_total_bytes(), 0);
}

}  // namespace
}  // namespace muster::agent
