// docs/health.md has the tables as they are.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/health/catalogue.h"
#include "common/health/limits.h"
#include "common/health/xid.h"

namespace muster::health {
namespace {

using ::testing::HasSubstr;

std::string Document() {
  std::ifstream file("docs/health.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HealthDocument, HasEveryCondition) {
  std::string table =
      "| condition | severity | default | what is wrong | where the agent looks |\n"
      "|---|---|---|---|---|\n";
  for (const ConditionInfo& condition : Catalogue())
    absl::StrAppend(&table, "| `", condition.name, "` | ", Word(condition.severity), " | ",
                    Word(condition.policy), " | ", condition.meaning, " | ", condition.source,
                    " |\n");
  EXPECT_THAT(Document(), HasSubstr(table + "\n"));
}

TEST(HealthDocument, HasEveryLimit) {
  std::string table = "| limit | default | from | to | of what |\n|---|---|---|---|---|\n";
  for (const LimitInfo& limit : LimitTable())
    absl::StrAppend(&table, "| `", limit.name, "` | ", limit.value, " | ", limit.min, " | ",
                    static_cast<int64_t>(limit.max), " | ", limit.meaning, " |\n");
  EXPECT_THAT(Document(), HasSubstr(table + "\n"));
}

TEST(HealthDocument, HasEveryXid) {
  std::string table = "| Xid | action | condition | meaning |\n|---|---|---|---|\n";
  for (const XidInfo& row : XidTable()) {
    const absl::string_view condition = ConditionOf(row.first, row.action);
    absl::StrAppend(
        &table, "| ", row.first, row.last > row.first ? absl::StrCat("–", row.last) : "", " | ",
        Word(row.action), " | ", condition.empty() ? "" : absl::StrCat("`", condition, "`"), " | ",
        row.meaning, " |\n");
  }
  EXPECT_THAT(Document(), HasSubstr(table + "\n"));
}

}  // namespace
}  // namespace muster::health
