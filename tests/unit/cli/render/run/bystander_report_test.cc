#include "cli/render/run/bystander_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;

Bystanders Before() {
  Bystanders before;
  before.slurmds = {{"c001", {101, "a"}}, {"c002", {102, "b"}}, {"c003", {103, "c"}}};
  before.jobs = {"12", "14_3"};
  return before;
}

TEST(BystanderReport, NothingHappenedToAnybody) {
  EXPECT_EQ(RenderBystanders(Before(), Before()),
            "running jobs 12, 14_3: still running\nslurmd of c[001-003]: not restarted\n");
}

TEST(BystanderReport, NamesWhatDidNotStayAsItWas) {
  Bystanders after = Before();
  after.slurmds["c001"] = {201, "a"};  // another process of the same start
  after.slurmds["c002"] = {202, "z"};
  after.slurmds.erase("c003");
  after.jobs = {"12", "15"};
  const std::string text = RenderBystanders(Before(), after);
  EXPECT_THAT(text, Said());
  EXPECT_THAT(text, HasSubstr("slurmd of c002: RESTARTED"));
  EXPECT_THAT(text, HasSubstr("job 14_3: ended"));
}

TEST(BystanderReport, MissingKnowledgeIsNoProof) {
  Bystanders before = Before(), after = Before();
  before.unknown["c004"] = "not connected";
  before.unasked = 3;
  after.slurmds.erase("c001");
  after.unknown["c001"] = "no answer in 30s";
  after.jobs_unknown = "slurmctld does not answer";
  EXPECT_THAT(RenderBystanders(before, after), Said());
  before.jobs_unknown = "no agent on login1";
  EXPECT_THAT(RenderBystanders(before, after), Said());
  EXPECT_THAT(RenderBystanders({}, {}), Said());
}

}  // namespace
}  // namespace muster::cli
