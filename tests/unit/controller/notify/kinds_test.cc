#include "controller/notify/kinds/kinds.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace muster::controller::notify {
namespace {

TEST(Kinds, AWordTakesAKindOrItsFamily) {
  EXPECT_TRUE(TakesKind("rollout.paused", "rollout.paused"));
  EXPECT_TRUE(TakesKind("rollout", "rollout.paused"));
  EXPECT_FALSE(TakesKind("rollout.completed", "rollout.paused"));
  EXPECT_FALSE(TakesKind("roll", "rollout.paused"));
  EXPECT_FALSE(TakesKind("", "rollout.paused"));
  EXPECT_TRUE(IsKindWord("rollout"));
  EXPECT_TRUE(IsKindWord("run.failed"));
  EXPECT_FALSE(IsKindWord("run.finished"));
}

TEST(Kinds, AreSortedAndFound) {
  absl::string_view before;
  for (const Kind& kind : Kinds()) {
    EXPECT_LT(before, kind.name);
    EXPECT_EQ(FindKind(kind.name), &kind);
    before = kind.name;
  }
  EXPECT_EQ(FindKind("rollout"), nullptr);
}

TEST(Kinds, ThePageHasThem) {
  std::ifstream in("docs/notifications.md");
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::string table = "| kind | ends | meaning |\n|---|---|---|\n";
  for (const Kind& kind : Kinds()) {
    absl::StrAppend(&table, "| `", kind.name, "` | ", kind.lasts ? "yes" : "no", " | ",
                    kind.meaning, " |\n");
  }
  EXPECT_THAT(page, ::testing::HasSubstr(table)) << "docs/notifications.md needs this table:\n"
                                                 << table;
}

}  // namespace
}  // namespace muster::controller::notify
