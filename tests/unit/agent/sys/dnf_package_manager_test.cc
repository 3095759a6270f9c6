#include "agent/sys/dnf/dnf_package_manager.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kLockConfiguration[] = "/etc/dnf/plugins/versionlock.conf";
constexpr char kLockList[] = "/etc/dnf/plugins/versionlock.list";
constexpr char kRpmdb[] = "/var/lib/rpm/rpmdb.sqlite";
constexpr char kHistory[] = "/var/lib/dnf/history.sqlite";

class DnfTest : public ::testing::Test {
 protected:
  DnfTest() : dnf_(files_, processes_, clock_, Options()) {
    files_.AddFile(kLockConfiguration,
                   absl::StrCat("[main]\nenabled = 1\nlocklist = ", kLockList, "\n"));
    files_.AddFile(kLockList, "");
    files_.AddFile("/etc/dnf/dnf.conf", "");
    files_.AddDirectory("/etc/yum.repos.d");
    processes_.On("rpm --eval", FakeProcessRunner::Prints("/var/lib/rpm\n"));
    processes_.On("rpm --query --all", [this](const sys::ProcessSpec&) {
      return FakeProcessRunner::Prints(installed_);
    });
    processes_.On("rpm --query --whatprovides", FakeProcessRunner::Prints("no package\n", 1));
    processes_.On("rpm --rebuilddb", [this](const sys::ProcessSpec&) {
      steps_.emplace_back("rebuild");
      return sys::ProcessResult{};
    });
    processes_.On("dnf --assumeyes", [this](const sys::ProcessSpec& spec) { return Dnf(spec); });
    Installed("tool\t1.0-1\tnoarch\t100\n");
    observer_.on_output = [this](absl::string_view line) { absl::StrAppend(&output_, line, "\n"); };
  }

  DnfOptions Options() {
    DnfOptions options;
    options.machine = "x86_64";
    options.lock_timeout = absl::Minutes(5);
    options.find_lock_holder = [this](const std::string&) -> std::optional<LockHolder> {
      if (clock_.Now() >= lock_until_) return std::nullopt;
      return LockHolder{.pid = 812, .program = "dnf"};
    };
    return options;
  }

  // Changes rpm's database, and with it the size of its file.
  void Installed(const std::string& lines) {
    installed_ = lines;
    files_.AddFile(kRpmdb, std::string(++changes_, 'x'));
  }
  void LastTransactionSays(const std::string& text) {
    processes_.On(Query("history info last"), FakeProcessRunner::Prints(text));
    files_.AddFile(kHistory, std::string(++changes_, 'x'));
  }
  void Offer(const std::string& lines) {
    processes_.On(Query("repoquery --available"), FakeProcessRunner::Prints(lines));
  }
  static std::string Query(const std::string& words) {
    return absl::StrCat("dnf --quiet --color=never --cacheonly --disableplugin=versionlock ",
                        words);
  }

  // Records what dnf is asked to do, without the options; then what `on_step_` does.
  sys::ProcessResult Dnf(const sys::ProcessSpec& spec) {
    std::vector<std::string> words;
    for (size_t i = 1; i < spec.argv.size(); ++i)
      if (!absl::StartsWith(spec.argv[i], "--") || spec.argv[i] == "--duplicates")
        words.push_back(spec.argv[i]);
    steps_.push_back(absl::StrJoin(words, " "));
    locks_seen_ = files_.At(kLockList).content;
    if (on_step_) on_step_(steps_.back());
    if (steps_.back() == "makecache" || results_.empty()) return {};
    const sys::ProcessResult result = results_.front();
    results_.erase(results_.begin());
    return result;
  }

  testing::FakeFileSystem files_;
  testing::FakeProcessRunner processes_;
  testing::FakeClock clock_;
  absl::Time lock_until_ = absl::InfinitePast();
  std::string installed_, locks_seen_, output_;
  size_t changes_ = 0;
  std::vector<sys::ProcessResult> results_;  // of the next transactions; then success
  std::function<void(const std::string&)> on_step_;
  std::vector<std::string> steps_;
  PackageObserver observer_;
  DnfPackageManager dnf_;
};

TEST_F(DnfTest, ReadsTheDatabaseAgainOnlyWhenItChanged) {
  EXPECT_EQ(dnf_.Query({"tool"}, false).value()["tool"].version, "1.0-1");
  EXPECT_FALSE(dnf_.Query({"munge"}, false).value()["munge"].installed);
  const auto reads = [this] {
    return std::count_if(
        processes_.commands().begin(), processes_.commands().end(),
        [](const std::string& line) { return absl::StartsWith(line, "rpm --query --all"); });
  };
  EXPECT_EQ(reads(), 1);
  Installed("tool\t2.0-1\tnoarch\t101\nkernel\t5.1-1\tx86_64\t1\nkernel\t5.2-1\tx86_64\t2\n");
  auto found = dnf_.Query({"tool", "kernel"}, false).value();
  EXPECT_EQ(reads(), 2);
  EXPECT_EQ(found["tool"].version, "2.0-1");
  EXPECT_EQ(found["kernel"].version, "5.2-1");
  EXPECT_THAT(found["kernel"].older, ElementsAre("5.1-1"));
  EXPECT_THAT(dnf_.Query({"@core"}, false), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// As roles name the headers of the running kernel, which stand beside those of other kernels.
TEST_F(DnfTest, ANameWithVersionAndReleaseIsThatVersionAlone) {
  constexpr char kRunning[] = "kernel-devel-5.14.0-570.el9";
  Installed("kernel-devel\t5.14.0-611.el9\tx86_64\t2\n");
  EXPECT_FALSE(dnf_.Query({kRunning}, false).value()[kRunning].installed);
  Offer("kernel-devel\t5.14.0-611.el9\tx86_64\tbase\nkernel-devel\t5.14.0-570.el9\tx86_64\tbase\n");
  PackageStatus status = dnf_.Query({kRunning}, true).value()[kRunning];
  EXPECT_EQ(status.candidate, "5.14.0-570.el9");
  EXPECT_THAT(status.available, ElementsAre("5.14.0-570.el9"));
  Installed("kernel-devel\t5.14.0-570.el9\tx86_64\t1\nkernel-devel\t5.14.0-611.el9\tx86_64\t2\n");
  for (const std::string name :
       {"kernel-devel-5.14.0-570.el9", "kernel-devel-5.14.0-570.el9.x86_64"}) {
    status = dnf_.Query({name}, true).value()[name];
    EXPECT_TRUE(status.installed) << name;
    EXPECT_EQ(status.version, "5.14.0-570.el9");
    EXPECT_THAT(status.older, IsEmpty());
  }
  EXPECT_EQ(dnf_.Query({"kernel-devel"}, false).value()["kernel-devel"].version, "5.14.0-611.el9");
}

TEST_F(DnfTest, OffersTheVersionsOfThisMachineByPriority) {
  files_.AddFile("/etc/yum.repos.d/a.repo", "[site]\npriority=10\n");
  Offer(
      "tool\t3.0-1\tnoarch\tbase\ntool\t2.0-1\tnoarch\tsite\ntool\t9.0-1\ti686\tbase\n"
      "toolbox\t1-1\tnoarch\tbase\n");
  const PackageStatus tool = dnf_.Query({"tool"}, true).value()["tool"];
  EXPECT_EQ(tool.candidate, "2.0-1");
  EXPECT_THAT(tool.available, ElementsAre("3.0-1", "2.0-1"));
  EXPECT_EQ(dnf_.Query({"tool.i686"}, true).value()["tool.i686"].candidate, "9.0-1");
}

TEST_F(DnfTest, InstallsAfterFetchingTheLists) {
  ASSERT_OK(dnf_.Apply({.install = {"munge", "lib=1:2.0-1"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("makecache", "install munge lib-1:2.0-1"));
  ASSERT_OK(dnf_.Apply({.remove = {"munge"}}, observer_));
  EXPECT_EQ(steps_.back(), "remove munge");
}

TEST_F(DnfTest, InstallsAndRemovesInOneTransaction) {
  Offer("new\t1.0-1\tnoarch\tlocal\nnew\t0.9-1\tnoarch\tlocal\n");
  ASSERT_OK(dnf_.Apply({.install = {"new"}, .remove = {"tool", "not-there"}}, observer_));
  EXPECT_EQ(steps_.back(), "history replay /var/lib/muster/dnf/transaction.json");
  const std::string stored = files_.At("/var/lib/muster/dnf/transaction.json").content;
  EXPECT_THAT(stored, HasSubstr("\"Install\", \"nevra\": \"new-1.0-1.noarch\""));
  EXPECT_THAT(stored, HasSubstr("\"Removed\", \"nevra\": \"tool-1.0-1.noarch\""));
  EXPECT_THAT(stored, Not(HasSubstr("not-there")));
  EXPECT_THAT(dnf_.Apply({.install = {"nowhere"}, .remove = {"tool"}}, observer_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(DnfTest, WaitsForTheHolderOfTheLockAndNamesIt) {
  lock_until_ = clock_.Now() + absl::Minutes(1);
  ASSERT_OK(dnf_.Apply({.install = {"munge"}}, observer_));
  EXPECT_THAT(output_, HasSubstr("held by dnf (pid 812)"));
  lock_until_ = absl::InfiniteFuture();
  EXPECT_THAT(dnf_.Apply({.install = {"munge"}}, observer_),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
  // Taken between our look and dnf's own.
  lock_until_ = absl::InfinitePast();
  results_ = {FakeProcessRunner::Prints("Error: Failed to obtain the transaction lock\n", 200)};
  ASSERT_OK(dnf_.Apply({.install = {"munge"}}, observer_));
}

TEST_F(DnfTest, HoldsAndReleasesByVersionlock) {
  ASSERT_OK(dnf_.Apply({.hold = {"tool"}}, observer_));
  EXPECT_EQ(files_.At(kLockList).content, "tool-0:1.0-1.*\n");
  EXPECT_THAT(steps_, IsEmpty());
  EXPECT_TRUE(dnf_.Query({"tool"}, false).value()["tool"].held);
  on_step_ = [this](const std::string& step) {
    if (absl::StartsWith(step, "install")) Installed("tool\t2.0-1\tnoarch\t101\n");
  };
  ASSERT_OK(dnf_.Apply({.install = {"tool=2.0-1"}}, observer_));
  EXPECT_EQ(locks_seen_, "tool-0:2.0-1.*\n") << "dnf would not see the version otherwise";
  EXPECT_EQ(files_.At(kLockList).content, "tool-0:2.0-1.*\n");
  ASSERT_OK(dnf_.Apply({.release = {"tool"}}, observer_));
  EXPECT_EQ(files_.At(kLockList).content, "");
}

TEST_F(DnfTest, AFailedTransactionLeavesTheLocksAsTheyWere) {
  files_.AddFile(kLockList, "tool-0:1.0-1.*\n");
  results_ = {FakeProcessRunner::Prints("Error: GPG check FAILED\n", 1)};
  EXPECT_FALSE(dnf_.Apply({.install = {"tool=2.0-1"}}, observer_).ok());
  EXPECT_EQ(locks_seen_, "tool-0:2.0-1.*\n");
  EXPECT_EQ(files_.At(kLockList).content, "tool-0:1.0-1.*\n");
}

// rpm has replaced the package, so dnf has to see it to install it again.
TEST_F(DnfTest, AFailedScriptOfAHeldPackageLocksWhatIsInstalledNow) {
  files_.AddFile(kLockList, "*tool*1.0*\n");
  Installed("tool\t1.0-1\tnoarch\t100\ntool-doc\t1.0-1\tnoarch\t100\n");
  constexpr char kFailed[] = "warning: %post(tool-2.0-1.noarch) scriptlet failed, exit status 3\n";
  on_step_ = [&](const std::string& step) {
    if (!absl::StartsWith(step, "install")) return;
    Installed("tool\t2.0-1\tnoarch\t101\ntool-doc\t1.0-1\tnoarch\t100\n");
    LastTransactionSays(kFailed);
  };
  results_ = {FakeProcessRunner::Prints(kFailed, 0)};
  EXPECT_FALSE(dnf_.Apply({.install = {"tool=2.0-1"}}, observer_).ok());
  EXPECT_EQ(files_.At(kLockList).content, "tool-doc-0:1.0-1.*\ntool-0:2.0-1.*\n");
  PackageStatus tool = dnf_.Query({"tool"}, false).value()["tool"];
  EXPECT_TRUE(tool.held);
  EXPECT_TRUE(tool.half_done);
}

TEST_F(DnfTest, OtherPackagesOfAPatternStayHeld) {
  const std::string both = "tool\t1.0-1\tnoarch\t100\ntool-doc\t1.0-1\tnoarch\t100\n";
  Installed(both);
  files_.AddFile(kLockList, "tool*\n");
  ASSERT_OK(dnf_.Apply({.install = {"tool=2.0-1"}}, observer_));
  EXPECT_EQ(locks_seen_, "tool-doc-0:1.0-1.*\ntool-0:2.0-1.*\n");
  files_.AddFile(kLockList, "tool*\n");
  ASSERT_OK(dnf_.Apply({.remove = {"tool"}}, observer_));
  EXPECT_EQ(files_.At(kLockList).content, "tool-doc-0:1.0-1.*\n");
}

TEST_F(DnfTest, TheLatestVersionIsNeverOlderThanTheInstalledOne) {
  Offer("tool\t0.9-1\tnoarch\tbase\n");
  EXPECT_EQ(dnf_.Query({"tool"}, true).value()["tool"].candidate, "1.0-1");
  Offer("tool\t1.1-1\tnoarch\tbase\n");
  EXPECT_EQ(dnf_.Query({"tool"}, true).value()["tool"].candidate, "1.1-1");
}

TEST_F(DnfTest, AHoldBringsThePluginAlong) {
  ASSERT_OK(files_.Remove(kLockConfiguration, false));
  EXPECT_THAT(dnf_.Apply({.hold = {"tool"}}, observer_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(steps_.back(), "install python3-dnf-plugin-versionlock");
}

TEST_F(DnfTest, WhatAnInterruptedTransactionLeftIsInstalledAgain) {
  LastTransactionSays("Packages Altered:\n ** Install tool-1.0-1.noarch @local\n");
  PackageStatus tool = dnf_.Query({"tool"}, false).value()["tool"];
  EXPECT_TRUE(tool.half_done);
  EXPECT_FALSE(tool.installed);
  on_step_ = [this](const std::string& step) {
    if (!absl::StartsWith(step, "reinstall")) return;
    Installed("tool\t1.0-1\tnoarch\t200\n");
    LastTransactionSays("Packages Altered:\n    Reinstall tool-1.0-1.noarch @local\n");
  };
  ASSERT_OK(dnf_.Apply({.install = {"tool"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("reinstall tool-1.0-1.noarch", "makecache", "install tool"));
  EXPECT_TRUE(dnf_.Query({"tool"}, false).value()["tool"].installed);
}

TEST_F(DnfTest, ARunningTransactionIsNotTakenForDoneButAwaited) {
  LastTransactionSays("Packages Altered:\n ** Install tool-1.0-1.noarch @local\n");
  lock_until_ = clock_.Now() + absl::Minutes(1);
  EXPECT_FALSE(dnf_.Query({"tool"}, false).value()["tool"].installed) << "its script still runs";
  observer_.on_output = [this](absl::string_view line) {
    absl::StrAppend(&output_, line, "\n");
    LastTransactionSays("Packages Altered:\n    Install tool-1.0-1.noarch @local\n");
  };
  ASSERT_OK(dnf_.Apply({.install = {"tool"}}, observer_));
  EXPECT_THAT(output_, HasSubstr("held by dnf (pid 812)"));
  EXPECT_THAT(steps_, ElementsAre("makecache", "install tool")) << "nothing was interrupted";
}

TEST_F(DnfTest, AFailedScriptFailsTheTransactionAndIsNotForgotten) {
  constexpr char kFailed[] =
      "  Running scriptlet: tool-1.0-1.noarch   1/1 \nno licence\n"
      "warning: %post(tool-1.0-1.noarch) scriptlet failed, exit status 3\n";
  on_step_ = [&](const std::string& step) {
    if (absl::StartsWith(step, "install")) LastTransactionSays(kFailed);
  };
  results_ = {FakeProcessRunner::Prints(kFailed, 0)};
  EXPECT_THAT(dnf_.Apply({.install = {"tool"}}, observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
  // Another transaction succeeds afterwards: dnf's history no longer says anything.
  LastTransactionSays("Packages Altered:\n    Install munge-1-1.noarch @local\n");
  EXPECT_TRUE(dnf_.Query({"tool"}, false).value()["tool"].half_done);
  Installed("tool\t1.0-1\tnoarch\t300\n");
  EXPECT_TRUE(dnf_.Query({"tool"}, false).value()["tool"].installed) << "installed again since";
}

TEST_F(DnfTest, RemovesTheOldVersionsThatAnUpgradeLeft) {
  Installed("tool\t1.0-1\tnoarch\t100\ntool\t2.0-1\tnoarch\t101\n");
  processes_.On(Query("repoquery --duplicates"),
                FakeProcessRunner::Prints("tool\t1.0-1\tnoarch\t@System\n"));
  ASSERT_OK(dnf_.Apply({.remove = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("remove --duplicates", "remove munge"));
  steps_.clear();
  processes_.On(Query("repoquery --duplicates"), FakeProcessRunner::Prints(""));
  ASSERT_OK(dnf_.Apply({.remove = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("remove munge")) << "kernels stand beside each other";
}

TEST_F(DnfTest, RebuildsABrokenDatabase) {
  processes_.On("rpm --query --all", [this](const sys::ProcessSpec&) {
    return steps_.empty() ? FakeProcessRunner::Prints("error: cannot open Packages database", 1)
                          : FakeProcessRunner::Prints(installed_);
  });
  ASSERT_OK(dnf_.Apply({.remove = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("rebuild", "remove munge"));
}

TEST_F(DnfTest, ForeseesATransaction) {
  const std::string simulate =
      "dnf --assumeno --color=never --cacheonly --disableplugin=versionlock";
  processes_.On(simulate,
                FakeProcessRunner::Prints("Installing:\n munge  x86_64  0.5-1  local  1.0 k\n"
                                          "Removing:\n nano  x86_64  7-1  @local  4\n\n"
                                          "Total download size: 1.0 k\nOperation aborted.\n",
                                          1));
  const PackagePreview preview = dnf_.Preview({.install = {"munge"}}).value();
  EXPECT_TRUE(preview.has_lists);
  EXPECT_THAT(preview.versions, ElementsAre(Pair("munge", "0.5-1")));
  EXPECT_THAT(preview.removed, ElementsAre("nano"));
  EXPECT_EQ(preview.bytes, 1024u);
  processes_.On(simulate, FakeProcessRunner::Prints("No match for argument: mung\n"
                                                    "Error: Unable to find a match: mung\n",
                                                    1));
  processes_.On(Query("repoquery --available --queryformat %{name} mu*"),
                FakeProcessRunner::Prints("munge\nmutt\n"));
  EXPECT_THAT(dnf_.Preview({.install = {"mung"}}), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(steps_, ElementsAre("makecache")) << "nothing was installed";
}

TEST_F(DnfTest, FindsNewerVersionsOfWhatIsInstalledAndNotHeld) {
  Installed(
      "tool\t1.0-1\tnoarch\t100\nkept\t1.0-1\tnoarch\t100\n"
      "glibc\t2.34-1\tx86_64\t100\nglibc\t2.34-1\ti686\t100\n");
  files_.AddFile(kLockList, "kept-0:1.0-1.noarch\n");
  processes_.On(Query("repoquery --upgrades"),
                FakeProcessRunner::Prints("tool\t2.0-1\tnoarch\tsite\nkept\t2.0-1\tnoarch\tsite\n"
                                          "glibc\t2.34-2\ti686\tsite\n"
                                          "glibc\t2.34-2\tx86_64\tsite\n"));
  processes_.On(Query("repoquery --security --upgrades"),
                FakeProcessRunner::Prints("tool\t1.1-1\tnoarch\tsite\n"));
  const auto names = [&](UpgradeScope scope) {
    std::vector<std::string> found;
    const auto upgrades = dnf_.Upgrades(scope);
    for (const PackageUpgrade& each : *upgrades)
      found.push_back(absl::StrCat(each.name, " ", each.installed, " ", each.offered));
    return found;
  };
  EXPECT_THAT(
      names(UpgradeScope::kAll),
      ElementsAre("glibc.i686 2.34-1 2.34-2", "glibc.x86_64 2.34-1 2.34-2", "tool 1.0-1 2.0-1"));
  EXPECT_THAT(names(UpgradeScope::kSecurity), ElementsAre("tool 1.0-1 1.1-1"));
}

TEST_F(DnfTest, NamesTheRepositoryThatDoesNotAnswer) {
  processes_.On("dnf --assumeyes", FakeProcessRunner::Prints(
                                       "Error: Failed to download metadata for repo 'site': Cannot "
                                       "download repomd.xml\n",
                                       1));
  EXPECT_THAT(dnf_.Update(absl::ZeroDuration(), observer_),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(DnfTest, EnablesAModuleStream) {
  EXPECT_EQ(dnf_.ModuleStream("driver").value(), "");
  ASSERT_OK(dnf_.SetModuleStream("driver", "535-dkms", observer_));
  EXPECT_EQ(steps_.back(), "module enable driver:535-dkms");
  files_.AddFile("/etc/dnf/modules.d/driver.module",
                 "[driver]\nname=driver\nstream=535-dkms\nstate=enabled\n");
  EXPECT_EQ(dnf_.ModuleStream("driver").value(), "535-dkms");
  ASSERT_OK(dnf_.SetModuleStream("driver", "", observer_));
  EXPECT_EQ(steps_.back(), "module reset driver");
  results_ = {FakeProcessRunner::Prints(
      "Error: Problems in request:\nmissing groups or modules: driver:9\n", 1)};
  EXPECT_THAT(dnf_.SetModuleStream("driver", "9", observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

}  // namespace
}  // namespace muster::agent
