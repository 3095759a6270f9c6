#include "controller/claim/node_claims.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

NodeClaims::Holder Holder(const std::string& id) {
  return {id, "validation " + id + " tests", "cancel it", absl::FromUnixSeconds(1700000000)};
}

TEST(NodeClaims, GivesAllNodesOrNone) {
  NodeClaims claims;
  ASSERT_OK(claims.Claim(Holder("v-1"), {"c001", "c002"}));
  EXPECT_THAT(claims.Claim(Holder("v-2"), {"c003", "c002", "c001"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // The failed claim did not take c003.
  ASSERT_OK(claims.Claim(Holder("v-3"), {"c003"}));
}

TEST(NodeClaims, TellWhoHoldsWhat) {
  NodeClaims claims;
  ASSERT_OK(claims.Claim(Holder("v-1"), {"c001", "c002"}));
  ASSERT_OK(claims.Claim(Holder("v-2"), {"c004"}));
  const auto taken = claims.HoldersOf({"c001", "c002", "c003", "c004"});
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken.at("v-1").nodes, (std::vector<std::string>{"c001", "c002"}));
  EXPECT_THAT(taken.at("v-2").reason, Said());
  EXPECT_TRUE(claims.HoldersOf({"c003"}).empty());
}

TEST(NodeClaims, AreGivenBack) {
  NodeClaims claims;
  ASSERT_OK(claims.Claim(Holder("v-1"), {"c001"}));
  ASSERT_OK(claims.Claim(Holder("v-1"), {"c001", "c002"}));
  claims.Release("v-9");
  claims.Release("v-1");
  EXPECT_OK(claims.Claim(Holder("v-2"), {"c001", "c002"}));
}

TEST(NodeClaims, OneNodeIsGivenBackByWhoHasItAlone) {
  NodeClaims claims;
  ASSERT_OK(claims.Claim(Holder("v-1"), {"c001", "c002"}));
  claims.ReleaseNode("v-9", "c002");
  EXPECT_FALSE(claims.Claim(Holder("v-2"), {"c002"}).ok());
  claims.ReleaseNode("v-1", "c002");
  ASSERT_OK(claims.Claim(Holder("v-2"), {"c002"}));
  claims.ReleaseNode("v-1", "c002");
  claims.Release("v-1");
  EXPECT_FALSE(claims.Claim(Holder("v-3"), {"c002"}).ok()) << "it is another's by now";
  EXPECT_OK(claims.Claim(Holder("v-3"), {"c001"}));
}

}  // namespace
}  // namespace muster::controller
