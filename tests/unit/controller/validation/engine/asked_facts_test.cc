#include "controller/validation/engine/asked_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller::validation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kFactsStart = absl::FromUnixSeconds(1700000000);

TEST(AskedFacts, RequestsAreToldFromThoseOfOthers) {
  for (const bool at_end : {false, true}) {
    const std::optional<FactsRequest> request =
        ParseFactsRequestId(FactsRequestId({at_end, "v-1"}));
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->at_end, at_end);
    EXPECT_EQ(request->validation_id, "v-1");
  }
  EXPECT_FALSE(ParseFactsRequestId("after/r-1").has_value());
  EXPECT_FALSE(ParseFactsRequestId("").has_value());
}

TEST(AskedFacts, IsOverWhenAllHaveAnswered) {
  AskedFacts facts;
  EXPECT_FALSE(facts.IsOver(kFactsStart));  // nobody was asked
  facts.Begin({"a", "b"}, kFactsStart);
  EXPECT_THAT(facts.ToAsk(), ElementsAre("a", "b"));
  facts.OnAsked("a");
  EXPECT_THAT(facts.ToAsk(), ElementsAre("b"));
  facts.OnAnswered("a");
  facts.OnAnswered("a");
  facts.OnAnswered("c");  // was not asked
  EXPECT_FALSE(facts.IsOver(kFactsStart));
  facts.OnAsked("b");
  facts.OnAnswered("b");
  EXPECT_TRUE(facts.IsOver(kFactsStart));
  EXPECT_FALSE(facts.HaveAnswer("c"));
}

TEST(AskedFacts, NobodyIsWaitedForWhereNobodyMayPass) {
  AskedFacts facts;
  facts.Begin({}, kFactsStart);
  EXPECT_TRUE(facts.IsOver(kFactsStart));
}

TEST(AskedFacts, AsksAgainWhoWasLostAndWaitsForNobodyForEver) {
  AskedFacts facts;
  facts.Begin({"a", "b"}, kFactsStart);
  facts.OnAsked("a");
  facts.OnAsked("b");
  facts.OnAnswered("b");
  facts.OnLost("a");
  facts.OnLost("b");  // has answered
  EXPECT_THAT(facts.ToAsk(), ElementsAre("a"));
  facts.OnAsked("a");
  EXPECT_THAT(facts.ToAsk(), IsEmpty());
  EXPECT_FALSE(facts.IsOver(kFactsStart + AskedFacts::kWait - absl::Seconds(1)));
  EXPECT_TRUE(facts.IsOver(kFactsStart + AskedFacts::kWait));
  EXPECT_FALSE(facts.HaveAnswer("a"));
  EXPECT_TRUE(facts.HaveAnswer("b"));
  EXPECT_TRUE(facts.WaitsFor("a"));
  EXPECT_FALSE(facts.WaitsFor("b"));
  EXPECT_FALSE(facts.WaitsFor("c"));
}

}  // namespace
}  // namespace muster::controller::validation
