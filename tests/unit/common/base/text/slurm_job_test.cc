#include "common/base/text/slurm_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/text/plain_text.h"

namespace muster {
namespace {

using ::testing::EndsWith;
using ::testing::Lt;

const SlurmJob kFour = {"4", "root", "s3"};
const SlurmJob kFive = {"5", "eve", "train"};

std::vector<SlurmJob> Jobs(int first, int last) {
  std::vector<SlurmJob> jobs;
  for (int id = first; id <= last; ++id) jobs.push_back({absl::StrCat(id), "", ""});
  return jobs;
}

TEST(SlurmJob, IsDescribedByItsIdItsUserAndItsName) {
  EXPECT_EQ(Describe({kFour}), "job 4 (root, s3)");
  EXPECT_EQ(Describe({{"4", "root", ""}}), "job 4 (root)");
  EXPECT_EQ(Describe({{"7_1", "", ""}}), "job 7_1");
  EXPECT_EQ(Describe({kFour, kFive}), "jobs 4 (root, s3) and 5 (eve, train)");
  EXPECT_EQ(Describe(Jobs(1, 3)), "jobs 1, 2 and 3");
  EXPECT_EQ(Describe(Jobs(1, 5)), "jobs 1, 2, 3, 4 and 5");
  EXPECT_EQ(Describe(Jobs(1, 17)), "jobs 1, 2, 3, 4, 5 and 12 more");
}

TEST(SlurmJob, AnIdNamesOneJob) {
  for (const char* id : {"4", "4711", "4711_0", "4711_12"}) EXPECT_TRUE(IsJobId(id)) << id;
  for (const char* id : {"", "_", "4_", "_4", "4,5", "4_[1-3]", "4+1", "4 5", "all", "-4",
                         "4.batch", "4_1_2", "12345678901", "4\n"}) {
    EXPECT_FALSE(IsJobId(id)) << id;
  }
}

TEST(SlurmJob, IsSaidToRunOnItsNodes) {
  EXPECT_EQ(DescribeWhere({}), "");
  EXPECT_EQ(DescribeWhere({{"c004", {kFour}}}), "job 4 (root, s3) runs on c004");
  EXPECT_EQ(DescribeWhere({{"c004", {kFour, kFive}}}),
            "jobs 4 (root, s3) and 5 (eve, train) run on c004");
  EXPECT_EQ(DescribeWhere({{"c003", {kFour}}, {"c004", {kFour}}}),
            "job 4 (root, s3) runs on c[003-004]");
  EXPECT_EQ(DescribeWhere({{"c003", {kFour, kFive}}, {"c004", {kFour}}}),
            "job 4 (root, s3) runs on c[003-004] and job 5 (eve, train) runs on c003");
}

TEST(SlurmJob, ManyOnManyNodesAreCounted) {
  SlurmJobsByNode jobs = {{"c001", Jobs(1, 3)}, {"c002", Jobs(4, 9)}, {"c003", Jobs(10, 10)}};
  EXPECT_EQ(DescribeWhere(jobs),
            "jobs 1, 2 and 3 run on c001, jobs 4, 5 and 4 more run on c002 and 1 more runs on "
            "c003");
  jobs["c004"] = Jobs(11, 20);
  EXPECT_THAT(DescribeWhere(jobs), EndsWith(" and 11 more run on c[003-004]"));
}

SlurmJob Lasting(absl::Duration time_left) {
  SlurmJob job = {"4", "", ""};
  job.time_left = time_left;
  return job;
}

TEST(SlurmJob, TheLongestDrainIsThatOfTheLastJob) {
  EXPECT_EQ(LongestDrain({}), absl::ZeroDuration());
  EXPECT_EQ(
      LongestDrain({Lasting(absl::Hours(1)), Lasting(absl::Hours(3)), Lasting(absl::Hours(2))}),
      absl::Hours(3));
  EXPECT_EQ(LongestDrain({Lasting(absl::Hours(1)), Lasting(absl::InfiniteDuration())}),
            absl::InfiniteDuration());
}

TEST(SlurmJob, TheEndIsRoundedUp) {
  EXPECT_EQ(DescribeEnd({Lasting(absl::Milliseconds(90'500))}), ", which ends in at most 1m 31s");
  EXPECT_EQ(DescribeEnd({Lasting(absl::Hours(3) + absl::Seconds(1)), Lasting(absl::Hours(1))}),
            ", which end in at most 3h 01m");
  EXPECT_EQ(DescribeEnd({Lasting(absl::InfiniteDuration())}),
            ", whose time limit is not known or unlimited");
}

TEST(SlurmJob, NamesThatAreMeantToConfuseStayPlainAndShort) {
  SlurmJobsByNode jobs;
  const std::string name = absl::StrCat("\x1b[2J\r\n\xff\xe2\x80\xae", std::string(10'000, 'x'));
  for (int node = 1; node <= 999; node += 2) {
    jobs[absl::StrCat("c", node)] = {{absl::StrCat(node, std::string(10'000, '0')), name, name},
                                     {"4", name, name}};
  }
  const std::string text = DescribeWhere(jobs);
  EXPECT_TRUE(IsPlain(text, Lines::kOne)) << text;
  EXPECT_THAT(text.size(), Lt(1000u));
  EXPECT_THAT(text, EndsWith(" 496 more run on 496 nodes"));
}

}  // namespace
}  // namespace muster
