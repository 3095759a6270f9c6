#include "controller/timeline/kinds.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::timeline {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

TEST(TimelineKinds, AreSortedAndFound) {
  absl::string_view before;
  for (const Kind& kind : Kinds()) {
    EXPECT_LT(before, kind.name);
    EXPECT_EQ(FindKind(kind.name), &kind);
    before = kind.name;
  }
  EXPECT_EQ(FindKind("run"), nullptr);
  EXPECT_EQ(FindKind("secret.set"), nullptr);
}

TEST(TimelineKinds, AWordTakesAKindOrItsFamily) {
  EXPECT_TRUE(TakesKind({}, "run.finish"));
  EXPECT_TRUE(TakesKind({"node.lost", "run"}, "run.finish"));
  EXPECT_FALSE(TakesKind({"ru"}, "run.finish"));
  EXPECT_OK(CheckKinds({"run", "condition.bad"}));
  EXPECT_THAT(CheckKinds({"run", "node.losst"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(TimelineKinds, ThePageHasThem) {
  std::ifstream in("docs/events.md");
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::string table = "| kind | meaning |\n|---|---|\n";
  for (const Kind& kind : Kinds())
    absl::StrAppend(&table, "| `", kind.name, "` | ", kind.meaning, " |\n");
  EXPECT_THAT(page, ::testing::HasSubstr(table)) << "docs/events.md needs this table:\n" << table;
}

}  // namespace
}  // namespace muster::controller::timeline
