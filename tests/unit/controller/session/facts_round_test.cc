#include "controller/session/facts_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kFactsStart = absl::FromUnixSeconds(1700000000);
const absl::Time kDeadline = kFactsStart + absl::Minutes(1);

TEST(FactsRequest, OwnersAreToldApart) {
  using Owner = FactsRequest::Owner;
  for (const Owner owner : {Owner::kPlay, Owner::kRunEnd, Owner::kValidationStart,
                            Owner::kValidationEnd, Owner::kPerson}) {
    const std::optional<FactsRequest> request = ParseFactsRequest(ToRequestId({owner, "x-1/0"}));
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->owner, owner);
    EXPECT_EQ(request->id, "x-1/0");
  }
  for (const char* id : {"", "x-1/0", "playing/x-1", "/"})
    EXPECT_FALSE(ParseFactsRequest(id).has_value()) << id;
}

TEST(FactsRound, IsOverWhenAllHaveAnswered) {
  FactsRound facts;
  EXPECT_FALSE(facts.IsOver(kFactsStart));  // nobody was asked
  facts.Begin({"a", "b"}, kDeadline);
  EXPECT_THAT(facts.ToAsk(), ElementsAre("a", "b"));
  facts.OnAsked("a");
  EXPECT_THAT(facts.ToAsk(), ElementsAre("b"));
  EXPECT_TRUE(facts.OnAnswered("a"));
  EXPECT_FALSE(facts.OnAnswered("a"));
  EXPECT_FALSE(facts.OnAnswered("c")) << "was not asked";
  EXPECT_FALSE(facts.IsOver(kFactsStart));
  facts.OnAsked("b");
  facts.OnAnswered("b");
  EXPECT_TRUE(facts.IsOver(kFactsStart));
  EXPECT_FALSE(facts.HasAnswered("c"));
}

TEST(FactsRound, NobodyIsWaitedForWhereNobodyMayPass) {
  FactsRound facts;
  facts.Begin({}, kDeadline);
  EXPECT_TRUE(facts.IsOver(kFactsStart));
}

TEST(FactsRound, AsksAgainWhoWasLostAndWaitsForNobodyForEver) {
  FactsRound facts;
  facts.Begin({"a", "b"}, kDeadline);
  facts.OnAsked("a");
  facts.OnAsked("b");
  facts.OnAnswered("b");
  facts.OnLost("a");
  facts.OnLost("b");  // has answered
  EXPECT_THAT(facts.ToAsk(), ElementsAre("a"));
  facts.OnAsked("a");
  EXPECT_THAT(facts.ToAsk(), IsEmpty());
  EXPECT_FALSE(facts.IsOver(kDeadline - absl::Seconds(1)));
  EXPECT_TRUE(facts.IsOver(kDeadline));
  EXPECT_FALSE(facts.HasAnswered("a"));
  EXPECT_TRUE(facts.HasAnswered("b"));
  EXPECT_TRUE(facts.WaitsFor("a"));
  EXPECT_FALSE(facts.WaitsFor("b"));
  EXPECT_FALSE(facts.WaitsFor("c"));
}

TEST(FactsRound, ANodeThatIsDroppedIsNotWaitedFor) {
  FactsRound facts;
  facts.Begin({"a", "b"}, kDeadline);
  facts.OnAnswered("a");
  EXPECT_FALSE(facts.Drop("a")) << "has answered";
  EXPECT_TRUE(facts.Drop("b"));
  EXPECT_FALSE(facts.Drop("b"));
  EXPECT_TRUE(facts.HaveAll());
  facts.Begin({"a", "c"}, kDeadline);
  EXPECT_THAT(facts.ToAsk(), ElementsAre("c")) << "begun again, it adds";
}

}  // namespace
}  // namespace muster::controller
