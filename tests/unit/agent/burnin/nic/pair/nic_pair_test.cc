#include <gmock/gmock.h>
#include <sys/resource.h>

#include "agent/burnin/nic/nic_checks.h"
#include "tests/fixtures/burnin_ranks.h"

namespace muster::burnin {
namespace {

using ::testing::HasSubstr;
using testing::MetricOf;
using testing::RankReporter;
using testing::RunRanks;

const checks::CheckSpec& NicPairSpec() { return *checks::FindCheck("nic-pair"); }

const std::map<std::string, std::string> kShort = {{"duration", "500ms"},
                                                   {"warmup", "100ms"},
                                                   {"streams", "3"},
                                                   {"latency-duration", "200ms"},
                                                   {"meet-timeout", "5s"}};

TEST(NicPairTest, TwoRanksAgreeOnWhatTheyMeasured) {
  const auto results = RunRanks(NicPairSpec(), RunNicPair, kShort, {"key", "key"});
  for (const CheckResult& result : results) {
    EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
    for (const checks::MetricSpec& metric : NicPairSpec().metrics)
      EXPECT_TRUE(MetricOf(result, metric.name).has_value()) << metric.name;
    EXPECT_GT(MetricOf(result, "receive_gbits").value(), 0.01);
    EXPECT_LE(MetricOf(result, "round_trip_p50"), MetricOf(result, "round_trip_p99"));
    EXPECT_EQ(MetricOf(result, "path_mtu"), 65535) << "of loopback";
    ASSERT_EQ(result.subjects.size(), 1u);
    EXPECT_EQ(result.subjects[0].id, "lo");
  }
  EXPECT_EQ(MetricOf(results[0], "send_gbits"), MetricOf(results[1], "receive_gbits"));
  EXPECT_EQ(MetricOf(results[1], "send_gbits"), MetricOf(results[0], "receive_gbits"));
  EXPECT_EQ(MetricOf(results[0], "round_trip_p99"), MetricOf(results[1], "round_trip_p99"));
}

TEST(NicPairTest, CopiesWhereItIsToldTo) {
  auto parameters = kShort;
  parameters["method"] = "copy";
  parameters["duplex"] = "false";
  const auto results = RunRanks(NicPairSpec(), RunNicPair, parameters, {"key", "key"});
  EXPECT_EQ(results[0].outcome, Outcome::kPass) << results[0].reason;
  EXPECT_THAT(results[0].tools, ::testing::ElementsAre("TCP, send"));
  EXPECT_FALSE(MetricOf(results[0], "duplex_send_gbits").has_value());
}

TEST(NicPairTest, DifferentKeysAreUnknown) {
  const auto results = RunRanks(NicPairSpec(), RunNicPair, kShort, {"key", "other"});
  EXPECT_EQ(results[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(results[1].outcome, Outcome::kUnknown);
  EXPECT_THAT(results[1].reason, HasSubstr("key"));
}

TEST(NicPairTest, APartnerThatStopsIsLost) {
  const auto results = RunRanks(NicPairSpec(), RunNicPair, kShort, {"key", "key"},
                                [](int rank, RankReporter& reporter) {
                                  if (rank == 1) reporter.StopAt("both ways at once, 3 streams");
                                });
  EXPECT_EQ(results[1].outcome, Outcome::kUnknown);
  EXPECT_THAT(results[1].reason, HasSubstr("stopped"));
  EXPECT_EQ(results[0].outcome, Outcome::kUnknown);
  EXPECT_THAT(results[0].reason, HasSubstr("partner lost"));
}

// Traffic is not kept: gigabytes pass, and the process grows only by the memory that it requests on
// purpose (round-trip times, a pattern per phase, stacks of threads) and by a sanitizer's overhead.
TEST(NicPairTest, MemoryDoesNotGrowWithTraffic) {
  const auto largest_mib = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  RunRanks(NicPairSpec(), RunNicPair, kShort, {"key", "key"});
  const long before = largest_mib();
  auto parameters = kShort;
  parameters["duration"] = "2s";
  parameters["streams"] = "16";
  const auto results = RunRanks(NicPairSpec(), RunNicPair, parameters, {"key", "key"});
  ASSERT_EQ(results[0].outcome, Outcome::kPass) << results[0].reason;
  EXPECT_LT(largest_mib() - before, 64);
}

}  // namespace
}  // namespace muster::burnin
