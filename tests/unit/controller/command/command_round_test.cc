#include "controller/command/command_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::UnixEpoch();

std::vector<CommandNode> Nodes(int count) {
  std::vector<CommandNode> nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back({absl::StrCat("c", i), absl::StrCat("u", i)});
  return nodes;
}

v1::CommandEnd Exited(uint32_t status, const std::string& output = "") {
  v1::CommandEnd end;
  end.set_outcome(v1::COMMAND_OUTCOME_EXITED);
  end.set_exit_status(status);
  end.set_output(output);
  return end;
}

std::vector<std::string> Names(const std::vector<CommandNode>& nodes) {
  std::vector<std::string> names;
  for (const CommandNode& node : nodes) names.push_back(node.name);
  return names;
}

TEST(CommandRoundTest, StartsAsManyAsItsReaderTakes) {
  CommandRound round(Nodes(4), 2, absl::Seconds(60));
  EXPECT_THAT(Names(round.TakeStarts(kStart)), ElementsAre("c1", "c2"));
  EXPECT_THAT(round.TakeStarts(kStart), IsEmpty());
  round.OnEnd("u2", Exited(0));
  EXPECT_THAT(round.TakeStarts(kStart), IsEmpty()) << "nobody has taken the end";
  EXPECT_EQ(round.TakeEnd()->node(), "c2");
  EXPECT_THAT(Names(round.TakeStarts(kStart)), ElementsAre("c3"));
  round.OnEnd("u1", Exited(0));
  round.OnEnd("u3", Exited(0));
  EXPECT_EQ(round.TakeEnd()->node(), "c1");
  EXPECT_EQ(round.TakeEnd()->node(), "c3");
  EXPECT_FALSE(round.IsOver());
  EXPECT_THAT(Names(round.TakeStarts(kStart)), ElementsAre("c4"));
  round.OnEnd("u4", Exited(0));
  EXPECT_FALSE(round.IsOver());
  EXPECT_EQ(round.TakeEnd()->node(), "c4");
  EXPECT_TRUE(round.IsOver());
}

TEST(CommandRoundTest, ANodeIsHeardOnceAndOnlyWhileItRuns) {
  CommandRound round(Nodes(2), 1, absl::Seconds(60));
  round.OnEnd("u1", Exited(0));  // before its start
  EXPECT_FALSE(round.HasEnds());
  round.TakeStarts(kStart);
  round.OnEnd("u2", Exited(0));  // another's
  round.OnEnd("u9", Exited(0));
  EXPECT_FALSE(round.HasEnds());
  round.OnEnd("u1", Exited(3));
  round.OnEnd("u1", Exited(0));
  EXPECT_EQ(round.TakeEnd()->end().exit_status(), 3u);
  EXPECT_FALSE(round.HasEnds());
  EXPECT_EQ(round.Summary(), "2 nodes: 1 exited with 3, 1 not finished");
}

TEST(CommandRoundTest, ASilentNodeIsLostInTime) {
  CommandRound round(Nodes(2), 2, absl::Seconds(60));
  EXPECT_EQ(round.NextDeadline(), absl::InfiniteFuture());
  round.TakeStarts(kStart);
  EXPECT_EQ(round.NextDeadline(), kStart + absl::Seconds(60));
  EXPECT_THAT(round.Expire(kStart + absl::Seconds(59)), IsEmpty());
  round.OnEnd("u2", Exited(0));
  EXPECT_THAT(round.Expire(kStart + absl::Seconds(60)), ElementsAre("u1"));
  round.TakeEnd();
  EXPECT_EQ(round.TakeEnd()->end().outcome(), v1::COMMAND_OUTCOME_LOST);
  EXPECT_TRUE(round.IsOver());
}

TEST(CommandRoundTest, NodesThatHaveNotJoinedAreNamed) {
  CommandRound round({{"c1", ""}, {"c2", "u2"}}, 1, absl::Seconds(60));
  const auto end = round.TakeEnd();
  EXPECT_EQ(end->node(), "c1");
  EXPECT_EQ(end->end().outcome(), v1::COMMAND_OUTCOME_NOT_CONNECTED);
  EXPECT_THAT(Names(round.TakeStarts(kStart)), ElementsAre("c2"));
}

// Only the controller knows whether a node is connected.
TEST(CommandRoundTest, AnAgentCannotClaimWhatTheControllerSays) {
  for (const v1::CommandOutcome outcome :
       {v1::COMMAND_OUTCOME_UNSPECIFIED, v1::COMMAND_OUTCOME_NOT_CONNECTED,
        v1::COMMAND_OUTCOME_LOST, static_cast<v1::CommandOutcome>(99)}) {
    CommandRound round(Nodes(1), 1, absl::Seconds(60));
    round.TakeStarts(kStart);
    v1::CommandEnd end;
    end.set_outcome(outcome);
    end.set_output("x");
    round.OnEnd("u1", end);
    EXPECT_EQ(round.TakeEnd()->end().outcome(), v1::COMMAND_OUTCOME_LOST);
  }
}

TEST(CommandRoundTest, TheDigestIsThatOfTheOutputsByName) {
  CommandRound round({{"c2", "u2"}, {"c1", "u1"}}, 2, absl::Seconds(60));
  round.TakeStarts(kStart);
  round.OnEnd("u2", Exited(0, "b\n"));
  round.OnEnd("u1", Exited(1, "a\n"));
  EXPECT_EQ(round.OutputDigest(),
            Sha256Hex(absl::StrCat("c1 ", Sha256Hex("a\n"), "\nc2 ", Sha256Hex("b\n"), "\n")));
  EXPECT_EQ(round.Summary(), "2 nodes: 1 exited with 0, 1 exited with 1");
}

}  // namespace
}  // namespace muster::controller
