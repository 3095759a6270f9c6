#include "agent/sys/dnf/dnf_output.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "agent/sys/dnf/dnf_arguments.h"
#include "agent/sys/dnf/repositories.h"
#include "agent/sys/dnf/rpm_version.h"
#include "agent/sys/dnf/version_locks.h"
#include "agent/sys/package_family.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RpmVersion, HasRpmsOrder) {
  const struct {
    const char *a, *b;
    int order;
  } kRows[] = {
      {"1.0-1", "1.0-1", 0},
      {"1.0-1", "1.0-2", -1},
      {"1.10-1", "1.9-1", 1},
      {"1:1.0-1", "2.0-1", 1},
      {"0:2.0-1", "2.0-1", 0},
      {"1.0~rc1-1", "1.0-1", -1},
      {"1.0^git1-1", "1.0-1", 1},
      {"1.0^git1-1", "1.0.1-1", -1},
      {"1.0a-1", "1.0-1", 1},
      {"1.0.1-1", "1.0a-1", 1},
      {"1.05-1", "1.5-1", 0},
      {"1.0-1.el9", "1.0-1.el9_2", -1},
      {"1.0", "1.0-7", 0},
      {"1.0~~a-1", "1.0~a-1", -1},
      {"2_0-1", "2.0-1", 0},
      {"99999999999999999999-1", "100000000000000000000-1", -1},
      {"", "", 0},
      {"", "1", -1},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(CompareRpmVersions(row.a, row.b), row.order) << row.a << " " << row.b;
    EXPECT_EQ(CompareRpmVersions(row.b, row.a), -row.order) << row.b << " " << row.a;
  }
}

TEST(RpmDatabase, FindsPackagesByNameAndArchitecture) {
  const RpmDatabase database = RpmDatabase::Parse(
      "warning: something\n"
      "glibc\t2.34-1\tx86_64\t10\nglibc\t2.34-1\ti686\t10\n"
      "nvidia\t3:535.1-1.el9\tx86_64\t11\n"
      "gpg-pubkey\tb399f4f8-1\t(none)\t1\ngpg-pubkey\t514590e7-1\t(none)\t1\n");
  EXPECT_FALSE(database.has_several_versions()) << "architectures and keys are none";
  EXPECT_EQ(database.Find("glibc").size(), 2u);
  EXPECT_EQ(database.Find("glibc.i686").size(), 1u);
  EXPECT_THAT(database.Find("gpg-pubkey"), IsEmpty());
  EXPECT_THAT(database.Find("libc"), IsEmpty());
  for (const char* one :
       {"nvidia-535.1-1.el9", "nvidia-3:535.1-1.el9", "nvidia-535.1-1.el9.x86_64"})
    EXPECT_EQ(database.Find(one).size(), 1u) << one;
  EXPECT_EQ(database.Find("glibc-2.34-1").size(), 2u);
  EXPECT_EQ(database.Find("glibc-2.34-1.i686").size(), 1u);
  EXPECT_THAT(database.Find("nvidia-535.1"), IsEmpty());
  ASSERT_NE(database.FindNevra("nvidia-3:535.1-1.el9.x86_64"), nullptr);
  EXPECT_EQ(database.FindNevra("nvidia-3:535.1-1.el9.x86_64")->transaction, "11");
  const RpmDatabase twice = RpmDatabase::Parse("tool\t1.9-1\tnoarch\t1\ntool\t1.10-1\tnoarch\t2\n");
  EXPECT_TRUE(twice.has_several_versions());
  EXPECT_EQ(twice.Find("tool").front().version, "1.10-1");

  auto original = std::make_unique<RpmDatabase>(database);
  const RpmDatabase copy = *original;
  original.reset();
  EXPECT_EQ(copy.Find("glibc.i686").front().arch, "i686");
  EXPECT_EQ(copy.FindNevra("nvidia-3:535.1-1.el9.x86_64")->name, "nvidia");
  EXPECT_EQ(copy.All().size(), 3u);
}

const RpmPackage kTool = {"tool", "1.0-1.el9", "noarch", "", ""};
const RpmPackage kDriver = {"nvidia-driver", "3:580.1-1.el9", "x86_64", "", ""};

TEST(VersionLocks, HoldAndReleaseWhatTheyName) {
  VersionLocks locks("# of the administrator\n*nvidia*580*\n!tool-0:0.9-1.*\n");
  EXPECT_TRUE(locks.Holds(kDriver));
  EXPECT_FALSE(locks.Holds(kTool)) << "an exclusion of one version is not a hold";
  locks.Hold(kTool);
  EXPECT_TRUE(locks.Holds(kTool));
  RpmPackage newer = kTool;
  newer.version = "2.0-1.el9";
  EXPECT_FALSE(locks.Holds(newer));
  locks.Hold(kTool);
  EXPECT_EQ(locks.Text(),
            "# of the administrator\n*nvidia*580*\n!tool-0:0.9-1.*\ntool-0:1.0-1.el9.*\n");
  locks.Release(kDriver);
  locks.Hold(kDriver);
  locks.Release(kTool);
  EXPECT_EQ(locks.Text(),
            "# of the administrator\n!tool-0:0.9-1.*\nnvidia-driver-3:580.1-1.el9.*\n");
  for (const char* line : {"tool", "tool-1.0", "tool-1.0-1.el9", "tool-0:1.0-1.el9.noarch", "t*l",
                           "tool.noarch", "tool-1.0*  # why"})
    EXPECT_TRUE(VersionLocks(line).Holds(kTool)) << line;
  EXPECT_FALSE(VersionLocks("toolbox").Holds(kTool));
  EXPECT_EQ(VersionLocks("").Text(), "");
}

TEST(VersionLocks, ReleaseOneOfThoseThatAPatternHolds) {
  const RpmPackage libraries = {"nvidia-driver-libs", "3:580.1-1.el9", "x86_64", "", ""};
  VersionLocks locks("*nvidia*580*\n");
  locks.ReleaseOnly(kDriver, {kTool, kDriver, libraries});
  EXPECT_EQ(locks.Text(), "nvidia-driver-libs-3:580.1-1.el9.*\n");
}

TEST(VersionLocks, ReadThePluginsConfiguration) {
  constexpr char kText[] = "[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n";
  EXPECT_TRUE(VersionLockIsEnabled(kText));
  EXPECT_EQ(VersionLockPath(kText), "/etc/dnf/plugins/versionlock.list");
  EXPECT_FALSE(VersionLockIsEnabled("[main]\nenabled = 0\n"));
  EXPECT_FALSE(VersionLockIsEnabled("[main]\n"));
}

TEST(DnfArguments, RefuseWhatDnfWouldExpand) {
  for (const char* name : {"tool", "glibc.i686", "perl(Foo::Bar)", "libstdc++", "python3.11-libs"})
    EXPECT_TRUE(CheckDnfName(name).ok()) << name;
  for (const char* name : {"", "@core", "-y", "tool*", "/usr/bin/tool", "a b", "http://x/y.rpm",
                           "tool[12]", "a\nb", "tool>=2"})
    EXPECT_FALSE(CheckDnfName(name).ok()) << name;
}

TEST(DnfArguments, NameVersionsAsDnfDoes) {
  EXPECT_EQ(DnfSpec("tool"), "tool");
  EXPECT_EQ(DnfSpec("tool=3:1.0-1.el9"), "tool-3:1.0-1.el9");
  EXPECT_EQ(DnfSpec("glibc.i686=2.34-1"), "glibc-2.34-1.i686");
  EXPECT_EQ(DnfSpec("python3.11=3.11-1"), "python3.11-3.11-1");
}

TEST(DnfArguments, AStoredTransactionIsWellFormed) {
  EXPECT_EQ(DnfStoredTransaction({{"a\"\n", "1-1", "noarch", "", "r"}}, {kTool}),
            "{\"version\": \"0.0\", \"rpms\": [\n"
            "  {\"action\": \"Install\", \"nevra\": \"a\\\"-1-1.noarch\", \"reason\": \"user\", "
            "\"repo_id\": \"r\"},\n"
            "  {\"action\": \"Removed\", \"nevra\": \"tool-1.0-1.el9.noarch\", \"reason\": "
            "\"user\", \"repo_id\": \"@System\"}\n]}\n");
}

TEST(DnfProgress, IsReadFromItsLines) {
  const auto read = [](const char* line) {
    const auto progress = ParseDnfProgress(line);
    return progress.has_value() ? std::make_pair(progress->activity, progress->percent)
                                : std::make_pair(std::string(), -1.0f);
  };
  EXPECT_EQ(read("(1/2): tool-1.0-1.el9.noarch.rpm   1.2 MB/s | 12 kB     00:00    "),
            std::make_pair(std::string("downloading tool-1.0-1.el9.noarch.rpm"), 15.0f));
  EXPECT_EQ(read("  Installing       : tool-1.0-1.el9.noarch             2/2 "),
            std::make_pair(std::string("installing tool-1.0-1.el9.noarch"), 90.0f));
  EXPECT_EQ(read("  Verifying        : tool-1.0-1.el9.noarch             1/2 "),
            std::make_pair(std::string("verifying tool-1.0-1.el9.noarch"), 95.0f));
  for (const char* line : {"", "Installing:", "Importing GPG key: x 1/2", "(3/2): x", "(a/b): x",
                           "  Installing : x", "  Installing : x 1/0", "Error: x: 1/2"})
    EXPECT_EQ(read(line).second, -1.0f) << line;
}

TEST(Repoquery, SkipsSourcesAndWarnings) {
  const auto packages = ParseRepoquery(
      "Detection of Platform Module failed\ntool\t1.0-1\tnoarch\tlocal\n"
      "driver\t3:535-1\tx86_64\tcuda\ntool\t1.0-1\tsrc\tlocal\n\n");
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_EQ(packages[1].version, "3:535-1");
  EXPECT_EQ(packages[1].repository, "cuda");
}

constexpr char kTable[] = R"(Last metadata expiration check: 0:00:05 ago.
Dependencies resolved.
================================================================================
 Package         Architecture      Version               Repository        Size
================================================================================
Installing:
 tool            noarch            1.0-1.el9             local            5.9 k
     replacing  old-tool.noarch 0.9-1
 a-package-with-a-name-that-is-longer-than-its-column
                 x86_64            3:535.104-1.el9       cuda             120 M
Installing dependencies:
 lib             noarch            2.0-1.el9             local            5.9 k
Removing dependent packages:
 gone            noarch            1.0-1.el9             @local           4

Transaction Summary
================================================================================
Install  3 Packages

Total download size: 120 M
Operation aborted.
)";

TEST(DnfPreview, ReadsTheTableOfChanges) {
  const PackagePreview preview = ParseDnfPreview(kTable);
  EXPECT_TRUE(preview.has_lists);
  EXPECT_THAT(
      preview.versions,
      ElementsAre(Pair("a-package-with-a-name-that-is-longer-than-its-column", "3:535.104-1.el9"),
                  Pair("lib", "2.0-1.el9"), Pair("tool", "1.0-1.el9")));
  EXPECT_THAT(preview.removed, ElementsAre("gone"));
  EXPECT_EQ(preview.bytes, 120u << 20);
  EXPECT_FALSE(ParseDnfPreview("Error: Cache-only enabled but no cache for 'a'\n").has_lists);
}

constexpr char kInterrupted[] = R"(Transaction ID : 5
End rpmdb      :  **
Return-Code    : Failure: 1
Packages Altered:
    Install lib-2.0-1.el9.noarch  @local
 ** Install slow-1.0-1.el9.noarch @local
Scriptlet output:
   1 ** no licence
   2 warning: %post(broken-1.0-1.el9.noarch) scriptlet failed, exit status 3
)";

TEST(DnfHistory, NamesWhatIsUnfinished) {
  EXPECT_THAT(ParseUnfinished(kInterrupted),
              ElementsAre("slow-1.0-1.el9.noarch", "broken-1.0-1.el9.noarch"));
  EXPECT_THAT(ParseUnfinished("Traceback (most recent call last):\n"), IsEmpty());
}

TEST(DnfFailure, TellsCausesAndRemedies) {
  const struct {
    const char* output;
    DnfRemedy remedy;
  } kRows[] = {
      {"No match for argument: tol\nError: Unable to find a match: tol\n", DnfRemedy::kUpdateLists},
      {"Package tool-1.rpm is not signed\nError: GPG check FAILED\n", DnfRemedy::kNone},
      {"Import of key(s) didn't help, wrong key(s)?\nPublic key for tool-1.rpm is not installed. "
       "Failing package is: tool-1\n GPG Keys are configured as: file:///x\n"
       "Error: GPG check FAILED\n",
       DnfRemedy::kNone},
      {"Error: Failed to obtain the transaction lock (logged in as: root).\n",
       DnfRemedy::kWaitForLock},
      {"[MIRROR] tool.rpm: Status code: 503 for http://m/tool.rpm (IP: 10.0.0.1)\n"
       "Error: Error downloading packages:\n"
       "  Cannot download noarch/tool.rpm: All mirrors were tried\n",
       DnfRemedy::kTryAgain},
      {"Error: \n Problem: conflicting requests\n"
       "  - nothing provides lib >= 9 needed by tool-9-1.noarch from local\n",
       DnfRemedy::kNone},
      {"  Running scriptlet: broken-1.0-1.el9.noarch   2/2 \nno licence\n"
       "warning: %post(broken-1.0-1.el9.noarch) scriptlet failed, exit status 3\n\n"
       "Error in POSTIN scriptlet in rpm package broken\n",
       DnfRemedy::kNone},
      {"Error: Problems in request:\nmissing groups or modules: driver:9\n", DnfRemedy::kNone},
      {"Problem repository: [local]\nbandwidth: 0\n", DnfRemedy::kNone},
  };
  for (const auto& row : kRows) {
    const DnfFailure failure = ParseDnfFailure(row.output);
    EXPECT_EQ(failure.remedy, row.remedy) << row.output;
    EXPECT_THAT(failure.Describe(), Said()) << row.output;
  }
  EXPECT_THAT(ParseDnfFailure(kRows[0].output).unknown, ElementsAre("tol"));
}

TEST(Repositories, PrioritiesAndStreamsAreRead) {
  std::map<std::string, int> priorities;
  ReadPriorities("[a]\npriority = 10\n# [b]\n[c]\nname=c\npriority=x\n", priorities);
  EXPECT_THAT(priorities, ElementsAre(Pair("a", 10)));
  EXPECT_EQ(EnabledStream("[driver]\nname=driver\nstream=535-dkms\nstate=enabled\n", "driver"),
            "535-dkms");
  EXPECT_EQ(EnabledStream("[driver]\nname=driver\nstream=\nstate=\n", "driver"), "");
  EXPECT_EQ(EnabledStream("[driver]\nstream=1\nstate=disabled\n", "driver"), "");
  EXPECT_EQ(EnabledStream("[other]\nstream=1\nstate=enabled\n", "driver"), "");
}

TEST(PackageFamily, IsWhatTheSystemIsBeforeWhatItIsLike) {
  const struct {
    const char* release;
    bool has_dpkg, has_rpm;
    PackageFamily family;
  } kRows[] = {
      {"ID=debian\n", true, true, PackageFamily::kApt},
      {"NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", true, true,
       PackageFamily::kDnf},
      {"ID_LIKE=\"rhel fedora\"\nID=ol\n", true, true, PackageFamily::kDnf},
      {"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", false, true, PackageFamily::kApt},
      {"", true, false, PackageFamily::kApt},
      {"ID=other\n", false, true, PackageFamily::kDnf},
      {"ID=other\n", true, true, PackageFamily::kApt},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(FamilyOf(row.release, row.has_dpkg, row.has_rpm), row.family) << row.release;
}

}  // namespace
}  // namespace muster::agent
