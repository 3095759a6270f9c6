// The scripts of the role local_scratch, run in a folder that stands for the node's.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/sys/process/process.h"
#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::IsEmpty;

constexpr char kScratchProlog[] = "/etc/slurm/prolog.d/50-local-scratch";
constexpr char kScratchEpilog[] = "/etc/slurm/epilog.d/50-local-scratch";
constexpr char kAtBoot[] = "/etc/tmpfiles.d/muster-local-scratch.conf";

class LocalScratchTest : public RolesFixture {
 protected:
  LocalScratchTest()
      : RolesFixture("- play: p\n  hosts: all\n  roles: [local_scratch]\n", {"local_scratch"}),
        work_(absl::StrCat(::testing::TempDir(), "/local-scratch-", getpid())) {
    std::filesystem::remove_all(work_);
    for (const char* folder : {"/bin", "/run", "/old", "/new", "/etc/slurm/prolog.d",
                               "/etc/slurm/epilog.d", "/etc/tmpfiles.d"})
      std::filesystem::create_directories(work_ + folder);
    Program("systemd-run", "while [ \"$1\" != rm ]; do shift; done; exec \"$@\"");
    Program("logger", absl::StrCat("echo \"$*\" >>", work_, "/journal"));
    Set(R"({"slurm_prolog": true})");
  }
  ~LocalScratchTest() override { std::filesystem::remove_all(work_); }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream(work_ + path) << text;
    std::filesystem::permissions(work_ + path, std::filesystem::perms(0755));
  }
  void Program(const std::string& name, const std::string& command) {
    Write("/bin/" + name, absl::StrCat("#!/bin/sh\n", command, "\n"));
  }
  bool Exists(const std::string& path) { return std::filesystem::exists(work_ + path); }
  // What the node has by the role, with the folders of this test in place of the node's.
  std::string Here(const std::string& text) {
    return absl::StrReplaceAll(
        text, {{"/run/muster", work_ + "/run/muster"},
               {"/etc/", work_ + "/etc/"},
               {"PATH=/usr/sbin", absl::StrCat("PATH=", work_, "/bin:/usr/sbin")}});
  }

  void Apply(const std::string& folder) {
    Set(absl::StrCat("{\"local_scratch\": \"", work_, folder, "\"}"));
    for (const char* path : {kScratchProlog, kScratchEpilog, kAtBoot})
      Write(path, Here(File("c001", path).content()));
  }
  // Whether the rest of the role leaves when it is switched off.
  bool SwitchedOffItLeaves() {
    Set(R"({"local_scratch": ""})");
    EXPECT_EQ(File("c001", kScratchProlog).state(), v1::PRESENCE_ABSENT);
    const v1::CommandResource command = Step("c001", "no folder for each job").command();
    EXPECT_EQ(command.argv(0), "rm");
    std::vector<std::string> unless(command.unless().begin(), command.unless().end());
    for (std::string& word : unless) word = Here(word);
    return Run(unless) != 0;
  }

  int Run(const std::vector<std::string>& argv) {
    sys::ProcessSpec spec;
    spec.argv = {"/usr/bin/env", "SLURM_JOB_ID=7", absl::StrCat("SLURM_JOB_UID=", geteuid())};
    spec.argv.insert(spec.argv.end(), argv.begin(), argv.end());
    spec.timeout = absl::Seconds(60);
    const auto result = sys::RealProcessRunner().Run(spec);
    EXPECT_OK(result);
    if (!result.ok()) return -1;
    EXPECT_THAT(result->output, IsEmpty());
    return result->exit_code;
  }
  int RunScript(const std::string& path) { return Run({work_ + path}); }

  const std::string work_;
};

TEST_F(LocalScratchTest, AFolderEndsWithItsJob) {
  Apply("/old");
  EXPECT_EQ(RunScript(kScratchProlog), 0);
  EXPECT_TRUE(Exists("/old/job_7"));
  EXPECT_EQ(RunScript(kScratchEpilog), 0);
  EXPECT_TRUE(std::filesystem::is_empty(work_ + "/old"));
  EXPECT_TRUE(SwitchedOffItLeaves());
}

TEST_F(LocalScratchTest, AJobThatRunsHasItsFolderWhereItWasMade) {
  Apply("/old");
  EXPECT_EQ(RunScript(kScratchProlog), 0);
  Apply("/new");
  EXPECT_FALSE(SwitchedOffItLeaves()) << "nobody would remove the folder";
  EXPECT_EQ(RunScript(kScratchEpilog), 0);
  EXPECT_FALSE(Exists("/old/job_7"));
  EXPECT_TRUE(SwitchedOffItLeaves());
}

// Or whose prolog could not write one.
TEST_F(LocalScratchTest, AJobFromBeforeThereWereRecordsIsWaitedForToo) {
  Apply("/old");
  std::filesystem::create_directories(work_ + "/old/job_7");
  EXPECT_FALSE(SwitchedOffItLeaves());
  EXPECT_EQ(RunScript(kScratchEpilog), 0);
  EXPECT_FALSE(Exists("/old/job_7"));
  EXPECT_TRUE(SwitchedOffItLeaves());
}

// Its file system was full.
TEST_F(LocalScratchTest, AnEmptyRecordIsAsNone) {
  Apply("/old");
  std::filesystem::create_directories(work_ + "/old/job_7");
  std::filesystem::create_directories(work_ + "/run/muster-local-scratch");
  std::ofstream(work_ + "/run/muster-local-scratch/7").flush();
  EXPECT_EQ(RunScript(kScratchEpilog), 0);
  EXPECT_FALSE(Exists("/old/job_7"));
}

TEST_F(LocalScratchTest, WhatIsNotThereDoesNotLeave) { EXPECT_FALSE(SwitchedOffItLeaves()); }

}  // namespace
}  // namespace muster::controller
