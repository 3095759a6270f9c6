#include "agent/health/local_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::agent::health {
namespace {

using ::testing::HasSubstr;

ReportRow Row(const std::string& condition, const std::string& object, Status status, bool drains) {
  return {.row = {.condition = condition,
                  .object = object,
                  .status = status,
                  .since = absl::FromUnixSeconds(1'900'000'000),
                  .evidence = "what was seen of " + condition},
          .severity = muster::health::Severity::kFatal,
          .drains = drains};
}

const LocalReport kReport = {.since_boot = absl::Seconds(1000),
                             .rows = {Row("disk_full", "/a b", Status::kBad, false),
                                      Row("gpu_ecc", "", Status::kUnknown, true),
                                      Row("gpu_xid", "GPU-1", Status::kBad, true)}};

TEST(LocalReport, IsReadAsItWasWritten) {
  const auto read = ParseLocalReport(FormatLocalReport(kReport));
  ASSERT_OK(read.status());
  EXPECT_EQ(read->since_boot, absl::Seconds(1000));
  ASSERT_EQ(read->rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->rows[i].row.condition, kReport.rows[i].row.condition);
    EXPECT_EQ(read->rows[i].row.object, kReport.rows[i].row.object);
    EXPECT_EQ(read->rows[i].row.status, kReport.rows[i].row.status);
    EXPECT_EQ(read->rows[i].row.since, kReport.rows[i].row.since);
    EXPECT_EQ(read->rows[i].row.evidence, kReport.rows[i].row.evidence);
    EXPECT_EQ(read->rows[i].drains, kReport.rows[i].drains);
    EXPECT_EQ(read->rows[i].severity, kReport.rows[i].severity);
  }
}

TEST(LocalReport, DamagedOnesAreRefused) {
  const std::string whole = FormatLocalReport(kReport);
  for (const std::string& text :
       {std::string(), std::string("muster-health 1"), std::string("muster-health 1\nat\n"),
        std::string("muster-health 2\nat\t1\n"), whole.substr(0, whole.size() - 40)}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseLocalReport(text).status())) << text;
  }
}

TEST(LocalReport, SlurmHearsOnlyWhatDrains) {
  const LocalAnswer answer = AnswerSlurm(kReport, absl::Seconds(1030));
  EXPECT_EQ(answer.exit_code, kLocalBad);
  EXPECT_EQ(answer.text, "muster: gpu_xid GPU-1: what was seen of gpu_xid\n");
  LocalReport well = kReport;
  well.rows.pop_back();
  EXPECT_EQ(AnswerSlurm(well, absl::Seconds(1030)).exit_code, kLocalOk);
  EXPECT_EQ(AnswerSlurm(well, absl::Seconds(1030)).text, "");
}

TEST(LocalReport, AStaleOneSaysNothingAboutNow) {
  for (const absl::Duration now : {absl::Seconds(1301), absl::Seconds(999), absl::Hours(100)}) {
    const LocalAnswer answer = AnswerSlurm(kReport, now);
    EXPECT_EQ(answer.exit_code, kLocalUnknown);
    EXPECT_THAT(answer.text, HasSubstr("is muster-agent.service running?"));
    EXPECT_EQ(AnswerPerson(kReport, now).exit_code, kLocalUnknown);
  }
  EXPECT_EQ(AnswerSlurm(absl::NotFoundError("x"), absl::Seconds(1)).exit_code, kLocalUnknown);
}

TEST(LocalReport, PeopleSeeEverything) {
  const LocalAnswer answer = AnswerPerson(kReport, absl::Seconds(1030));
  EXPECT_EQ(answer.exit_code, kLocalBad);
  EXPECT_THAT(answer.text, HasSubstr("disk_full /a b"));
  EXPECT_THAT(answer.text, HasSubstr("unknown: gpu_ecc"));
  EXPECT_THAT(answer.text, HasSubstr("fatal (drains): gpu_xid GPU-1 since 2030-03-17"));
  EXPECT_EQ(AnswerPerson(LocalReport{.since_boot = absl::Seconds(1)}, absl::Seconds(2)).exit_code,
            kLocalOk);
}

}  // namespace
}  // namespace muster::agent::health
