#include "agent/sys/slurm_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SlurmJobsTest, TellsAJobByTheNameOfItsStepDaemon) {
  const struct {
    const char* command_line;
    const char* job;
  } kCases[] = {
      {"slurmstepd: [1234.batch]", "1234"},
      {"slurmstepd: [1234.0]", "1234"},
      {"slurmstepd: [1235_7.extern]", "1235_7"},
      {"slurmstepd: [99]", "99"},
      {"slurmstepd: [77+1.0]", "77+1"},
      {"slurmstepd infinity", ""},
      {"/usr/sbin/slurmstepd", ""},
      {"slurmstepd: [", ""},
      {"slurmstepd: [.batch]", ""},
      {"slurmstepd: [12 34.batch]", ""},
      {"vim slurmstepd: [1234.batch]", ""},
      {"", ""},
  };
  for (const auto& [command_line, job] : kCases) EXPECT_EQ(JobOfCommandLine(command_line), job);
}

TEST(SlurmJobsTest, ListsEachJobOnce) {
  testing::FakeFileSystem files;
  files.AddFile("/proc/1/cmdline", "/sbin/init");
  files.AddFile("/proc/40/cmdline", std::string("slurmstepd: [8.batch]\0\0\0", 24));
  files.AddFile("/proc/41/cmdline", "slurmstepd: [8.extern]");
  files.AddFile("/proc/42/cmdline", "slurmstepd: [11.0]");
  files.AddFile("/proc/43/cmdline", "slurmstepd infinity");
  files.AddFile("/proc/self/cmdline", "slurmstepd: [1.0]");
  files.AddDirectory("/proc/50");  // has ended
  EXPECT_THAT(RunningSlurmJobs(files).value(), ElementsAre("11", "8"));
}

TEST(SlurmJobsTest, AMachineWithoutJobsHasNone) {
  testing::FakeFileSystem files;
  files.AddFile("/proc/1/cmdline", "/sbin/init");
  EXPECT_THAT(RunningSlurmJobs(files).value(), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
