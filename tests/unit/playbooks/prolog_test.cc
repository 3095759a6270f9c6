// The scripts of the role slurm_prolog, run against stand-ins for the programs of a node with GPUs.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/sys/process/process.h"
#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kProlog[] = "/etc/slurm/prolog.d/10-gpus";
constexpr char kEpilog[] = "/etc/slurm/epilog.d/90-gpus";

// A GPU as `nvidia-smi -q` shows it.
std::string Gpu(int minor, int used_mib, const std::string& processes = "") {
  return absl::StrCat(
      "GPU 00000000:", minor + 17, ":00.0\n    Minor Number                  : ", minor,
      "\n    FB Memory Usage\n        Total                     : 11264 MiB\n",
      "        Used                      : ", used_mib,
      " MiB\n    BAR1 Memory Usage\n        Used                      : 9999 MiB\n",
      "    Processes", processes.empty() ? "                     : None\n" : "\n", processes);
}

std::string Process(int pid, const std::string& type) {
  return absl::StrCat("        Process ID                : ", pid,
                      "\n            Type                  : ", type, "\n");
}

class PrologTest : public RolesFixture {
 protected:
  PrologTest()
      : RolesFixture("- play: p\n  hosts: all\n  roles: [slurm_prolog]\n", {"slurm_prolog"}),
        work_(absl::StrCat(::testing::TempDir(), "/prolog-", getpid())) {
    std::filesystem::remove_all(work_);
    for (const char* folder : {"/bin", "/dev", "/marks", "/epilog.d"})
      std::filesystem::create_directories(work_ + folder);
    for (const char* gpu : {"0", "1"})
      std::filesystem::create_symlink("/dev/null", absl::StrCat(work_, "/dev/nvidia", gpu));
    std::filesystem::create_symlink(MUSTER_BURNIN, work_ + "/bin/muster-burnin");
    Program("nvidia-smi", absl::StrCat("cat ", work_, "/smi"));
    Program("dmesg", absl::StrCat("cat ", work_, "/dmesg"));
    Write("/smi", Gpu(0, 4) + Gpu(1, 4));
    Write("/dmesg", "");
    Set(R"({"slurm_prolog": true, "slurm_prolog_gpu_seconds": 1,
            "slurm_epilog_gpu_wait_seconds": 1})");
  }
  ~PrologTest() override { std::filesystem::remove_all(work_); }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream(work_ + path) << text;
  }
  std::string Read(const std::string& path) {
    std::ifstream in(work_ + path);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  void Program(const std::string& name, const std::string& command) {
    Executable("/bin/" + name, absl::StrCat("#!/bin/bash\n", command, "\n"));
  }
  void Executable(const std::string& path, const std::string& text) {
    Write(path, text);
    std::filesystem::permissions(work_ + path, std::filesystem::perms(0755));
  }

  // The script that the node has at `path`, with the folders of this test in place of the node's:
  // its output, after "exit N: " where it failed.
  std::string Run(const std::string& path, const std::string& gpus) {
    Executable("/script", absl::StrReplaceAll(File("c001", path).content(),
                                              {{"/dev/nvidia", work_ + "/dev/nvidia"},
                                               {"/run/muster-gpus", work_ + "/marks"},
                                               {"/proc/driver", work_ + "/proc/driver"},
                                               {"/etc/slurm/epilog.d", work_ + "/epilog.d"}}));
    sys::ProcessSpec spec;
    spec.argv = {"/usr/bin/env", absl::StrCat("PATH=", work_, "/bin:", sys::kStandardPath),
                 "SLURM_JOB_ID=7", "SLURMD_NODENAME=c001"};
    if (!gpus.empty()) spec.argv.push_back(absl::StrCat("SLURM_JOB_GPUS=", gpus));
    spec.argv.insert(spec.argv.end(), {"bash", work_ + "/script"});
    spec.timeout = absl::Seconds(60);
    const auto result = sys::RealProcessRunner().Run(spec);
    EXPECT_OK(result);
    if (!result.ok()) return "";
    return result->exit_code == 0
               ? result->output
               : absl::StrCat("exit ", result->exit_code, ": ",
                              absl::StrReplaceAll(result->output, {{work_, ""}}));
  }

  const std::string work_;
};

TEST_F(PrologTest, AJobWithItsGpusStartsAndGivesThemBack) {
  EXPECT_THAT(Run(kProlog, "0,1"), IsEmpty());
  EXPECT_THAT(Read("/marks/7"), Not(IsEmpty()));
  EXPECT_THAT(Run(kEpilog, "0,1"), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(work_ + "/marks/7"));
}

TEST_F(PrologTest, AMissingGpuStopsTheJob) {
  EXPECT_EQ(Run(kProlog, "0,2"), "exit 1: /dev/nvidia2 does not exist\n");
  Write("/smi", Gpu(0, 4));
  EXPECT_EQ(Run(kProlog, "0,1"), "exit 1: nvidia-smi does not list /dev/nvidia1\n");
}

// Slurm numbers GPUs by their places in its list: in NVML's order here, which is that of the bus.
TEST_F(PrologTest, AGpuOfTheJobIsKnownByItsPlace) {
  auto& facts = facts_["c001"];
  facts["gpus"] = {{{"device_path", "/dev/nvidia1"}, {"slurm_type", "a100"}},
                   {{"device_path", "/dev/nvidia0"}, {"slurm_type", "a100"}}};
  facts["slurm"]["gpu_autodetect"] = "nvml";
  Write("/smi", Gpu(0, 900, Process(4194399, "C")) + Gpu(1, 4));
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty()) << "another job's GPU";
  EXPECT_THAT(Run(kEpilog, "1"), StartsWith("exit 1: /dev/nvidia0 still has process 4194399"));
  Write("/smi", Gpu(1, 4));
  EXPECT_THAT(Run(kProlog, "0"), IsEmpty());
  EXPECT_EQ(Run(kProlog, "0,1"), "exit 1: nvidia-smi does not list /dev/nvidia0\n");
}

// Without NVML gres.conf names the files, and Slurm takes the types in slurm.conf's order.
TEST_F(PrologTest, GpusOfTwoModelsStandByModel) {
  auto& facts = facts_["c001"];
  facts["gpus"] = {{{"device_path", "/dev/nvidia0"}, {"slurm_type", "h100"}},
                   {{"device_path", ""}, {"slurm_type", "a100"}},
                   {{"device_path", "/dev/nvidia1"}, {"slurm_type", "a100"}}};
  Write("/smi", Gpu(0, 900, Process(4194399, "C")) + Gpu(1, 4));
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty());
  EXPECT_THAT(Run(kEpilog, "1"), StartsWith("exit 1: /dev/nvidia0 still has process 4194399"));
  facts["slurm"]["gpu_autodetect"] = "nvml";
  EXPECT_THAT(Run(kEpilog, "2"), IsEmpty());
  EXPECT_THAT(Run(kEpilog, "0"), StartsWith("exit 1: /dev/nvidia0 still has process 4194399"));
  Set(R"({"slurm_gres_autodetect": "none"})");
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty());
}

TEST_F(PrologTest, ADriverThatHangsIsNotWaitedFor) {
  Program("nvidia-smi", "sleep 50");
  EXPECT_THAT(Run(kProlog, "0"), StartsWith("exit 1: nvidia-smi failed or took longer than 1 s"));
  EXPECT_THAT(Run(kEpilog, "0"), StartsWith("exit 1: nvidia-smi failed or took longer than 1 s"));
}

TEST_F(PrologTest, TheDriverIsAskedForLessTimeThanTheScriptHas) {
  options_.extra_vars.erase("slurm_prolog_gpu_seconds");
  for (const auto& [script_s, driver_s] :
       {std::pair(10, 6), std::pair(60, 40), std::pair(90, 40)}) {
    Set(absl::StrCat(R"({"slurm_prolog": true, "slurm_prolog_seconds": )", script_s, "}"));
    EXPECT_THAT(File("c001", kProlog).content(),
                HasSubstr(absl::StrCat("--kill-after=2 ", driver_s, " nvidia-smi")));
    EXPECT_THAT(File("c001", kEpilog).content(),
                HasSubstr(absl::StrCat("smi_seconds=", driver_s, "\n")));
  }
}

TEST_F(PrologTest, JobsWithoutGpusAskNobody) {
  Program("nvidia-smi", "exit 1");
  EXPECT_THAT(Run(kProlog, ""), IsEmpty());
  EXPECT_THAT(Run(kEpilog, ""), IsEmpty());
}

TEST_F(PrologTest, WhatComputesOnAGpuOfTheJobHasToBeGone) {
  Write("/smi", Gpu(0, 900, Process(4194399, "C")) + Gpu(1, 4));
  EXPECT_EQ(Run(kEpilog, "0"),
            "exit 1: /dev/nvidia0 still has process 4194399 (unknown), 1 s after the job\n");
  EXPECT_THAT(Run(kEpilog, "1"), IsEmpty()) << "another job's GPU";
  Write("/smi", Gpu(0, 300, Process(812, "G")) + Gpu(1, 4));
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty()) << "a display";
}

TEST_F(PrologTest, MemoryOfAGpuHasToBeFree) {
  Write("/smi", Gpu(0, 1025) + Gpu(1, 1024));
  EXPECT_EQ(Run(kEpilog, "0,1"),
            "exit 1: /dev/nvidia0 still has 1025 MiB of memory in use, 1 s after the job\n");
  EXPECT_THAT(Run(kEpilog, "1"), IsEmpty());
  Set(R"({"slurm_epilog_gpu_memory_mib": 2000})");
  EXPECT_THAT(Run(kEpilog, "0,1"), IsEmpty());
}

TEST_F(PrologTest, ADriverThatCleansUpHasAMoment) {
  Set(R"({"slurm_epilog_gpu_wait_seconds": 20})");
  Program("nvidia-smi", absl::StrCat("cat ", work_, "/smi; cp ", work_, "/free ", work_, "/smi"));
  Write("/smi", Gpu(0, 9000, Process(4194399, "C")));
  Write("/free", Gpu(0, 4));
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty());
}

TEST_F(PrologTest, ErrorsOfTheHardwareCountFromTheJobsBeginOn) {
  Write("/dmesg",
        "[  100.000000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
        "[  200.000000] NVRM: Xid (PCI:0000:3b:00): 31, of the job's own program\n"
        "[  200.000000] blk_update_request: I/O error, dev sdb, sector 1953525160\n");
  Write("/marks/7", "150.25\n");
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty());
  Write("/marks/7", "99.5\n");
  EXPECT_EQ(Run(kEpilog, "0"),
            "exit 1: the driver reported: [  100.000000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has "
            "fallen off the bus.\n");
  EXPECT_THAT(Run(kEpilog, "0"), IsEmpty()) << "without a mark nobody knows whose they are";
}

// Slurm counts the parts then, and what is on the rest of a GPU belongs to others.
TEST_F(PrologTest, PartsOfGpusAreNotLookedAt) {
  std::filesystem::create_directories(work_ + "/proc/driver/nvidia/capabilities/gpu0/mig/gi7");
  Write("/smi", Gpu(0, 9000, Process(4194399, "C")));
  EXPECT_THAT(Run(kProlog, "9"), IsEmpty());
  EXPECT_THAT(Run(kEpilog, "9,0"), IsEmpty());
}

class RunnerTest : public PrologTest {
 protected:
  RunnerTest() {
    Program("logger", absl::StrCat("echo \"${*:4}\" >>", work_, "/journal"));
    Program("scontrol", absl::StrCat("if [[ $* == *show* ]]; then cat ", work_,
                                     "/node; else echo \"$*\" >>", work_, "/drains; fi"));
    Write("/node", "NodeName=c001 State=IDLE+COMPLETING Reason=\n");
  }
  std::string RunEpilog() { return Run("/usr/local/lib/muster/slurm-epilog", "0"); }
};

TEST_F(RunnerTest, AFailedScriptDrainsTheNodeWithItsWords) {
  if (geteuid() != 0) GTEST_SKIP() << "scripts have to be root's";
  Executable("/epilog.d/10-good", "#!/bin/sh\nexit 0\n");
  EXPECT_THAT(RunEpilog(), IsEmpty());
  EXPECT_THAT(Read("/drains"), IsEmpty());
  Executable("/epilog.d/20-bad", "#!/bin/sh\necho first; echo 'the \"disk\" is full'; exit 3\n");
  Executable("/epilog.d/30-later", absl::StrCat("#!/bin/sh\ntouch ", work_, "/later; exit 1\n"));
  EXPECT_THAT(RunEpilog(), StartsWith("exit 1: "));
  EXPECT_EQ(Read("/drains"),
            "update NodeName=c001 State=DRAIN Reason=muster-epilog: 20-bad: the disk is full (job "
            "7)\n");
  EXPECT_TRUE(std::filesystem::exists(work_ + "/later")) << "an epilog cleans up all the same";
  EXPECT_THAT(Read("/journal"), AllOf(HasSubstr("20-bad failed with exit status 3: first"),
                                      HasSubstr("30-later failed with exit status 1")));
}

TEST_F(RunnerTest, ADrainThatIsThereKeepsItsReason) {
  if (geteuid() != 0) GTEST_SKIP() << "scripts have to be root's";
  Write("/node", "NodeName=c001 State=IDLE+DRAIN Reason=bad fan [root@2026-01-01]\n");
  Executable("/epilog.d/20-bad", "#!/bin/sh\nexit 3\n");
  EXPECT_THAT(RunEpilog(), StartsWith("exit 1: "));
  EXPECT_THAT(Read("/drains"), IsEmpty());
}

TEST_F(RunnerTest, AScriptThatOthersCanChangeDoesNotRun) {
  if (geteuid() != 0) GTEST_SKIP() << "scripts have to be root's";
  Executable("/epilog.d/20-open", absl::StrCat("#!/bin/sh\ntouch ", work_, "/ran\n"));
  std::filesystem::permissions(work_ + "/epilog.d/20-open", std::filesystem::perms(0777));
  EXPECT_THAT(RunEpilog(), StartsWith("exit 1: "));
  EXPECT_FALSE(std::filesystem::exists(work_ + "/ran"));
  EXPECT_THAT(Read("/drains"), HasSubstr("20-open: can be changed by others than root"));
}

TEST_F(PrologTest, SwitchedOffItLeaves) {
  Set(R"({"slurm_prolog": false})");
  for (const char* path : {kProlog, kEpilog, "/usr/local/lib/muster/slurm-prolog",
                           "/usr/local/lib/muster/slurm-epilog"})
    EXPECT_EQ(File("c001", path).state(), v1::PRESENCE_ABSENT) << path;
}

}  // namespace
}  // namespace muster::controller
