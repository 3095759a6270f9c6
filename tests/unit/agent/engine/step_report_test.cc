#include "agent/engine/step_report.h"

#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StepReportTest, MakesAnyBytesValidUtf8) {
  struct Case {
    const char* in;
    const char* out;
  };
  const Case cases[] = {
      {"plain", "plain"},
      {"grün €", "grün €"},
      {"\xff", "\xef\xbf\xbd"},
      {"a\xc3", "a\xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf0\x9f\x8e\x89", "\xf0\x9f\x8e\x89"},
  };
  for (const Case& c : cases) EXPECT_EQ(ValidUtf8(c.in, 100), c.out);
  EXPECT_EQ(ValidUtf8("abcdef", 3), "abc…");
}

TEST(StepReportTest, WithholdsErrorsThatCouldHoldASecret) {
  v1::Step step = Command("a/c", "c");
  const absl::Status status = absl::InternalError("mysql -phunter2 failed");
  EXPECT_THAT(ReportedError(step, status), HasSubstr("hunter2"));
  step.set_sensitive(true);
  EXPECT_THAT(ReportedError(step, status), Not(HasSubstr("hunter2")));
  EXPECT_THAT(ReportedError(step, status), HasSubstr("INTERNAL"));
}

TEST(StepReportTest, KeepsDiffsBackUnlessAskedFor) {
  const v1::Step step = File("a/f", "/f", "x");
  const std::vector<Change> changes = {{"content", "a", "b", "-a\n+b\n"}};
  EXPECT_EQ(ReportedChanges(step, changes, false)[0].diff(), "");
  EXPECT_EQ(ReportedChanges(step, changes, true)[0].diff(), "-a\n+b\n");
}

}  // namespace
}  // namespace muster::agent
