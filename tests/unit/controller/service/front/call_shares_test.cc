#include "controller/service/front/call_shares.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/service/front/authorization.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

class CallSharesTest : public ::testing::Test {
 protected:
  // As many as the person may have.
  void Fill(const std::string& person, CallKind kind) {
    for (size_t i = 0; i < MostAtOnce(kind); ++i) {
      ASSERT_OK(shares_.Admit(person, kind));
      shares_.Begin(person, kind);
    }
  }

  testing::FakeClock clock_;
  CallShares shares_{clock_};
};

TEST_F(CallSharesTest, OnePersonHasABoundedNumberOfCallsAtOnce) {
  Fill("eve", CallKind::kQuick);
  EXPECT_THAT(shares_.Admit("eve", CallKind::kQuick), StatusIs(kExhausted, Said()));
  EXPECT_OK(shares_.Admit("vera", CallKind::kQuick)) << "another person's are not touched";
  EXPECT_OK(shares_.Admit("eve", CallKind::kWatch)) << "each kind is counted by itself";
  shares_.End("eve", CallKind::kQuick);
  EXPECT_OK(shares_.Admit("eve", CallKind::kQuick));
  EXPECT_THAT(shares_.Admit("eve", CallKind::kQuick), StatusIs(kExhausted, Said()));
}

TEST_F(CallSharesTest, EachKindHasItsOwnNumberAndWords) {
  struct Row {
    const char* rpc;
    size_t most;
    const char* words;
  };
  for (const Row& row :
       {Row{"/muster.v1.NodeService/ListNodes", 16, "calls in progress"},
        Row{"/muster.v1.ExplainService/ExplainVariable", 2, "calls that compile"},
        Row{"/muster.v1.ArtifactService/GetBundle", 2, "calls that compile"},
        Row{"/muster.v1.InventoryService/GetInventory", 2, "calls that compile"},
        Row{"/muster.v1.RunService/WatchRun", 16, "watches of runs"},
        Row{"/muster.v1.ArtifactService/UploadBundle", 4, "transfers of bundles"}}) {
    SCOPED_TRACE(row.rpc);
    const CallKind kind = KindOf(row.rpc);
    EXPECT_EQ(MostAtOnce(kind), row.most);
    Fill(row.rpc, kind);  // each row has its own person
    EXPECT_THAT(shares_.Admit(row.rpc, kind),
                StatusIs(kExhausted, AllOf(Said(), HasSubstr(row.words))));
  }
}

TEST_F(CallSharesTest, CallsThatNeverBeginCountForAMinuteOnly) {
  for (size_t i = 0; i < MostAtOnce(CallKind::kHeavy); ++i)
    ASSERT_OK(shares_.Admit("eve", CallKind::kHeavy));
  EXPECT_THAT(shares_.Admit("eve", CallKind::kHeavy), StatusIs(kExhausted, Said()));
  clock_.Advance(CallShares::kBeginWithin + absl::Seconds(1));
  EXPECT_OK(shares_.Admit("eve", CallKind::kHeavy));
}

// A person who has read an answer may ask again before the call has ended here.
TEST_F(CallSharesTest, ACallThatAnswersLeavesItsPlaceToOneOther) {
  Fill("ann", CallKind::kHeavy);
  shares_.Answer("ann", CallKind::kHeavy);
  EXPECT_OK(shares_.Admit("ann", CallKind::kHeavy));
  EXPECT_TRUE(absl::IsResourceExhausted(shares_.Admit("ann", CallKind::kHeavy)));
  shares_.End("ann", CallKind::kHeavy);
  EXPECT_TRUE(absl::IsResourceExhausted(shares_.Admit("ann", CallKind::kHeavy)))
      << "its place is taken";
}

TEST_F(CallSharesTest, AnswersThatNobodyReadsCount) {
  const size_t most = MostAtOnce(CallKind::kHeavy);
  size_t admitted = 0;
  for (size_t i = 0; i < 10 * most; ++i) {
    if (!shares_.Admit("eve", CallKind::kHeavy).ok()) break;
    shares_.Begin("eve", CallKind::kHeavy);
    shares_.Answer("eve", CallKind::kHeavy);
    ++admitted;
  }
  EXPECT_EQ(admitted, 2 * most);
  clock_.Advance(CallShares::kAnswersWithin + absl::Seconds(1));
  EXPECT_TRUE(absl::IsResourceExhausted(shares_.Admit("eve", CallKind::kHeavy)));
  for (size_t i = 0; i < admitted; ++i) shares_.End("eve", CallKind::kHeavy);
  EXPECT_EQ(shares_.CountOf("eve", CallKind::kHeavy), 0u);
  EXPECT_OK(shares_.Admit("eve", CallKind::kHeavy));
}

TEST_F(CallSharesTest, CallsThatGoOnCountHoweverLong) {
  Fill("eve", CallKind::kWatch);
  clock_.Advance(absl::Hours(10));
  EXPECT_THAT(shares_.Admit("eve", CallKind::kWatch), StatusIs(kExhausted, Said()));
  for (size_t i = 0; i < MostAtOnce(CallKind::kWatch); ++i) shares_.End("eve", CallKind::kWatch);
  EXPECT_EQ(shares_.CountOf("eve", CallKind::kWatch), 0u);
}

// A call that waited for a thread so long that it was forgotten counts again from then on.
TEST_F(CallSharesTest, CallThatBeginsLateIsCountedOnce) {
  ASSERT_OK(shares_.Admit("eve", CallKind::kQuick));
  clock_.Advance(CallShares::kBeginWithin + absl::Seconds(1));
  EXPECT_EQ(shares_.CountOf("eve", CallKind::kQuick), 0u);
  shares_.Begin("eve", CallKind::kQuick);
  EXPECT_EQ(shares_.CountOf("eve", CallKind::kQuick), 1u);
  shares_.End("eve", CallKind::kQuick);
  EXPECT_EQ(shares_.CountOf("eve", CallKind::kQuick), 0u);
}

// A misspelled name would count as quick.
TEST_F(CallSharesTest, CallsThatAreNotQuickExist) {
  size_t slow = 0;
  for (const AuthorizationRow& row : AuthorizationTable()) {
    slow += KindOf(row.rpc) != CallKind::kQuick;
    EXPECT_EQ(IsForNodes(row.rpc), row.audience == Audience::kNodes) << row.rpc;
  }
  EXPECT_EQ(slow, 37u);
}

}  // namespace
}  // namespace muster::controller
