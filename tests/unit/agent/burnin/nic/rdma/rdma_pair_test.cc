#include <signal.h>

#include <set>

#include <gmock/gmock.h>

#include "absl/time/clock.h"
#include "agent/burnin/nic/nic_checks.h"
#include "agent/burnin/nic/rdma/perftest.h"
#include "agent/burnin/nic/rdma/rdma_device.h"
#include "agent/burnin/nic/rdma/rdma_ports.h"
#include "agent/burnin/nic/transport/socket.h"
#include "common/sys/process/process_control.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/burnin_ranks.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using testing::FakeFileSystem;
using testing::FakeProcessRunner;
using ::testing::HasSubstr;
using testing::MetricOf;
using ::testing::Not;
using ::testing::SizeIs;

// The shape of the output of perftest 4.5.
constexpr char kBandwidth[] =
    R"(---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 local address: LID 0x01 QPN 0x0128 PSN 0x8ae2e5 RKey 0x17f1 VAddr 0x007f5e3c000000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    14541            0.00               97.60		   0.001454
---------------------------------------------------------------------------------------
)";
constexpr char kLatency[] =
    R"( #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 8       5000          1.02           8.17         1.06     	       1.07        	0.09   		1.21    		3.60
)";

TEST(PerftestTest, ReadsRatesByTheirColumn) {
  EXPECT_DOUBLE_EQ(ParseWriteBandwidth(kBandwidth).value(), 97.6);
  EXPECT_DOUBLE_EQ(
      ParseWriteBandwidth(" #bytes #iterations BW peak[MB/sec]  BW average[MB/sec] MsgRate[Mpps]\n"
                          " 65536 5000 11000.0 10000.0 0.17\n")
          .value(),
      10000.0 * 1048576 * 8 / 1e9);
  // Another version adds a column.
  EXPECT_DOUBLE_EQ(
      ParseWriteBandwidth(" #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps] "
                          "CPU_Util[%]\n 65536 5000 99.0 98.5 0.17 12.5\n")
          .value(),
      98.5);
}

TEST(PerftestTest, ReadsLatencies) {
  const absl::StatusOr<WriteLatency> latency = ParseWriteLatency(kLatency);
  ASSERT_TRUE(latency.ok()) << latency.status();
  EXPECT_DOUBLE_EQ(latency->typical_us, 1.06);
  EXPECT_DOUBLE_EQ(latency->p99_us, 1.21);
  EXPECT_DOUBLE_EQ(latency->p999_us, 3.6);
}

TEST(PerftestTest, RefusesWhatHasNoTable) {
  for (const char* text :
       {"", "Couldn't connect to 10.0.0.1:18515\n", " #bytes #iterations BW average[Gb/sec]\n",
        " #bytes #iterations BW average[Gb/sec]\n 65536 nan nan\n",
        " #bytes #iterations BW average[furlong]\n 65536 5000 7\n",
        " #bytes #iterations BW average[Gb/sec]\n 65536 5000\n"})
    EXPECT_FALSE(ParseWriteBandwidth(text).ok()) << text;
  EXPECT_FALSE(ParseWriteLatency(kBandwidth).ok());
}

void AddDevice(FakeFileSystem& files, const std::string& device, const char* state) {
  const std::string port = "/sys/class/infiniband/" + device + "/ports/1";
  files.AddFile(port + "/state", state);
  files.AddFile(port + "/rate", "100 Gb/sec (4X EDR)\n");
  files.AddFile(port + "/link_layer", "InfiniBand\n");
  files.AddFile(port + "/counters/symbol_error", "5\n");
  files.AddFile(port + "/counters/link_downed", "1\n");
}

TEST(RdmaPortsTest, TheActiveOnesAreMeasured) {
  FakeFileSystem files;
  EXPECT_TRUE(RdmaPorts(files).empty());
  AddDevice(files, "mlx5_0", "1: DOWN\n");
  AddDevice(files, "mlx5_1", "4: ACTIVE\n");
  AddDevice(files, "mlx5_2", "4: ACTIVE\n");
  std::vector<RdmaPort> ports = RdmaPorts(files);
  EXPECT_THAT(ActivePorts(ports, "").value(), ElementsAre(1, 2));
  EXPECT_THAT(ActivePorts(ports, "mlx5_2").value(), ElementsAre(2));
  EXPECT_EQ(ports[0].errors.at("symbol_error"), 5);
  EXPECT_FALSE(IsActive(files, ports[0]));
  EXPECT_TRUE(IsActive(files, ports[1]));
  EXPECT_TRUE(absl::IsFailedPrecondition(ActivePorts(ports, "mlx5_0").status()));
  EXPECT_TRUE(absl::IsNotFound(ActivePorts(ports, "mlx5_7").status()));
  // An Ethernet card that supports RDMA, too, is not cabled for it.
  ports[2].link_layer = "Ethernet";
  EXPECT_THAT(ActivePorts(ports, "").value(), ElementsAre(1));
  EXPECT_THAT(ActivePorts(ports, "mlx5_2").value(), ElementsAre(2));
  ports[0].link_layer = ports[1].link_layer = "Ethernet";
  EXPECT_THAT(ActivePorts(ports, "").value(), ElementsAre(1, 2));
  EXPECT_EQ(PortName({.device = "mlx4_0", .port = 2}), "mlx4_0/2");
}

TEST(RdmaPortsTest, EachPortOfBothNodesIsMatched) {
  using Matches = std::vector<PortMatch>;
  EXPECT_EQ(MatchPorts({0, 1}, {0, 1}), (Matches{{0, 0}, {1, 1}}));
  EXPECT_EQ(MatchPorts({0, 1}, {1}), (Matches{{1, 1}, {0, 1}}));
  EXPECT_EQ(MatchPorts({2}, {0, 1, 2}), (Matches{{2, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(MatchPorts({0}, {3}), (Matches{{0, 3}}));
  EXPECT_EQ(MatchPorts({0, 1}, {4, 5, 6}), (Matches{{0, 4}, {1, 5}, {0, 6}}));
  EXPECT_EQ(MatchPorts({}, {1}), Matches());
}

// Both ranks over loopback, with the programs and files of the test.
class RdmaPairTest : public ::testing::Test {
 protected:
  // Gives both sides an active port and a perftest that knows IPv6.
  void UseNewPerftest() {
    for (int rank = 0; rank < 2; ++rank) {
      AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
      processes_[rank].On("ib_write_bw --help", FakeProcessRunner::Prints("      --ipv6-addr \n"));
      processes_[rank].On("ib_write_bw -d", FakeProcessRunner::Prints(kBandwidth));
      processes_[rank].On("ib_write_bw --version", FakeProcessRunner::Prints("Version: 6.06\n"));
      processes_[rank].On("ib_write_lat", FakeProcessRunner::Prints(kLatency));
    }
  }

  std::vector<CheckResult> Run(const std::map<std::string, std::string>& given = {}) {
    const checks::CheckSpec& spec = *checks::FindCheck("rdma-pair");
    const checks::Parameters parameters = checks::Parameters::Parse(spec, given).value();
    testing::BurninMeeting meeting(2, address_);
    RealClock clock;
    std::vector<CheckResult> results(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        const auto index = static_cast<size_t>(rank);
        testing::RankReporter reporter(meeting, rank);
        CheckContext context{.parameters = parameters,
                             .reporter = reporter,
                             .clock = clock,
                             .files = files_[index],
                             .processes = processes_[index],
                             .rank = rank,
                             .ranks = 2,
                             .pair_key = "key"};
        results[index] = RunRdmaPair(context);
        FinishResult(spec, results[index]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  std::string address_ = "127.0.0.1";
  FakeFileSystem files_[2];
  FakeProcessRunner processes_[2];
};

TEST_F(RdmaPairTest, WithoutADeviceItIsSkipped) {
  const auto results = Run();
  EXPECT_EQ(results[0].outcome, Outcome::kSkipped);
  EXPECT_THAT(results[0].reason, Said());
}

TEST_F(RdmaPairTest, ADeviceThatIsAskedForAndNotThereIsAFault) {
  const auto results = Run({{"device", "mlx5_0"}});
  EXPECT_EQ(results[0].outcome, Outcome::kFail);
  EXPECT_EQ(results[0].faults[0].code, "missing_device");
}

TEST_F(RdmaPairTest, WithoutPerftestItIsUnknown) {
  for (FakeFileSystem& files : files_) AddDevice(files, "mlx5_0", "4: ACTIVE\n");
  const auto results = Run();
  EXPECT_EQ(results[0].outcome, Outcome::kUnknown);
  EXPECT_THAT(results[0].reason, Said());
}

TEST_F(RdmaPairTest, EachSideServesInItsTurn) {
  for (int rank = 0; rank < 2; ++rank) {
    AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
    processes_[rank].On("ib_write_bw", FakeProcessRunner::Prints(kBandwidth));
    processes_[rank].On("ib_write_lat", FakeProcessRunner::Prints(kLatency));
  }
  const auto results = Run({{"gid-index", "3"}});
  for (const CheckResult& result : results) {
    EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
    EXPECT_EQ(MetricOf(result, "write_send_gbits"), 97.6);
    EXPECT_EQ(MetricOf(result, "write_receive_gbits"), 97.6);
    EXPECT_EQ(MetricOf(result, "write_latency_p99"), 1.21);
    EXPECT_EQ(MetricOf(result, "port_errors", "symbol_error"), 0);
    EXPECT_EQ(result.subjects[0].attributes.at("rate"), "100 Gb/sec (4X EDR)");
  }
  // A client names the server; a server names nobody.
  const std::vector<std::string>& commands = processes_[0].commands();
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_THAT(commands[1], ::testing::EndsWith("-D 10 -s 8388608 127.0.0.1"));
  EXPECT_THAT(commands[1], HasSubstr("-d mlx5_0 -i 1 -p "));
  EXPECT_THAT(commands[1], HasSubstr("-x 3"));
  EXPECT_THAT(commands[2], ::testing::EndsWith("-D 10 -s 8388608"));
  EXPECT_THAT(commands[3], ::testing::StartsWith("ib_write_lat"));
}

// perftest resolves names by itself, to an address of either family.
TEST_F(RdmaPairTest, ANamedPartnerIsReachedAtItsAddress) {
  address_ = "localhost";
  UseNewPerftest();
  for (const CheckResult& result : Run()) EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_THAT(processes_[0].commands().back(), Not(HasSubstr("localhost")));
}

TEST_F(RdmaPairTest, OverIpv6BothSidesSaySo) {
  if (!Listen({.address = "::1"}, 1).ok()) GTEST_SKIP() << "no IPv6";
  address_ = "::1";
  UseNewPerftest();
  for (const CheckResult& result : Run()) EXPECT_EQ(result.outcome, Outcome::kPass);
  for (const FakeProcessRunner& processes : processes_) {
    std::vector<std::string> measured;
    for (const std::string& command : processes.commands())
      if (command.find(" -d ") != std::string::npos) measured.push_back(command);
    EXPECT_THAT(measured, SizeIs(3));
    EXPECT_THAT(measured, ::testing::Each(HasSubstr(" --ipv6-addr ")));
  }
  EXPECT_THAT(processes_[0].commands()[2], ::testing::EndsWith(" ::1"));
}

// As Debian 12 has it: 4.5.
TEST_F(RdmaPairTest, APerftestThatKnowsNoIpv6IsUnknown) {
  if (!Listen({.address = "::1"}, 1).ok()) GTEST_SKIP() << "no IPv6";
  address_ = "::1";
  for (int rank = 0; rank < 2; ++rank) {
    AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
    processes_[rank].On("ib_write_bw", FakeProcessRunner::Prints("      --ipv6 \n"));
  }
  for (const CheckResult& result : Run()) {
    EXPECT_EQ(result.outcome, Outcome::kUnknown);
    EXPECT_THAT(result.reason, HasSubstr("--ipv6-addr"));
  }
}

TEST_F(RdmaPairTest, EveryActivePortIsMeasured) {
  for (int rank = 0; rank < 2; ++rank) {
    AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
    AddDevice(files_[rank], "mlx5_1", "4: ACTIVE\n");
    processes_[rank].On("ib_write_bw", FakeProcessRunner::Prints(kBandwidth));
    processes_[rank].On("ib_write_lat", FakeProcessRunner::Prints(kLatency));
  }
  const auto results = Run({{"ports", "2"}});
  for (const CheckResult& result : results) {
    EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
    EXPECT_THAT(result.subjects, SizeIs(2));
    std::set<std::string> measured;
    for (const Metric& metric : result.metrics)
      if (metric.name == "write_send_gbits") measured.insert(metric.subject + " " + metric.variant);
    EXPECT_THAT(measured, ElementsAre("mlx5_0 1", "mlx5_1 2"));
  }
  EXPECT_EQ(processes_[0].commands().size(), 7u);
  EXPECT_THAT(processes_[0].commands()[4], HasSubstr("-d mlx5_1 -i 1"));
  for (const sys::ProcessSpec& spec : processes_[0].specs()) EXPECT_TRUE(spec.die_with_parent);
}

TEST_F(RdmaPairTest, APortThatIsDownIsAFaultAndTheOtherIsMeasured) {
  for (int rank = 0; rank < 2; ++rank) {
    AddDevice(files_[rank], "mlx5_0", rank == 0 ? "1: DOWN\n" : "4: ACTIVE\n");
    AddDevice(files_[rank], "mlx5_1", "4: ACTIVE\n");
    processes_[rank].On("ib_write_bw", FakeProcessRunner::Prints(kBandwidth));
    processes_[rank].On("ib_write_lat", FakeProcessRunner::Prints(kLatency));
  }
  const auto results = Run({{"ports", "2"}});
  EXPECT_EQ(results[0].outcome, Outcome::kFail);
  EXPECT_EQ(results[0].faults[0].code, "link_down");
  EXPECT_THAT(results[0].reason, Said());
  EXPECT_EQ(MetricOf(results[0], "write_send_gbits", "1"), 97.6);
  // The partner measures both of its ports, with the only one here.
  EXPECT_EQ(results[1].outcome, Outcome::kPass) << results[1].reason;
  EXPECT_EQ(MetricOf(results[1], "write_send_gbits", "2"), 97.6);
}

// Like a perftest that waits for a partner: until it is told to end.
sys::ProcessResult UntilStopped(const sys::ProcessSpec& spec) {
  const absl::Time patience = absl::Now() + absl::Seconds(40);
  while (absl::Now() < patience) {
    if (spec.control != nullptr && spec.control->Take().stop_after.has_value())
      return {.signal = SIGTERM, .stopped = true};
    absl::SleepFor(absl::Milliseconds(10));
  }
  return {.signal = SIGKILL, .timed_out = true};
}

TEST_F(RdmaPairTest, AServerDoesNotWaitForAClientThatFailed) {
  for (int rank = 0; rank < 2; ++rank) AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
  processes_[0].On("ib_write_bw", FakeProcessRunner::Prints("Failed to modify QP\n", 1));
  processes_[1].On("ib_write_bw --version", FakeProcessRunner::Prints("Version: 6.06\n"));
  processes_[1].On("ib_write_bw", UntilStopped);
  const absl::Time start = absl::Now();
  const auto results = Run();
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  for (const CheckResult& result : results) EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(results[0].reason, Said());
}

TEST_F(RdmaPairTest, ALinkThatGoesDownEndsTheTest) {
  for (int rank = 0; rank < 2; ++rank) {
    AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
    processes_[rank].On("ib_write_bw --version", FakeProcessRunner::Prints("Version: 6.06\n"));
    processes_[rank].On("ib_write_bw", UntilStopped);
  }
  processes_[0].On("ib_write_bw --version", [this](const sys::ProcessSpec&) {
    files_[0].AddFile("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
    return FakeProcessRunner::Prints("Version: 6.06\n");
  });
  const absl::Time start = absl::Now();
  const auto results = Run();
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  EXPECT_EQ(results[0].outcome, Outcome::kFail);
  EXPECT_EQ(results[0].faults[0].code, "link_down");
  EXPECT_EQ(results[0].faults[0].subject, "mlx5_0");
  EXPECT_EQ(results[1].outcome, Outcome::kUnknown);
}

// A bad cable passed as long as the rate was there.
TEST_F(RdmaPairTest, ErrorsOfThePortDuringTheTestAreFaults) {
  struct Case {
    const char *counter, *before, *after, *fault;
  };
  for (const Case& each : {Case{"symbol_error", "5\n", "15\n", ""},
                           Case{"symbol_error", "5\n", "30\n", "symbol_errors"},
                           Case{"link_error_recovery", "2\n", "3\n", "link_flapped"},
                           Case{"link_error_recovery", "2\n", "2\n", ""},
                           Case{"link_downed", "1\n", "2\n", "link_flapped"}}) {
    SCOPED_TRACE(absl::StrCat(each.counter, " ", each.after));
    UseNewPerftest();
    const std::string path =
        absl::StrCat("/sys/class/infiniband/mlx5_0/ports/1/counters/", each.counter);
    files_[0].AddFile(path, each.before);
    processes_[0].On("ib_write_lat", [&](const sys::ProcessSpec&) {
      files_[0].AddFile(path, each.after);
      return FakeProcessRunner::Prints(kLatency);
    });
    const auto results = Run();
    EXPECT_EQ(results[1].outcome, Outcome::kPass) << results[1].reason;
    if (*each.fault == '\0') {
      EXPECT_EQ(results[0].outcome, Outcome::kPass) << results[0].reason;
      continue;
    }
    ASSERT_THAT(results[0].faults, SizeIs(1));
    EXPECT_EQ(results[0].faults[0].code, each.fault);
    EXPECT_EQ(results[0].faults[0].subject, "mlx5_0");
    EXPECT_THAT(results[0].faults[0].message, Said());
  }
}

// Whether there were more errors cannot be seen.
TEST_F(RdmaPairTest, ACounterAtItsMaximumIsUnknown) {
  UseNewPerftest();
  files_[0].AddFile("/sys/class/infiniband/mlx5_0/ports/1/counters/link_error_recovery", "255\n");
  files_[1].AddFile("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "65535\n");
  for (const CheckResult& result : Run()) {
    EXPECT_EQ(result.outcome, Outcome::kUnknown);
    EXPECT_THAT(result.reason, Said());
    EXPECT_EQ(MetricOf(result, "write_send_gbits"), 97.6);
  }
}

TEST_F(RdmaPairTest, AProgramThatFailsIsUnknownOnBothSides) {
  for (int rank = 0; rank < 2; ++rank) {
    AddDevice(files_[rank], "mlx5_0", "4: ACTIVE\n");
    processes_[rank].On("ib_write_bw",
                        FakeProcessRunner::Prints("Unable to open file descriptor\n", 1));
  }
  const auto results = Run();
  for (const CheckResult& result : results) EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(results[0].reason, Said());
}

}  // namespace
}  // namespace muster::burnin
