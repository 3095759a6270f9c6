#include "common/health/xid.h"

#include <gtest/gtest.h>

#include "common/health/catalogue.h"

namespace muster::health {
namespace {

TEST(Xid, RowsAreInOrderAndDoNotOverlap) {
  int last = 0;
  for (const XidInfo& row : XidTable()) {
    EXPECT_GT(row.first, last);
    EXPECT_GE(row.last, row.first);
    EXPECT_FALSE(row.meaning.empty());
    last = row.last;
  }
}

TEST(Xid, ActionsLeadToConditions) {
  struct Case {
    int xid;
    XidAction action;
    absl::string_view condition;
  };
  for (const Case& c :
       {Case{13, XidAction::kRestartApp, ""}, Case{43, XidAction::kIgnore, ""},
        Case{48, XidAction::kWatch, "gpu_xid_watch"}, Case{54, XidAction::kCheckPower, "gpu_xid"},
        Case{74, XidAction::kWatch, "nvlink_error"}, Case{79, XidAction::kReboot, "gpu_xid"},
        Case{94, XidAction::kRestartApp, ""}, Case{95, XidAction::kResetGpu, "gpu_xid"},
        Case{119, XidAction::kResetGpu, "gpu_xid"}, Case{147, XidAction::kWatch, "nvlink_error"},
        Case{157, XidAction::kSupport, "gpu_xid"}}) {
    SCOPED_TRACE(c.xid);
    ASSERT_NE(FindXid(c.xid), nullptr);
    EXPECT_EQ(FindXid(c.xid)->action, c.action);
    EXPECT_EQ(ConditionOf(c.xid, c.action), c.condition);
    EXPECT_EQ(FindCondition(c.condition) != nullptr, !c.condition.empty());
  }
  EXPECT_EQ(FindXid(1), nullptr);
  EXPECT_EQ(FindXid(151), nullptr);
}

TEST(Xid, WordsOfActionsLeadBackToThem) {
  for (const XidInfo& row : XidTable()) EXPECT_EQ(XidActionOf(Word(row.action)), row.action);
  EXPECT_EQ(XidActionOf("explode"), std::nullopt);
}

}  // namespace
}  // namespace muster::health
