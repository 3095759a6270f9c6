#include "common/health/catalogue.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace muster::health {
namespace {

TEST(Catalogue, NamesAreUniqueWords) {
  std::set<absl::string_view> names;
  for (const ConditionInfo& condition : Catalogue()) {
    SCOPED_TRACE(std::string(condition.name));
    EXPECT_TRUE(names.insert(condition.name).second);
    EXPECT_LE(condition.name.size(), 40u);
    for (const char c : condition.name)
      EXPECT_TRUE(absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_') << c;
    EXPECT_FALSE(condition.source.empty());
    EXPECT_TRUE(absl::ascii_isupper(condition.meaning.front()));
    EXPECT_FALSE(absl::EndsWith(condition.meaning, "."));
  }
}

TEST(Catalogue, DrainsOnlyForWhatIsFatal) {
  for (const ConditionInfo& condition : Catalogue()) {
    if (condition.policy != DefaultPolicy::kDrain) continue;
    EXPECT_EQ(condition.severity, Severity::kFatal) << std::string(condition.name);
  }
}

TEST(Catalogue, FindsByName) {
  ASSERT_NE(FindCondition("disk_full"), nullptr);
  EXPECT_EQ(FindCondition("disk_full")->name, "disk_full");
  EXPECT_EQ(FindCondition("site_own"), nullptr);
  EXPECT_EQ(Word(FindCondition("gpu_lost")->policy), "drain");
  EXPECT_EQ(Word(FindCondition("gpu_lost")->severity), "fatal");
  EXPECT_EQ(Word(FindCondition("oom_kill")->policy), "observe");
}

}  // namespace
}  // namespace muster::health
