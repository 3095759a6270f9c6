#include "controller/validation/verdict/ring_outlook.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/checks/scaling.h"

namespace muster::controller::validation {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kBytes = 102'228'128;
constexpr double kHop = 20e-6;
constexpr int kNodes = 4;

class RingOutlookTest : public ::testing::Test {
 protected:
  RingOutlookTest() {
    for (const std::string& name : nodes_) matrix_.nodes.push_back({name, "sw", {}});
    matrix_.nodes.push_back({"stranger", "sw", {}});
    for (uint32_t a = 0; a < kNodes; ++a) {
      for (uint32_t b = 0; b < kNodes; ++b) {
        if (a != b) matrix_.rates.push_back({a, b, a == 2 && b == 3 ? 8.0 : 9.4, 10, 0, "", ""});
      }
    }
    matrix_.rates.push_back({0, 4, 1, 10, 0, "", ""});  // not in the ring
    matrix_.rates.push_back({1, 0, 0, 10, 0, "", ""});  // failed at first
  }

  static void Add(v1::CheckResult& result, const char* name, const std::string& variant,
                  double value) {
    v1::Metric& metric = *result.add_metrics();
    metric.set_name(name);
    metric.set_variant(variant);
    metric.set_value(value);
  }
  // The check's own report of a ring whose links carry this much.
  static v1::CheckResult Ring(double gbits) {
    const checks::RingModel model{.latency_s = kHop, .bytes_per_second = gbits * 1e9 / 8};
    const double seconds = checks::RingSeconds(model, kBytes, kNodes);
    v1::CheckResult result;
    Add(result, "ranks", "", kNodes);
    Add(result, "all_reduce_ms", "", seconds * 1e3);
    Add(result, "algbw", "", checks::AlgorithmBandwidth(kBytes, seconds) / 1e9);
    Add(result, "busbw", "", checks::BusBandwidth(kBytes, seconds, kNodes) / 1e9);
    Add(result, "hop_latency", "", kHop * 1e6);
    for (int n = 1; n <= kNodes; ++n) {
      Add(result, "predicted_ms", absl::StrCat("n=", n),
          1e3 * checks::RingSeconds(model, kBytes, n));
    }
    return result;
  }
  std::optional<v1::RingOutlook> Compare(const v1::CheckResult& result) {
    const PairMatrix* const pairs[] = {&matrix_};
    return CompareWithPairs(
        {"network", checks::FindCheck("collective"), &parameters_, &result, &nodes_}, pairs);
  }

  const std::vector<std::string> nodes_ = {"a", "b", "c", "d"};
  std::map<std::string, std::string> parameters_;
  PairMatrix matrix_;
};

TEST_F(RingOutlookTest, SetsTheRingBesideItsPairs) {
  const auto outlook = Compare(Ring(7.2));
  ASSERT_TRUE(outlook.has_value());
  EXPECT_EQ(outlook->stage(), "network");
  EXPECT_EQ(outlook->check(), "collective");
  EXPECT_EQ(outlook->nodes(), 4u);
  EXPECT_NEAR(outlook->model_gbits_per_s(), 7.2, 1e-9);
  EXPECT_LT(outlook->link_gbits_per_s(), 7.2);
  EXPECT_EQ(outlook->slowest_pair_gbits_per_s(), 8);
  EXPECT_EQ(outlook->slowest_from() + outlook->slowest_to(), "cd");
  EXPECT_EQ(outlook->median_pair_gbits_per_s(), 9.4);
  EXPECT_EQ(outlook->pair_rates(), 12u);
  EXPECT_THAT(outlook->message(),
              AllOf(HasSubstr("90 % of the slowest pair, from c to d with 8 Gbit/s"),
                    Not(HasSubstr("falls short"))));
  ASSERT_EQ(outlook->forecasts_size(), 4);
  const v1::RingForecast& one = outlook->forecasts(0);
  EXPECT_EQ(one.ring_ms() + one.pairs_ms(), 0);
  EXPECT_EQ(one.ring_worst() * one.pairs_best(), 1);
  const v1::RingForecast& four = outlook->forecasts(3);
  EXPECT_EQ(four.nodes(), 4u);
  // By hand: 2·3·20 µs + 2·3/4 · 102.228 MB / (8 Gbit/s), and the same by 7.2 Gbit/s; 200 ms of
  // computing.
  EXPECT_NEAR(four.pairs_ms(), 0.12 + 153.342, 0.001);
  EXPECT_NEAR(four.ring_ms(), 0.12 + 170.380, 0.001);
  EXPECT_NEAR(four.pairs_worst(), 200 / (200 + 153.462), 1e-5);
  EXPECT_NEAR(four.ring_worst(), 200 / (200 + 170.500), 1e-5);
  EXPECT_EQ(four.ring_best(), 1);
}

TEST_F(RingOutlookTest, TheSuiteMaySayWhatANodeComputes) {
  parameters_["compute-time"] = "100ms";
  EXPECT_NEAR(Compare(Ring(7.2))->forecasts(3).pairs_best(), 100 / 153.462, 1e-5);
}

TEST_F(RingOutlookTest, ARingThatFallsShortIsToldAndNoMore) {
  const auto outlook = Compare(Ring(5));
  ASSERT_TRUE(outlook.has_value());
  EXPECT_THAT(outlook->message(), HasSubstr("The ring falls short of its pairs"));
}

TEST_F(RingOutlookTest, OfSeveralMeasurementsThePairsBestCounts) {
  matrix_.rates.push_back({2, 3, 9.3, 10, 0, "", ""});
  EXPECT_EQ(Compare(Ring(7.2))->slowest_pair_gbits_per_s(), 9.3);
}

TEST_F(RingOutlookTest, NothingWithoutPairsOrWithoutARing) {
  v1::CheckResult broken = Ring(7.2);
  for (v1::Metric& metric : *broken.mutable_metrics()) {
    if (metric.name() == "algbw") metric.set_value(std::nan(""));
  }
  EXPECT_FALSE(Compare(broken).has_value());
  EXPECT_FALSE(Compare({}).has_value());
  v1::CheckResult more = Ring(7.2);
  more.mutable_metrics(0)->set_value(1e9);
  EXPECT_FALSE(Compare(more).has_value());
  matrix_.rates.clear();
  EXPECT_FALSE(Compare(Ring(7.2)).has_value());
}

}  // namespace
}  // namespace muster::controller::validation
