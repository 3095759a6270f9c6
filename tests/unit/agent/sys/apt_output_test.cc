#include "agent/sys/apt/apt_output.h"

#include <gmock/gmock.h>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(AptSimulation, ReadsWhatWouldBeInstalledAndRemoved) {
  const AptSimulation simulation = ParseSimulation(
      "Reading package lists...\n"
      "Remv slurmd [22.05.3-1]\n"
      "Inst libmunge2 (0.5.15-2 Debian:12.1/stable [amd64])\n"
      "Inst libc6 [2.36-9] (2.36-9+deb12u4 Debian:12.4/stable [amd64]) [libc6:i386 ]\n"
      "Inst libc6:i386 (2.36-9+deb12u4 Debian:12.4/stable [i386])\n"
      "Inst local (1:2.0)\n"
      "Conf libmunge2 (0.5.15-2 Debian:12.1/stable [amd64])\n"
      "Inst \nInst cut\n");
  EXPECT_THAT(simulation.installed,
              ElementsAre(Pair("libc6", "2.36-9+deb12u4"), Pair("libc6:i386", "2.36-9+deb12u4"),
                          Pair("libmunge2", "0.5.15-2"), Pair("local", "1:2.0")));
  EXPECT_THAT(simulation.removed, ElementsAre("slurmd"));
  EXPECT_EQ(SumOfSizes("Package: a\nSize: 100\nInstalled-Size: 7\n\nPackage: b\nSize: 23\n"), 123u);
}

TEST(AptSecurityVersions, AreThoseOfSecuritySuites) {
  const auto versions = ParseSecurityVersions(
      "   openssl | 3.0.16-1~deb12u2 | http://m.example/debian-security bookworm-security/main "
      "amd64 "
      "Packages\n"
      "   openssl | 3.0.15-1~deb12u1 | http://m.example/debian bookworm/main amd64 Packages\n"
      "   openssl | 3.0.14-1~deb12u1 | file:/srv/security jammy-security/main amd64 Packages\n"
      "libc6:i386 | 2.36-9 | http://m.example/debian-security bookworm/main i386 Packages\n"
      "   cut | 1 |\n   flat | 1 | http://m.example/security ./ Packages\nN: Unable to locate\n");
  EXPECT_THAT(versions,
              ElementsAre(Pair("openssl", ElementsAre("3.0.16-1~deb12u2", "3.0.14-1~deb12u1"))));
}

TEST(AptProgress, ReadsStatusLines) {
  const struct {
    const char* line;
    const char* activity;  // nullptr: nothing to show
    float percent;
    bool is_error;
  } kCases[] = {
      {"dlstatus:1:50.0:Retrieving file 1 of 3", "retrieving file 1 of 3", 15, false},
      {"pmstatus:munge:0:Preparing munge (amd64)", "preparing munge (amd64)", 30, false},
      {"pmstatus:munge:50.0000:Unpacking munge (amd64)", "unpacking munge (amd64)", 65, false},
      {"pmstatus:libc6:amd64:100:Installed libc6:amd64 (amd64)", "installed libc6:amd64 (amd64)",
       100, false},
      {"pmstatus:dpkg-exec:0:Running dpkg", "running dpkg", 30, false},
      {"pmerror:slurmd:40:subprocess exited with 1", "slurmd: subprocess exited with 1", 58, true},
      {"pmconffile:/etc/x:10:'a' 'b' 1 1", nullptr, 0, false},
      {"pmstatus:munge:nan:x", nullptr, 0, false},
      {"pmstatus:munge:900:x", nullptr, 0, false},
      {"status", nullptr, 0, false},
      {"", nullptr, 0, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.line);
    const auto progress = ParseAptProgress(c.line);
    ASSERT_EQ(progress.has_value(), c.activity != nullptr);
    if (!progress.has_value()) continue;
    EXPECT_EQ(progress->activity, c.activity);
    EXPECT_NEAR(progress->percent, c.percent, 0.01);
    EXPECT_EQ(progress->is_error, c.is_error);
  }
}

TEST(AptPolicy, FindsCandidates) {
  const auto policies = ParsePolicy(
      "munge:\n  Installed: 0.5.14-1\n  Candidate: 0.5.15-2\n  Version table:\n"
      "     0.5.15-2 500\n        500 http://deb.debian.org/debian bookworm/main amd64 Packages\n"
      " *** 0.5.14-1 100\n        100 /var/lib/dpkg/status\n"
      "awk:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n");
  ASSERT_EQ(policies.size(), 2u);
  EXPECT_EQ(policies.at("munge").candidate, "0.5.15-2");
  EXPECT_THAT(policies.at("munge").versions, ElementsAre("0.5.15-2", "0.5.14-1"));
  EXPECT_EQ(policies.at("awk").candidate, "");
  EXPECT_THAT(policies.at("awk").versions, IsEmpty());
  EXPECT_THAT(ParsePolicy(""), IsEmpty());
}

TEST(AptFailure, KnowsWhatHelps) {
  const struct {
    const char* output;
    AptRemedy remedy;
  } kCases[] = {
      {"E: Unable to locate package foo", AptRemedy::kUpdateLists},
      {"E: Package 'foo' has no installation candidate", AptRemedy::kUpdateLists},
      {"E: Version '9' for 'munge' was not found", AptRemedy::kUpdateLists},
      {"Err:1 http://x bookworm/main\n  404  Not Found\nE: Unable to fetch some archives, maybe "
       "run",
       AptRemedy::kUpdateLists},
      {"E: dpkg was interrupted, you must manually run 'dpkg --configure -a'",
       AptRemedy::kConfigureAll},
      {"E: Unmet dependencies. Try 'apt --fix-broken install' with no packages",
       AptRemedy::kFixBroken},
      {"E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7",
       AptRemedy::kWaitForLock},
      {"E: Failed to fetch http://x/InRelease  500  Cache Error [IP: 10.0.0.1 3142]\n"
       "E: Unable to fetch some archives, maybe run",
       AptRemedy::kTryAgain},
      {"E: Failed to fetch http://x/a%20  5 b/InRelease  404  Not Found [IP: 10.0.0.1 80]",
       AptRemedy::kNone},
      {"E: Failed to fetch http://x/InRelease  50", AptRemedy::kNone},
      {"E: Sub-process /usr/bin/dpkg returned an error code (1)", AptRemedy::kNone},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.output);
    EXPECT_EQ(ParseAptFailure(c.output).remedy, c.remedy);
  }
}

TEST(AptFailure, CollectsNamesAndErrors) {
  const AptFailure failure = ParseAptFailure(
      "Reading package lists...\nE: Unable to locate package foo\n"
      "Package bar is not available\nE: Package 'bar' has no installation candidate\n");
  EXPECT_THAT(failure.unknown, ElementsAre("foo", "bar"));
  EXPECT_THAT(failure.causes, ElementsAre("Unable to locate package foo",
                                          "Package 'bar' has no installation candidate"));
}

TEST(AptFailure, TellsTheCauseInFewWords) {
  const struct {
    const char* output;
    const char* described;
  } kCases[] = {
      {"Reading package lists...\nUnpacking broken (1.0) ...\nSetting up broken (1.0) ...\n"
       "no licence: ask sales\ndpkg: error processing package broken (--configure):\n"
       " installed broken package post-installation script subprocess returned error exit status "
       "3\n"
       "Errors were encountered while processing:\n broken\n"
       "E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
       "broken: installed broken package post-installation script subprocess returned error exit "
       "status 3\nno licence: ask sales"},
      {"The following packages have unmet dependencies:\n"
       " needy : Depends: nosuch (>= 2) but it is not installable\n"
       "E: Unable to correct problems, you have held broken packages.\n",
       "needy : Depends: nosuch (>= 2) but it is not installable; name versions that fit together, "
       "or add the repository that has them"},
      {"The following packages have unmet dependencies:\n"
       " vendor : Depends: libvendor but it is not installed\n"
       "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a "
       "solution).\n",
       "vendor : Depends: libvendor but it is not installed\nUnmet dependencies. Try 'apt "
       "--fix-broken install' with no packages (or specify a solution); installed packages lack "
       "what they depend on: add the repository that has it (package_repository), or remove them "
       "(state: absent); --fix-broken by hand may remove packages that no task names"},
      {"E: Failed to fetch file:/srv/repo/./tool_1.0_all.deb  Hash Sum mismatch\n"
       "   Hashes of expected file:\n    - SHA256:12\n"
       "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n",
       "Failed to fetch file:/srv/repo/./tool_1.0_all.deb  Hash Sum mismatch; the repository, or a "
       "cache in between, serves something other than its lists promise: synchronize it and run "
       "again; nothing of it was installed"},
      {"The following packages will be DOWNGRADED:\n  tool\n"
       "E: Packages were downgraded and -y was used without --allow-downgrades.\n",
       "Packages were downgraded and -y was used without --allow-downgrades; if that is intended, "
       "write allow_downgrade: true"},
      {"E: one\nE: two\nE: two\nE: three\nE: four\nE: five\n",
       "one\ntwo\nthree\nfour\n… and 1 more"},
      {"E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
       "Sub-process /usr/bin/dpkg returned an error code (1)"},
      {"Killed\n", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.output);
    EXPECT_EQ(ParseAptFailure(c.output).Describe(), c.described);
  }
}

TEST(AptFailure, FindsTheLogOfAModuleThatDkmsCouldNotBuild) {
  const struct {
    const char* line;
    const char* log;
  } kCases[] = {
      {"Consult /var/lib/dkms/nvidia/535.261.03/build/make.log for more information.",
       "/var/lib/dkms/nvidia/535.261.03/build/make.log"},
      {"Consult /var/lib/dkms/x/../../../etc/make.log for more information.", ""},
      {"Consult /var/lib/dkms/x for /tmp/make.log", ""},
      {"Consult /tmp/make.log for more information.", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(ParseAptFailure(c.line).build_log, c.log) << c.line;
}

TEST(BuildLog, EndsWithItsLastLinesBehindTheFirstError) {
  EXPECT_EQ(EndOfBuildLog(""), "");
  EXPECT_EQ(EndOfBuildLog("a\n\nb.c:1: error: x\n"), "a\nb.c:1: error: x");
  std::string log = "begin\nb.c:1:2: error: no such thing\nb.c:9:9: error: nor this\n";
  for (int i = 0; i < 20; ++i) log += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(EndOfBuildLog(log),
            "b.c:1:2: error: no such thing\n…\nline 12\nline 13\nline 14\nline 15\nline 16\n"
            "line 17\nline 18\nline 19");
  log.replace(0, log.find("line 0"), "make: entering\n*** Failed CC version check. ***\n");
  EXPECT_EQ(EndOfBuildLog(log).substr(0, 41), "*** Failed CC version check. ***\n…\nline");
  EXPECT_EQ(EndOfBuildLog(std::string(1000, 'x')).size(), 300u);
}

TEST(AptFailure, ShowsTheEndOfALongScript) {
  std::string output = "Setting up chatty (1.0) ...\n";
  for (int i = 0; i < 100; ++i) output += "line " + std::to_string(i) + "\n";
  output += "dpkg: error processing package chatty (--configure):\n it failed\n";
  EXPECT_EQ(ParseAptFailure(output).Describe(),
            "chatty: it failed\nline 94\nline 95\nline 96\nline 97\nline 98\nline 99");
}

}  // namespace
}  // namespace muster::agent
