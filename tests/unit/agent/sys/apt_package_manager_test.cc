#include "agent/sys/apt/apt_package_manager.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kStatusFile[] = "/var/lib/dpkg/status";
constexpr char kMarksFile[] = "/var/lib/muster/apt/marks";

std::string Stanza(const std::string& name, const std::string& state) {
  return absl::StrCat("Package: ", name, "\nStatus: install ok ", state,
                      "\nArchitecture: amd64\nVersion: 1\n\n");
}

class AptTest : public ::testing::Test {
 protected:
  AptTest() : apt_(files_, processes_, clock_, Options()) {
    files_.AddFile(kStatusFile, Stanza("bash", "installed"));
    files_.AddDirectory("/var/lib/dpkg/updates");
    files_.AddFile("/var/lib/apt/lists/deb.debian.org_Packages", "");
    files_.AddFile("/etc/apt/sources.list.d/debian.sources", "");
    processes_.On("apt-get", [this](const sys::ProcessSpec& spec) { return AptGet(spec); });
    processes_.On("apt-mark", [this](const sys::ProcessSpec& spec) {
      steps_.push_back(absl::StrJoin(spec.argv, " "));
      return sys::ProcessResult{};
    });
    processes_.On("dpkg --force-confdef", [this](const sys::ProcessSpec&) {
      steps_.push_back("configure");
      if (configure_result_.ok()) files_.AddFile(kStatusFile, Stanza("bash", "installed"));
      return configure_result_;
    });
    processes_.On("apt-cache pkgnames", FakeProcessRunner::Prints("munge\nmutt\nmuon\n"));
    observer_.on_output = [this](absl::string_view line) { absl::StrAppend(&output_, line, "\n"); };
    observer_.on_activity = [this](absl::string_view text, std::optional<float>) {
      activities_.emplace_back(text);
    };
  }

  AptOptions Options() {
    AptOptions options;
    options.lock_timeout = absl::Minutes(5);
    options.find_lock_holder = [this]() -> std::optional<LockHolder> {
      if (clock_.Now() >= lock_until_) return std::nullopt;
      return LockHolder{.pid = 812, .program = "unattended-upgr"};
    };
    return options;
  }

  // Does what the test has set, and records the calls: "update", "install munge".
  sys::ProcessResult AptGet(const sys::ProcessSpec& spec) {
    const auto& argv = spec.argv;
    if (std::find(argv.begin(), argv.end(), "update") != argv.end()) {
      steps_.push_back("update");
      if (lists_locked_ > 0) {
        --lists_locked_;
        return Fails("E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7");
      }
      return update_result_;
    }
    if (std::find(argv.begin(), argv.end(), "--fix-broken") != argv.end()) {
      steps_.push_back("fix");
      return fix_result_;
    }
    std::string step = "install";
    for (auto it = std::find(argv.begin(), argv.end(), "--"); it != argv.end(); ++it)
      if (*it != "--") absl::StrAppend(&step, " ", *it);
    steps_.push_back(step);
    for (const char* line :
         {"pmstatus:munge:50:Unpacking munge", "pmstatus:munge:50.2:Unpacking munge"})
      spec.on_status_line(line);
    if (results_.empty()) return {};
    const sys::ProcessResult result = results_.front();
    results_.erase(results_.begin());
    return result;
  }
  static sys::ProcessResult Fails(const std::string& output) {
    return FakeProcessRunner::Prints(output, 100);
  }

  testing::FakeFileSystem files_;
  testing::FakeProcessRunner processes_;
  testing::FakeClock clock_;
  absl::Time lock_until_ = absl::InfinitePast();
  sys::ProcessResult update_result_, configure_result_, fix_result_;
  int lists_locked_ = 0;                     // so many updates fail because of it
  std::vector<sys::ProcessResult> results_;  // of the next installs; then success
  std::vector<std::string> steps_, activities_;
  std::string output_;
  PackageObserver observer_;
  AptPackageManager apt_;
};

TEST_F(AptTest, ShowsWhyAModuleWasNotBuilt) {
  const std::string log = "/var/lib/dkms/nvidia/535.261.03/build/make.log";
  files_.AddFile(log, "nv.c:7:3: error: too few arguments\nmake: *** [nv.o] Error 1\n");
  results_ = {Fails(absl::StrCat(
      "Setting up nvidia-kernel-dkms (535.261.03-1) ...\nError! Bad return status\nConsult ", log,
      " for more information.\ndpkg: error processing package nvidia-kernel-dkms (--configure):\n"
      " installed nvidia-kernel-dkms package post-installation script subprocess returned error "
      "exit status 10\n"))};
  PackageTransaction transaction;
  transaction.install = {"nvidia-kernel-dkms"};
  EXPECT_THAT(
      apt_.Apply(transaction, observer_),
      StatusIs(absl::StatusCode::kInternal, AllOf(Said(), HasSubstr("error: too few arguments"))));
}

TEST_F(AptTest, ReadsTheStatusAgainOnlyWhenItChanged) {
  EXPECT_TRUE(apt_.Query({"bash"}, false).value()["bash"].installed);
  EXPECT_FALSE(apt_.Query({"munge"}, false).value()["munge"].installed);
  files_.AddFile(kStatusFile, Stanza("munge", "installed"));
  EXPECT_TRUE(apt_.Query({"munge"}, false).value()["munge"].installed);
  ASSERT_OK(files_.Remove(kStatusFile, false));
  EXPECT_THAT(apt_.Query({"munge"}, false), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                     AllOf(Said(), HasSubstr(kStatusFile))));
}

TEST_F(AptTest, LooksUpCandidatesOnRequest) {
  processes_.On("apt-cache policy",
                FakeProcessRunner::Prints("bash:\n  Installed: 1\n  Candidate: 2\n"));
  EXPECT_EQ(apt_.Query({"bash"}, false).value()["bash"].candidate, "");
  const PackageStatus bash = apt_.Query({"bash"}, true).value()["bash"];
  EXPECT_EQ(bash.candidate, "2");
  EXPECT_FALSE(bash.held);
}

TEST_F(AptTest, ForeseesATransaction) {
  processes_.On("apt-get --simulate",
                FakeProcessRunner::Prints("Remv nano [7]\nInst libmunge2 (0.5.15 D [amd64])\n"
                                          "Inst munge [0.5.14] (0.5.15 D [amd64])\n"));
  processes_.On("apt-cache show --no-all-versions -- libmunge2=0.5.15 munge=0.5.15",
                FakeProcessRunner::Prints("Size: 1000\n\nSize: 500\n"));
  const PackagePreview preview = apt_.Preview({.install = {"munge"}, .remove = {"nano"}}).value();
  EXPECT_TRUE(preview.has_lists);
  EXPECT_THAT(preview.versions, ElementsAre(Pair("libmunge2", "0.5.15"), Pair("munge", "0.5.15")));
  EXPECT_THAT(preview.removed, ElementsAre("nano"));
  EXPECT_EQ(preview.bytes, 1500u);
  EXPECT_THAT(steps_, IsEmpty()) << "nothing was installed or fetched";
}

TEST_F(AptTest, FindsNewerVersionsOfWhatIsInstalled) {
  files_.AddFile(kStatusFile, absl::StrCat(Stanza("bash", "installed"), Stanza("curl", "installed"),
                                           Stanza("old-kernel", "config-files")));
  processes_.On("apt-get --simulate",
                FakeProcessRunner::Prints("Inst bash [1] (2 Debian:12.4/stable [amd64])\n"
                                          "Inst curl [1] (3 Debian:12.4/stable [amd64])\n"
                                          "Inst new-kernel (9 Debian:12.4/stable [amd64])\n"));
  const auto names = [&](UpgradeScope scope) {
    std::vector<std::string> found;
    const auto upgrades = apt_.Upgrades(scope);
    for (const PackageUpgrade& each : *upgrades)
      found.push_back(absl::StrCat(each.name, " ", each.installed, " ", each.offered));
    return found;
  };
  EXPECT_THAT(names(UpgradeScope::kAll), ElementsAre("bash 1 2", "curl 1 3"));
  EXPECT_THAT(processes_.commands().back(), HasSubstr(" upgrade --with-new-pkgs"));
  // A security update of curl is in its candidate, too, which comes from elsewhere; that of bash is
  // installed.
  processes_.On("apt-cache madison -- bash curl",
                FakeProcessRunner::Prints("bash | 1 | http://m x-security/main amd64 Packages\n"
                                          "curl | 3 | http://m x/main amd64 Packages\n"
                                          "curl | 2 | http://m x-security/main amd64 Packages\n"));
  processes_.On("dpkg --compare-versions 1 lt 1", FakeProcessRunner::Prints("", 1));
  processes_.On("dpkg --compare-versions 1 lt 2", FakeProcessRunner::Prints(""));
  EXPECT_THAT(names(UpgradeScope::kSecurity), ElementsAre("curl 1 3"));
}

TEST_F(AptTest, ForeseesThatNoListHasAPackageWhenTheListsAreFresh) {
  processes_.On("apt-get --simulate",
                FakeProcessRunner::Prints("E: Unable to locate package mung\n", 100));
  EXPECT_THAT(apt_.Preview({.install = {"mung"}}), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(steps_, ElementsAre("update")) << "once, before it says so";
  steps_.clear();
  clock_.Advance(absl::Minutes(1));
  EXPECT_FALSE(apt_.Preview({.install = {"mung"}}).ok());
  EXPECT_THAT(steps_, IsEmpty());
}

TEST_F(AptTest, ForeseesNothingWithoutListsAndOfWhatIsBroken) {
  processes_.On("apt-get --simulate",
                FakeProcessRunner::Prints("E: Unmet dependencies. Try 'apt --fix-broken'\n", 100));
  const PackagePreview broken = apt_.Preview({.install = {"munge"}}).value();
  EXPECT_TRUE(broken.has_lists);
  EXPECT_THAT(broken.versions, IsEmpty());
  ASSERT_OK(files_.Remove("/var/lib/apt/lists/deb.debian.org_Packages", false));
  EXPECT_FALSE(apt_.Preview({.install = {"munge"}}).value().has_lists);
  EXPECT_THAT(steps_, IsEmpty()) << "a look does not fetch what is not there";
}

TEST_F(AptTest, FetchesTheListsOnceAndAfterARepositoryChanged) {
  ASSERT_OK(apt_.Apply({.install = {"munge"}, .remove = {"nano"}}, observer_));
  ASSERT_OK(apt_.Apply({.install = {"slurmd=22*"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "install munge nano-", "install slurmd=22*"));
  steps_.clear();
  clock_.Advance(absl::Minutes(1));
  files_.AddFile("/etc/apt/sources.list.d/new.sources", "");
  files_.SetModified("/etc/apt/sources.list.d/new.sources", absl::ToUnixNanos(clock_.Now()));
  clock_.Advance(absl::Minutes(1));
  ASSERT_OK(apt_.Apply({.install = {"munge"}}, observer_));
  ASSERT_OK(apt_.Apply({.remove = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "install munge", "install munge-"));
}

// An unknown name is a regular expression to apt-get unless it is told otherwise, and one that ends
// with a dash is a removal.
TEST_F(AptTest, TakesNamesForNothingElse) {
  ASSERT_OK(apt_.Query({"g++", "libstdc++6", "libc6:i386", "linux-image-6.1.0-18-amd64"}, false));
  for (const char* name : {"", "munge-", "libc6:i386-", "standard^", "nvidia-*", "lib[ab]", "~i",
                           "?installed", "-y", "tool/stable", "a b"})
    EXPECT_EQ(apt_.Query({name}, false).status().code(), absl::StatusCode::kInvalidArgument)
        << name;
  EXPECT_THAT(apt_.Query({"munge-"}, false), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  ASSERT_OK(apt_.Apply({.install = {"munge"}}, observer_));
  EXPECT_THAT(processes_.commands().back(), HasSubstr("APT::Cmd::Pattern-Only=true"));
  processes_.On("apt-get --simulate", FakeProcessRunner::Prints(""));
  ASSERT_OK(apt_.Preview({.install = {"munge"}}));
  EXPECT_THAT(processes_.commands().back(),
              AllOf(HasSubstr("--simulate"), HasSubstr("APT::Cmd::Pattern-Only=true")));
}

TEST_F(AptTest, ChoosesTheSameVersionsOnEveryNode) {
  constexpr char kOption[] = "APT::Get::Always-Include-Phased-Updates=true";
  processes_.On("apt-get --simulate", FakeProcessRunner::Prints(""));
  ASSERT_OK(apt_.Upgrades(UpgradeScope::kAll));
  EXPECT_THAT(processes_.commands().back(), AllOf(HasSubstr("--simulate"), HasSubstr(kOption)));
  ASSERT_OK(apt_.Apply({.install = {"bash=2"}, .only_upgrade = true}, observer_));
  EXPECT_THAT(processes_.commands(),
              Contains(AllOf(HasSubstr("--only-upgrade"), HasSubstr(kOption))));
}

TEST_F(AptTest, AsksForNothingAndSurvivesTheAgent) {
  ASSERT_OK(apt_.Apply({.install = {"munge"}}, observer_));
  const sys::ProcessSpec& spec = processes_.specs().back();
  EXPECT_EQ(spec.environment.at("DEBIAN_FRONTEND"), "noninteractive");
  EXPECT_THAT(
      processes_.commands().back(),
      AllOf(HasSubstr("--force-confold"), HasSubstr("APT::Status-Fd=3"),
            HasSubstr("--no-install-recommends"), HasSubstr("Acquire::Retries::Delay=false")));
  EXPECT_EQ(spec.output_file, "/var/lib/muster/apt/output");
  EXPECT_THAT(activities_, ElementsAre(HasSubstr("fetching the lists"), "unpacking munge"))
      << "said once";
}

TEST_F(AptTest, WaitsForTheLockAndTellsWhoHoldsIt) {
  lock_until_ = clock_.Now() + absl::Seconds(30);
  ASSERT_OK(apt_.Apply({.remove = {"nano"}}, observer_));
  EXPECT_EQ(activities_.front(), "waiting for the package lock held by unattended-upgr (pid 812)");
  EXPECT_GE(clock_.Now(), lock_until_);
  lock_until_ = absl::InfiniteFuture();
  EXPECT_THAT(apt_.Apply({.remove = {"nano"}}, observer_),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(AptTest, RepairsAnInterruptedTransactionFirst) {
  files_.AddFile(kStatusFile, Stanza("slurmd", "half-configured"));
  ASSERT_OK(apt_.Apply({.remove = {"nano"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("configure", "install nano-"));
  EXPECT_THAT(activities_.front(), AllOf(HasSubstr("of slurmd"), HasSubstr("dpkg --configure -a")));
  EXPECT_THAT(output_, HasSubstr("dpkg --configure -a")) << "it is in the record";
}

// Otherwise a package that cannot be configured could never be removed.
TEST_F(AptTest, WhatCannotBeRepairedIsLeftToTheTransaction) {
  files_.AddFile(kStatusFile, Stanza("broken", "half-configured"));
  configure_result_ = Fails("dpkg: error processing package broken (--configure):\n it failed\n");
  EXPECT_TRUE(apt_.Query({"broken"}, false).value()["broken"].half_done);
  EXPECT_FALSE(apt_.Query({"bash"}, false).value()["bash"].half_done);
  ASSERT_OK(apt_.Apply({.remove = {"broken"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("configure", "fix", "install broken-"));
}

TEST_F(AptTest, RemovesNothingThatNobodyNamedToRepairTheRest) {
  fix_result_ = Fails(
      "The following packages will be REMOVED:\n  vendor\n"
      "E: Packages need to be removed but remove is disabled.\n");
  results_ = {
      Fails("The following packages have unmet dependencies:\n"
            " vendor : Depends: libvendor but it is not installed\n"
            "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a "
            "solution).\n")};
  EXPECT_THAT(apt_.Apply({.install = {"munge"}}, observer_),
              StatusIs(absl::StatusCode::kInternal, AllOf(Said(), HasSubstr("vendor : Depends"))));
  EXPECT_THAT(steps_, ElementsAre("update", "install munge", "fix"));
  EXPECT_THAT(output_, HasSubstr("will be REMOVED:\n  vendor\n")) << "it is in the record";
  files_.AddFile(kStatusFile, Stanza("broken", "half-configured"));
  configure_result_ = Fails("dpkg: error processing package broken (--configure):\n it failed\n");
  ASSERT_OK(apt_.Apply({.remove = {"broken"}}, observer_));
  for (const std::string& command : processes_.commands())
    EXPECT_EQ(absl::StrContains(command, "--fix-broken"), absl::StrContains(command, "--no-remove"))
        << command;
}

TEST_F(AptTest, WaitsForTheLockOfTheListsToo) {
  lists_locked_ = 2;
  ASSERT_OK(apt_.Update(absl::ZeroDuration(), observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "update", "update"));
  lists_locked_ = 100;
  clock_.Advance(absl::Minutes(1));
  EXPECT_THAT(apt_.Update(absl::ZeroDuration(), observer_),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(AptTest, AsksAServerThatHadABadMomentAgain) {
  const sys::ProcessResult bad =
      Fails("E: Failed to fetch http://x/InRelease  503  Service Unavailable [IP: 10.0.0.1 80]\n");
  ASSERT_OK(apt_.Update(absl::ZeroDuration(), observer_));
  results_ = {bad};
  ASSERT_OK(apt_.Apply({.install = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "install munge", "install munge"));
  EXPECT_THAT(activities_, Contains(HasSubstr("answered with an error")));

  steps_.clear();
  update_result_ = bad;
  const absl::Time start = clock_.Now();
  EXPECT_THAT(apt_.Update(absl::ZeroDuration(), observer_),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_THAT(steps_, ElementsAre("update", "update", "update", "update"));
  EXPECT_EQ(clock_.Now() - start, absl::Seconds(2 + 4 + 6));
}

TEST_F(AptTest, ChangesWhatIsHeldWhenItIsNamed) {
  files_.AddFile(kStatusFile,
                 absl::StrReplaceAll(Stanza("munge", "installed"), {{"install ok", "hold ok"}}));
  results_ = {FakeProcessRunner::Prints("")};
  // Like apt-get, which leaves the selection "install" behind.
  processes_.On("apt-get --yes --quiet -o APT::Status-Fd=3", [this](const sys::ProcessSpec& spec) {
    sys::ProcessResult result = AptGet(spec);
    if (steps_.back() != "update") files_.AddFile(kStatusFile, Stanza("munge", "installed"));
    return result;
  });
  ASSERT_OK(apt_.Apply({.install = {"munge=2"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "install munge=2", "apt-mark hold -- munge"));
  EXPECT_THAT(processes_.commands(), Contains(HasSubstr("--allow-change-held-packages")));
  EXPECT_THAT(processes_.commands(), Not(Contains(HasSubstr("--allow-downgrades"))));
}

TEST_F(AptTest, HoldsAndReleasesAndPurges) {
  ASSERT_OK(apt_.Apply({.hold = {"bash"}, .release = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("apt-mark hold -- bash", "apt-mark unhold -- munge"));
  ASSERT_OK(apt_.Apply({.remove = {"nano"}, .purge = true}, observer_));
  EXPECT_THAT(processes_.commands().back(), HasSubstr(" --purge -- nano-"));
  ASSERT_OK(apt_.Apply({.install = {"munge=1"}, .allow_downgrade = true}, observer_));
  EXPECT_THAT(processes_.commands().back(), HasSubstr(" --allow-downgrades -- munge=1"));
}

TEST_F(AptTest, AnUpgradeLeavesDependenciesWhatTheyAre) {
  files_.AddFile(kStatusFile,
                 absl::StrCat(Stanza("bash", "installed"), Stanza("libc6", "installed")));
  processes_.On("apt-mark showauto -- libc6 bash", FakeProcessRunner::Prints("libc6\n"));
  EXPECT_OK(apt_.Apply({.install = {"libc6=2", "bash=2"}, .only_upgrade = true}, observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "install libc6=2 bash=2", "apt-mark auto -- libc6"));
  EXPECT_THAT(processes_.commands(), Contains(HasSubstr("--only-upgrade")));
}

TEST_F(AptTest, KeepsTheMarksInAFileWhileAptGetRuns) {
  const std::string plain = absl::StrCat(Stanza("bash", "installed"), Stanza("libc6", "installed"));
  files_.AddFile(kStatusFile, absl::StrReplaceAll(plain, {{"install ok", "hold ok"}}));
  processes_.On("apt-mark showauto -- bash libc6", FakeProcessRunner::Prints("libc6\n"));
  std::string marks;
  processes_.On("apt-get --yes --quiet -o APT::Status-Fd=3", [&](const sys::ProcessSpec& spec) {
    marks = files_.Read(kMarksFile).value_or("");
    files_.AddFile(kStatusFile, plain);
    return AptGet(spec);
  });
  ASSERT_OK(apt_.Apply({.install = {"bash=2", "libc6=2"}, .only_upgrade = true}, observer_));
  EXPECT_EQ(marks, "hold bash\nhold libc6\nauto libc6\n");
  EXPECT_EQ(steps_.back(), "apt-mark auto -- libc6");
  EXPECT_FALSE(files_.Has(kMarksFile));
}

TEST_F(AptTest, RestoresTheMarksThatAnEarlierAgentLeft) {
  const std::string left = "hold bash\nhold gone\nauto libc6\n";
  files_.AddFile(kMarksFile, left);
  files_.AddFile(kStatusFile,
                 absl::StrCat(Stanza("bash", "installed"), Stanza("libc6", "installed")));
  lock_until_ = clock_.Now() + absl::Seconds(30);
  ASSERT_OK(apt_.Query({"bash"}, false));
  EXPECT_THAT(steps_, IsEmpty()) << "apt-get still runs";
  lock_until_ = absl::InfinitePast();
  ASSERT_OK(apt_.Query({"bash"}, false));
  EXPECT_THAT(steps_, ElementsAre("apt-mark hold -- bash", "apt-mark auto -- libc6"));
  ASSERT_OK(apt_.Query({"bash"}, false));
  EXPECT_EQ(steps_.size(), 2u) << "once";

  // The node went down meanwhile.
  steps_.clear();
  files_.AddFile(kMarksFile, left);
  files_.AddFile(kStatusFile, Stanza("bash", "half-configured"));
  ASSERT_OK(apt_.Query({"bash"}, false));
  ASSERT_OK(apt_.Apply({.remove = {"nano"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("configure", "apt-mark hold -- bash", "install nano-"));
  EXPECT_FALSE(files_.Has(kMarksFile));

  files_.AddFile(kMarksFile, left);
  processes_.On("apt-mark", FakeProcessRunner::Prints("E: it failed", 100));
  EXPECT_OK(apt_.Query({"bash"}, false));
  EXPECT_THAT(apt_.Apply({.remove = {"nano"}}, observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_TRUE(files_.Has(kMarksFile));
}

TEST_F(AptTest, ComparesVersionsAsDpkgDoes) {
  processes_.On("dpkg --compare-versions 1 lt 2", sys::ProcessResult{});
  processes_.On("dpkg --compare-versions 2 lt 1", sys::ProcessResult{.exit_code = 1});
  processes_.On("dpkg --compare-versions x", sys::ProcessResult{.exit_code = 2});
  EXPECT_TRUE(apt_.IsOlder("1", "2").value());
  EXPECT_FALSE(apt_.IsOlder("2", "1").value());
  EXPECT_THAT(apt_.IsOlder("x", "1"), StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST_F(AptTest, TriesEachRemedyOnce) {
  ASSERT_OK(apt_.Update(absl::ZeroDuration(), observer_));
  clock_.Advance(absl::Hours(1));
  results_ = {Fails("E: Unable to locate package munge"), Fails("E: Unmet dependencies. Try "
                                                                "'apt --fix-broken install'")};
  ASSERT_OK(apt_.Apply({.install = {"munge"}}, observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "install munge", "update", "install munge", "fix",
                                  "install munge"));
}

TEST_F(AptTest, NamesAPackageThatDoesNotExist) {
  results_ = {Fails("E: Unable to locate package mungee")};
  EXPECT_THAT(apt_.Apply({.install = {"mungee"}}, observer_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(steps_, ElementsAre("update", "install mungee")) << "the lists are fresh";
}

TEST_F(AptTest, TellsWhyATransactionFailed) {
  results_ = {
      Fails("Setting up x\ndpkg: error processing package x (--configure):\n"
            "E: Sub-process /usr/bin/dpkg returned an error code (1)\n")};
  EXPECT_THAT(apt_.Apply({.install = {"x"}}, observer_),
              StatusIs(absl::StatusCode::kInternal,
                       ::testing::StrEq("apt-get failed: dpkg: error processing package x "
                                        "(--configure):")));
}

TEST_F(AptTest, NamesTheRepositoryThatFailed) {
  update_result_ = Fails(
      "Err:1 http://deb.debian.org/debian bookworm InRelease\n"
      "E: Failed to fetch http://deb.debian.org/debian  Could not resolve\n");
  EXPECT_THAT(apt_.Apply({.install = {"x"}}, observer_),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_THAT(steps_, ElementsAre("update"));
  update_result_ = {};
  ASSERT_OK(apt_.Update(absl::Hours(1), observer_));
  ASSERT_OK(apt_.Update(absl::Hours(1), observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "update")) << "the failed one does not count";
}

TEST_F(AptTest, AClockThatWasSetBackDoesNotMakeListsFresh) {
  ASSERT_OK(apt_.Update(absl::Hours(1), observer_));
  clock_.Advance(-absl::Hours(10));
  ASSERT_OK(apt_.Update(absl::Hours(1), observer_));
  EXPECT_THAT(steps_, ElementsAre("update", "update"));
}

}  // namespace
}  // namespace muster::agent
