#include <gmock/gmock.h>

#include "agent/burnin/nic/nic_checks.h"
#include "tests/fixtures/burnin_ranks.h"

namespace muster::burnin {
namespace {

using ::testing::HasSubstr;
using testing::MetricOf;
using testing::RankReporter;
using testing::RunRanks;

const checks::CheckSpec& Spec() { return *checks::FindCheck("collective"); }

std::map<std::string, std::string> Small(const char* elements, const char* channels) {
  return {{"elements", elements},
          {"channels", channels},
          {"iterations", "3"},
          {"warmup-iterations", "1"},
          {"meet-timeout", "10s"}};
}

TEST(CollectiveTest, SumsAreRightForAnyNumberOfRanks) {
  struct Case {
    size_t ranks;
    const char* elements;
    const char* channels;
  };
  // Also with more ranks than elements, and chunks larger than any buffer.
  const Case cases[] = {{2, "1000003", "1"}, {3, "1000003", "4"}, {5, "400000", "2"},
                        {4, "3", "1"},       {3, "1", "2"},       {8, "100000", "1"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.ranks, " ranks, ", c.elements, " elements"));
    const auto results = RunRanks(Spec(), RunCollective, Small(c.elements, c.channels),
                                  std::vector<std::string>(c.ranks, "key"));
    for (const CheckResult& result : results) {
      EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
      EXPECT_EQ(MetricOf(result, "ranks"), c.ranks);
      EXPECT_GT(MetricOf(result, "busbw").value(), 0);
      EXPECT_LE(MetricOf(result, "busbw_min"), MetricOf(result, "busbw"));
      EXPECT_EQ(MetricOf(result, "scaling_worst", "n=1"), 1);
      EXPECT_TRUE(MetricOf(result, "scaling_best", absl::StrCat("n=", c.ranks)).has_value());
      // All report the slowest rank.
      EXPECT_EQ(MetricOf(result, "all_reduce_ms"), MetricOf(results[0], "all_reduce_ms"));
    }
  }
}

TEST(CollectiveTest, ARankThatLeavesIsNamedByAll) {
  const auto results =
      RunRanks(Spec(), RunCollective, Small("1000000", "2"), std::vector<std::string>(4, "key"),
               [](int rank, RankReporter& reporter) {
                 if (rank == 2) reporter.StopAt("all-reduce 3 of 4");
               });
  for (const int rank : {0, 1, 3}) {
    const CheckResult& result = results[static_cast<size_t>(rank)];
    EXPECT_EQ(result.outcome, Outcome::kUnknown);
    EXPECT_THAT(result.reason, HasSubstr("partner lost: rank 2")) << "said rank " << rank;
    EXPECT_EQ(result.lost_rank, 2) << "said rank " << rank;
    EXPECT_FALSE(result.stopped);
  }
  EXPECT_TRUE(results[2].stopped);
  EXPECT_FALSE(results[2].lost_rank.has_value());
}

}  // namespace
}  // namespace muster::burnin
