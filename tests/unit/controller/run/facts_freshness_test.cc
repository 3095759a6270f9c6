#include "controller/run/facts_freshness.h"

#include <gtest/gtest.h>

namespace muster::controller {
namespace {

const absl::Time kAsked = absl::FromUnixSeconds(1700000000);
constexpr absl::Duration kMoment = absl::Seconds(1);

// Thousands of nodes do not tell each play again what the run has not changed.
TEST(FactsFreshness, ARunBelievesItsOwnNodesForAMoment) {
  FactsFreshness facts;
  EXPECT_FALSE(facts.IsFreshInRun("ua", "r-1", kAsked));
  facts.OnAsked("ua", "r-1/0", kAsked);
  EXPECT_FALSE(facts.IsFreshInRun("ua", "r-1", kAsked)) << "it has not answered";
  facts.OnTold("ua", "r-1/0");
  EXPECT_TRUE(facts.IsFreshInRun("ua", "r-1", kAsked + kFactsFresh - kMoment));
  EXPECT_FALSE(facts.IsFreshInRun("ua", "r-1", kAsked + kFactsFresh)) << "too old";
  EXPECT_FALSE(facts.IsFreshInRun("ua", "r-1", kAsked - kMoment)) << "a clock set back";
  EXPECT_FALSE(facts.IsFreshInRun("ua", "r-11", kAsked)) << "another run that works on it";
  facts.Forget("ua");
  EXPECT_FALSE(facts.IsFreshInRun("ua", "r-1", kAsked));
}

TEST(FactsFreshness, ARunBelievesOtherNodesForLonger) {
  FactsFreshness facts;
  facts.OnAsked("ua", "r-1/0", kAsked);
  facts.OnTold("ua", "r-1/0");
  facts.OnTold("ux", "r-1/0");
  EXPECT_TRUE(facts.IsFreshOutside("ua", kAsked + kFactsFreshOutside - kMoment));
  EXPECT_FALSE(facts.IsFreshOutside("ua", kAsked + kFactsFreshOutside));
  EXPECT_FALSE(facts.IsFreshOutside("ua", kAsked - kMoment));
  EXPECT_FALSE(facts.IsFreshOutside("ux", kAsked)) << "nobody has asked it";
  facts.Forget("ua");
  EXPECT_FALSE(facts.IsFreshOutside("ua", kAsked));
}

TEST(FactsFreshness, AnAnswerFromBeforeAChangeIsNotFresh) {
  FactsFreshness facts;
  facts.OnAsked("ua", "r-1/0", kAsked);
  facts.Forget("ua");
  EXPECT_EQ(facts.OpenQuestion("ua", kAsked), "");
  facts.OnTold("ua", "r-1/0");
  EXPECT_FALSE(facts.IsFreshOutside("ua", kAsked));
  facts.OnAsked("ua", "r-2/0", kAsked);
  facts.OnTold("ua", "r-1/0");
  EXPECT_FALSE(facts.IsFreshOutside("ua", kAsked)) << "the answer to an earlier question";
  facts.OnTold("ua", "r-2/0");
  EXPECT_TRUE(facts.IsFreshOutside("ua", kAsked));
}

// A run that shared an older one would begin later than without it.
TEST(FactsFreshness, AQuestionIsSharedWhileItIsYoungAndNotAnswered) {
  FactsFreshness facts;
  facts.OnAsked("ua", "r-1/0", kAsked);
  EXPECT_EQ(facts.OpenQuestion("ua", kAsked + kQuestionShared - kMoment), "r-1/0");
  EXPECT_EQ(facts.OpenQuestion("ua", kAsked + kQuestionShared), "");
  EXPECT_EQ(facts.OpenQuestion("ua", kAsked - kMoment), "") << "a clock set back";
  facts.OnTold("ua", "r-1/0");
  EXPECT_EQ(facts.OpenQuestion("ua", kAsked), "");
}

}  // namespace
}  // namespace muster::controller
