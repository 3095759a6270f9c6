#include "agent/sys/apt_output.h"

#include <gmock/gmock.h>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

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
  EXPECT_THAT(ParsePolicy("munge:\n  Installed: (none)\n  Candidate: 0.5.15-2\n"
                          "  Version table:\n     0.5.15-2 500\n"
                          "awk:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"),
              ElementsAre(Pair("awk", ""), Pair("munge", "0.5.15-2")));
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
  EXPECT_THAT(failure.errors, HasSubstr("E: Unable to locate package foo"));
  EXPECT_EQ(failure.errors.find("Reading"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
