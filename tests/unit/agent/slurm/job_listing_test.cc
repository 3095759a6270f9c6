#include "agent/slurm/job_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/text/plain_text.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

// "12 eve train": id, user and name of each job of the first node.
std::vector<std::string> JobsOf(const v1::SlurmJobs& jobs, int node = 0) {
  std::vector<std::string> words;
  for (const v1::SlurmJobInfo& job : jobs.nodes(node).jobs())
    words.push_back(absl::StrCat(job.id(), " ", job.user(), " ", job.name()));
  return words;
}

v1::SlurmJobs TwoJobs() {
  return ParseSlurmJobs("12|c001|5:00|eve\n13_4|c001|UNLIMITED|bob\n", {"c001"});
}

TEST(SlurmJobs, AreGivenToTheNodesThatWereAskedFor) {
  const v1::SlurmJobs jobs = ParseSlurmJobs(
      "12|c[001-002]|5:00|eve\n13_4|c002|5:00|\n14|c003|5:00|bob\n15|c[001-|5:00|eve\n16\n"
      "17||5:00|eve\n18|c002|5:00|A|B C\n",
      {"c001", "c002"});
  ASSERT_EQ(jobs.nodes_size(), 2);
  EXPECT_EQ(jobs.nodes(0).node(), "c001");
  EXPECT_THAT(JobsOf(jobs), ElementsAre("12 eve "));
  EXPECT_THAT(JobsOf(jobs, 1), ElementsAre("12 eve ", "13_4  ", "18 A|B C "));
}

TEST(JobTraits, AreThoseOfSlurmsColumns) {
  const std::map<std::string, JobTraits> jobs = ParseJobTraits(
      "12          RUNNING    1     1\n13_4  SUSPENDED 0 1\n14 COMPLETING 1 1\n15 RUNNING 1 0\n"
      "16 CONFIGURING 1 1\n17 REQUEUED 1 1\n18 RUNNING 1\n\nslurm_load_jobs error: Invalid job "
      "id\n");
  ASSERT_EQ(jobs.size(), 6u);
  EXPECT_FALSE(jobs.at("12").is_ending);
  EXPECT_EQ(WhyNotRequeued(jobs.at("12")), "");
  EXPECT_FALSE(jobs.at("13_4").is_ending);
  EXPECT_THAT(WhyNotRequeued(jobs.at("13_4")), HasSubstr("--no-requeue"));
  EXPECT_TRUE(jobs.at("14").is_ending);
  EXPECT_THAT(WhyNotRequeued(jobs.at("15")), HasSubstr("batch"));
  EXPECT_FALSE(jobs.at("16").is_ending);
  EXPECT_TRUE(jobs.at("17").is_ending);
}

TEST(SlurmJobs, HaveTheTimeThatTheirLimitLeavesThem) {
  struct Case {
    const char* text;
    int64_t seconds;  // -1: not known, or without limit
  };
  constexpr Case kCases[] = {
      {"5:00", 300},     {"0:00", 0},           {"59:59", 3599},
      {"1:00:00", 3600}, {"1-02:03:04", 93784}, {"UNLIMITED", -1},
      {"NOT_SET", -1},   {"INVALID", -1},       {"", -1},
      {"5", -1},         {"1-5:00", -1},        {"-5:00", -1},
      {"1:2:3:4", -1},   {"123:00", -1},        {"9999999-00:00:00", -1},
  };
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.text);
    const v1::SlurmJobs jobs =
        ParseSlurmJobs(absl::StrCat("12|c001|", each.text, "|eve\n"), {"c001"});
    ASSERT_EQ(jobs.nodes_size(), 1);
    const v1::SlurmJobInfo& job = jobs.nodes(0).jobs(0);
    EXPECT_EQ(job.has_seconds_left() ? static_cast<int64_t>(job.seconds_left()) : -1, each.seconds);
  }
}

TEST(SlurmJobs, AreBounded) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&text, i, "|c001|5:00|eve\n");
  EXPECT_EQ(ParseSlurmJobs(text, {"c001"}).nodes(0).jobs_size(), 4096);
}

// An update would go ahead on a node that seems to have none.
TEST(SlurmJobs, ANodeWithJobsAlwaysHasOne) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) absl::StrAppend(&text, i, "|c001|5:00|eve\n");
  absl::StrAppend(&text, "7001|c[001-003]|5:00|bob\n7002|c003|5:00|bob\n");
  const v1::SlurmJobs jobs = ParseSlurmJobs(text, {"c001", "c002", "c003", "c004"});
  ASSERT_EQ(jobs.nodes_size(), 3);
  EXPECT_EQ(jobs.nodes(0).jobs_size(), 4096);
  for (const int i : {1, 2}) {
    EXPECT_EQ(jobs.nodes(i).jobs_size(), 1);
    EXPECT_EQ(jobs.nodes(i).jobs(0).id(), "7001");
  }
}

TEST(SlurmJobs, GetTheirNames) {
  v1::SlurmJobs jobs = TwoJobs();
  AddJobNames("13_4|a|b c\n12|train\n99|other\n", jobs);
  EXPECT_THAT(JobsOf(jobs), ElementsAre("12 eve train", "13_4 bob a|b c"));
}

TEST(SlurmJobs, ANameNamesNoOtherJob) {
  v1::SlurmJobs jobs = TwoJobs();
  AddJobNames("12|x\n13_4|backup of root\n13_4|train\n", jobs);
  EXPECT_THAT(JobsOf(jobs), ElementsAre("12 eve x", "13_4 bob "));
  jobs = TwoJobs();
  AddJobNames("12|x\n13_4|\n13_4|\n13_4|backup\nno line\n\n|\n", jobs);
  EXPECT_THAT(JobsOf(jobs), ElementsAre("12 eve x", "13_4 bob "));
}

TEST(SlurmJobs, TheirNamesArePlainAndShort) {
  v1::SlurmJobs jobs = TwoJobs();
  AddJobNames(absl::StrCat("12|\x1b[2Ja\rb\xff\n13_4|", std::string(10'000, 'x'), "\n"), jobs);
  for (const v1::SlurmJobInfo& job : jobs.nodes(0).jobs()) {
    EXPECT_TRUE(IsPlain(job.name(), Lines::kOne)) << job.name();
    EXPECT_THAT(job.name().size(), Le(128u));
  }
  EXPECT_EQ(jobs.nodes(0).jobs(0).name(), "a b\xef\xbf\xbd");
  v1::SlurmJobs none;
  AddJobNames("12|x\n", none);
  EXPECT_THAT(none.nodes(), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
