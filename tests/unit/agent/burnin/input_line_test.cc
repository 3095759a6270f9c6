#include "agent/burnin/input_line.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/checks/scaling.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(InputLine, HasPeersByRank) {
  const auto line = ParseInputLine(
      R"({"peers":[{"address":"10.0.0.1","port":4711},{"address":"fd00::2","port":4712}]})");
  ASSERT_OK(line.status());
  ASSERT_THAT(line->peers, SizeIs(2));
  EXPECT_EQ(line->peers[1].address, "fd00::2");
  EXPECT_EQ(line->peers[1].port, 4712);
  EXPECT_EQ(line->stop, "");
}

TEST(InputLine, HasAStopWithItsReason) {
  EXPECT_EQ(ParseInputLine(R"({"stop":"stopped by admin:alice"})")->stop, "stopped by admin:alice");
  EXPECT_EQ(ParseInputLine(R"({"stop":""})")->stop, "no reason was given");
}

TEST(InputLine, HoldsTheEndpointsOfTheLargestRing) {
  std::string line = R"({"peers":[)";
  for (int rank = 0; rank < checks::kMaxRanks; ++rank)
    absl::StrAppend(&line, rank == 0 ? "" : ",", R"({"address":"compute-gpu-)", 10'000 + rank,
                    R"(.cluster.department.example.org","port":65535})");
  const absl::StatusOr<InputLine> input = ParseInputLine(line + "]}");
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->peers.size(), static_cast<size_t>(checks::kMaxRanks));
}

struct Refusal {
  std::string line;
  const char* message;
};

class RefusedLines : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedLines, SayWhy) {
  EXPECT_THAT(
      ParseInputLine(GetParam().line).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedLines,
    ::testing::Values(Refusal{"", "not a JSON object"}, Refusal{"[]", "not a JSON object"},
                      Refusal{R"({"peers":[]})", "neither"}, Refusal{R"({"stop":1})", "not text"},
                      Refusal{R"({"peers":[1]})", "not an object"},
                      Refusal{R"({"peers":[{"address":"","port":1}]})", "no address"},
                      Refusal{R"({"peers":[{"address":"a","port":0}]})", "no port"},
                      Refusal{R"({"peers":[{"address":"a","port":65536}]})", "no port"},
                      Refusal{R"({"peers":[{"address":"a","port":1.5}]})", "no port"},
                      Refusal{std::string(kMaxInputLine + 1, ' '), "too long"}));

}  // namespace
}  // namespace muster::burnin
