#include "agent/resources/missing.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PackageTest : public ResourceTest {
 protected:
  PackageTest() {
    node_.packages.available = {{"munge", "0.5.15"}, {"slurmd", "22.05.8"}, {"chrony", "4.3"}};
    node_.packages.installed = {{"chrony", "4.2"}, {"nano", "7"}};
  }
};

TEST_F(PackageTest, ChecksThenConverges) {
  ExpectInSync(R"(package { names: "chrony" })");
  ExpectInSync(R"(package { names: "munge" state: PACKAGE_STATE_ABSENT })");
  ExpectInSync(R"(package { names: "nano" state: PACKAGE_STATE_LATEST })");
  ExpectInSync(R"(package { names: "chrony" version: "4.*" })");
  ExpectConverges(R"(package { names: ["munge", "chrony"] })", {"package munge"});
  ExpectConverges(R"(package { names: "chrony" state: PACKAGE_STATE_LATEST })", {"package chrony"});
  ExpectConverges(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT })", {"package nano"});
  EXPECT_EQ(node_.packages.installed["chrony"], "4.3");
}

TEST_F(PackageTest, ChoosesAmongTheVersionsThatThereAre) {
  node_.packages.others["munge"] = {"0.5.14", "0.5.13", "0.4"};
  ExpectConverges(R"(package { names: "munge" version: "0.5.14" })", {"package munge"});
  ExpectInSync(R"(package { names: "munge" version: "0.5.*" })");
  ExpectConverges(R"(package { names: "munge" version: "0.5.15*" })", {"package munge"});
  EXPECT_EQ(node_.packages.installed["munge"], "0.5.15");
  const auto missing = Make(R"(package { names: "munge" version: "0.6*" })");
  EXPECT_THAT(missing->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(node_.packages.log().back(), "update") << "it looked again before it said so";
}

// Check said "changed", and Apply failed.
TEST_F(PackageTest, APackageThatNoRepositoryHasIsFoundByTheCheck) {
  const absl::Status status =
      Foreseen(*Make(R"(package { names: ["munge", "no-such-tool"] })")).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // Only a step that changes repositories can help.
  const auto may = [&](const std::string& text) {
    v1::Step step;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &step));
    return MayBring(step, status);
  };
  EXPECT_TRUE(may("package_repository { name: 'r' }"));
  EXPECT_TRUE(may("file { path: '/etc/apt/sources.list.d/x.sources' }"));
  EXPECT_TRUE(may("files_in { path: '/etc/apt/sources.list.d' }"));
  EXPECT_TRUE(may("package { names: 'cuda-keyring' }"));
  EXPECT_TRUE(may("command { argv: 'add-apt-repository' }"));
  EXPECT_FALSE(may("package { names: 'munge' }"));
  EXPECT_FALSE(may("file { path: '/etc/motd' }"));
  EXPECT_FALSE(may("file { path: '/etc/apt-listchanges.conf' }"));
  EXPECT_FALSE(may("directory { path: '/etc/slurm' }"));
}

TEST_F(PackageTest, VersionsAndDependenciesAreForeseen) {
  node_.packages.dependencies["slurmd"] = {"libmunge2", "libhwloc15", "freeipmi-common"};
  node_.packages.archive_bytes = 1'400'000;
  EXPECT_THAT(Foreseen(*Make(R"(package { names: ["munge", "slurmd"] })")).value(),
              ElementsAre(Change{"package munge", "absent", "0.5.15", ""},
                          Change{"package slurmd", "absent", "22.05.8", ""},
                          Change{"packages", "", "2 (5 with dependencies, 7 MB)", ""}));
  EXPECT_THAT(Foreseen(*Make(R"(package { names: "chrony" state: PACKAGE_STATE_LATEST })")).value(),
              ElementsAre(Change{"package chrony", "4.2", "4.3", ""},
                          Change{"packages", "", "1 (1 MB)", ""}));
  node_.packages.dependents["nano"] = {"editor-meta"};
  EXPECT_THAT(Foreseen(*Make(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT })")).value(),
              ElementsAre(Change{"package nano", "7", "absent", ""},
                          Change{"also removed", "", "editor-meta", ""}));
}

TEST_F(PackageTest, WithoutListsTheCheckSaysThatNothingWasLookedUp) {
  node_.packages.has_lists = false;
  EXPECT_THAT(
      Foreseen(*Make(R"(package { names: ["munge", "no-such-tool"] })")).value(),
      ElementsAre(Change{"package munge", "absent", "installed (not looked up: lists missing)", ""},
                  Change{"package no-such-tool", "absent",
                         "installed (not looked up: lists missing)", ""}));
}

TEST_F(PackageTest, FetchesListsAnewThatCannotBeRead) {
  node_.packages.lists_error = absl::InternalError("apt-cache: the cache is corrupted");
  ExpectConverges(R"(package { names: "munge" version: "0.5.15" })", {"package munge"});
  node_.packages.lists_error = absl::InternalError("apt-cache: the cache is corrupted");
  node_.packages.update_error = absl::UnavailableError("http://m.example lies");
  EXPECT_THAT(Make(R"(package { names: "slurmd" version: "22*" })")->Check(),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(PackageTest, GoesBackOnlyWhenAsked) {
  node_.packages.installed["munge"] = "0.5.15";
  node_.packages.others["munge"] = {"0.5.14"};
  EXPECT_THAT(Make(R"(package { names: "munge" version: "0.5.14*" })")->Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  ExpectConverges(R"(package { names: "munge" version: "0.5.14" allow_downgrade: true })",
                  {"package munge"});
  EXPECT_EQ(node_.packages.installed["munge"], "0.5.14");
  node_.packages.available["nano"] = "6";
  EXPECT_THAT(Make(R"(package { names: "nano" state: PACKAGE_STATE_LATEST })")->Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(PackageTest, HoldsAndReleases) {
  ExpectConverges(R"(package { names: "munge" hold: true })", {"package munge", "hold munge"});
  ExpectConverges(R"(package { names: "munge" hold: false })", {"hold munge"});
  ExpectConverges(R"(package { names: "chrony" hold: true })", {"hold chrony"});
  ExpectInSync(R"(package { names: "chrony" state: PACKAGE_STATE_LATEST })");
  ExpectConverges(R"(package { names: "chrony" hold: false state: PACKAGE_STATE_LATEST })",
                  {"package chrony", "hold chrony"});
  EXPECT_EQ(node_.packages.installed["chrony"], "4.3");
}

TEST_F(PackageTest, PurgesWhatIsLeft) {
  ExpectConverges(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT })", {"package nano"});
  ExpectInSync(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT })");
  ExpectConverges(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT purge: true })",
                  {"package nano"});
  EXPECT_THAT(node_.packages.configuration_left, IsEmpty());
}

TEST_F(PackageTest, UpgradesWhatIsInstalledAndNotHeld) {
  node_.packages.available["nano"] = "8";
  node_.packages.installed["munge"] = "0.5.14";
  node_.packages.held = {"munge"};
  node_.packages.security = {"chrony"};
  node_.files.AddDirectory("/proc");
  ExpectConverges("package_upgrade { scope: PACKAGE_UPGRADE_SCOPE_SECURITY }", {"package chrony"});
  EXPECT_EQ(node_.packages.log().at(1), "upgrade chrony=4.3");
  ExpectConverges("package_upgrade { scope: PACKAGE_UPGRADE_SCOPE_ALL }", {"package nano"});
  EXPECT_EQ(node_.packages.installed["munge"], "0.5.14");
  EXPECT_THAT(TryMake("package_upgrade { }"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(PackageTest, UpgradesNothingBelowAJob) {
  node_.files.AddFile("/proc/41/cmdline", "slurmstepd: [4711.batch]");
  node_.files.AddFile("/proc/41/status", "Name:\tslurmstepd\nPPid:\t1\nUid:\t0\t0\t0\t0\n");
  const auto upgrade = Make("package_upgrade { scope: PACKAGE_UPGRADE_SCOPE_ALL }");
  EXPECT_EQ(Fields(*upgrade), std::vector<std::string>{"package chrony"})
      << "a preview needs no drain";
  EXPECT_THAT(upgrade->Apply(observer_), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(node_.packages.installed["chrony"], "4.2");
  EXPECT_OK(Make("package_upgrade { scope: PACKAGE_UPGRADE_SCOPE_ALL with_running_jobs: true }")
                ->Apply(observer_));
  EXPECT_EQ(node_.packages.installed["chrony"], "4.3");
}

TEST_F(PackageTest, TakesAwayWhatIsHalfInstalled) {
  node_.packages.half_done = {"slurmd"};
  ExpectConverges(R"(package { names: "slurmd" state: PACKAGE_STATE_ABSENT })", {"package slurmd"});
}

TEST_F(PackageTest, RefusesWhatMakesNoSense) {
  const struct {
    const char* step;
    const char* says;
  } kCases[] = {
      {R"(package { names: "a" version: "1.*.2" })", "one '*', at its end"},
      {R"(package { names: "a" version: "*" })", "one '*', at its end"},
      {R"(package { names: "a" version: "1" state: PACKAGE_STATE_LATEST })",
       "only with state present"},
      {R"(package { names: "a" state: PACKAGE_STATE_ABSENT hold: true })", "cannot be held"},
      {R"(package { names: "a" purge: true })", "only with state absent"},
  };
  for (const auto& c : kCases)
    EXPECT_THAT(TryMake(c.step),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.says))));
}

TEST_F(PackageTest, NeighborsBecomeOneTransaction) {
  const auto first = Make(R"(package { names: "munge" })");
  const auto second = Make(R"(package { names: "slurmd" })");
  const auto third = Make(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT })");
  for (Resource* resource : {first.get(), second.get(), third.get()}) ASSERT_OK(resource->Check());
  EXPECT_TRUE(first->Absorb(*second));
  EXPECT_TRUE(first->Absorb(*third));
  ASSERT_OK(first->Apply(observer_));
  EXPECT_THAT(node_.packages.log(), ElementsAre("install munge slurmd remove nano"));
  EXPECT_THAT(Fields(*second), IsEmpty());
  EXPECT_THAT(observer_.activities, ElementsAre("unpacking munge", "unpacking slurmd"));
}

TEST_F(PackageTest, AnotherBranchTakesTheOldOnesPlaceInOneTransaction) {
  const auto old = Make(R"(package { names: "nano" state: PACKAGE_STATE_ABSENT })");
  const auto versioned =
      Make(R"(package { names: "slurmd" version: "22.05.8" allow_downgrade: true })");
  const auto plain = Make(R"(package { names: "munge" })");
  for (Resource* resource : {old.get(), versioned.get(), plain.get()}) ASSERT_OK(resource->Check());
  EXPECT_TRUE(old->Absorb(*versioned));
  EXPECT_FALSE(old->Absorb(*plain)) << "it would be installed as the one with a version is";
  ASSERT_OK(old->Apply(observer_));
  EXPECT_THAT(node_.packages.log(), ElementsAre("install slurmd=22.05.8 remove nano"));
}

TEST_F(PackageTest, DoesNotAbsorbWhatDoesNotFit) {
  const auto install = Make(R"(package { names: "munge" })");
  ASSERT_OK(install->Check());
  node_.packages.installed["munge"] = "0.1";
  for (const char* step :
       {R"(package { names: "munge" state: PACKAGE_STATE_ABSENT })",
        R"(package { names: "slurmd" install_recommends: true })",
        R"(package { names: "slurmd" version: "22.05.8" })",
        R"(package { names: "slurmd" allow_downgrade: true })", R"(group { name: "x" })"}) {
    SCOPED_TRACE(step);
    const auto other = Make(step);
    ASSERT_OK(other->Check());
    EXPECT_FALSE(install->Absorb(*other));
  }
  EXPECT_FALSE(install->Absorb(*Make(R"(package { names: "slurmd" })"))) << "not checked yet";
}

TEST_F(PackageTest, PassesErrorsOn) {
  EXPECT_THAT(Make(R"(package { names: "mungee" })")->Apply(observer_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  node_.packages.update_error = absl::UnavailableError("mirror is down");
  EXPECT_THAT(Make(R"(package { names: "nano" state: PACKAGE_STATE_LATEST })")->Check(),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

class PackageRepositoryTest : public ResourceTest {};

constexpr char kRepository[] = R"(package_repository {
    name: "debian" uris: "http://deb.debian.org/debian" suites: ["bookworm", "bookworm-updates"]
    components: ["main", "contrib"] key: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n" })";
constexpr char kSource[] = "/etc/apt/sources.list.d/debian.sources";
constexpr char kKey[] = "/etc/apt/keyrings/debian.asc";

TEST_F(PackageRepositoryTest, ChecksThenConverges) {
  ExpectConverges(kRepository, {"source", "key"});
  EXPECT_EQ(node_.files.At(kSource).content,
            "# Written by Muster.\n"
            "Types: deb\n"
            "URIs: http://deb.debian.org/debian\n"
            "Suites: bookworm bookworm-updates\n"
            "Components: main contrib\n"
            "Signed-By: /etc/apt/keyrings/debian.asc\n");
  EXPECT_EQ(node_.files.At(kKey).stat.mode, 0644u);
  EXPECT_EQ(node_.packages.log().front(), "update");
  ExpectConverges(R"(package_repository { name: "debian" state: PRESENCE_ABSENT })",
                  {"source", "key"});
  EXPECT_FALSE(node_.files.Has(kSource));
}

TEST_F(PackageRepositoryTest, AStateOfThePastStaysValid) {
  ExpectConverges(R"(package_repository { name: "past" uris: "http://m.example/20261120T000000Z"
                       suites: "bookworm-security" signed_by: "/k.gpg" allow_expired: true })",
                  {"source"});
  EXPECT_EQ(node_.files.At("/etc/apt/sources.list.d/past.sources").content,
            "# Written by Muster.\nTypes: deb\nURIs: http://m.example/20261120T000000Z\n"
            "Suites: bookworm-security\nCheck-Valid-Until: no\nSigned-By: /k.gpg\n");
}

constexpr char kPinned[] = R"(package_repository {
    name: "site" uris: ["http://u@m.example:80/d", "https://[fd00::1]/d", "file:/srv/d"]
    suites: "./" key: "KEY" pins { packages: ["nvidia-*", "cuda"] priority: 1001 }
    pins { priority: -1 pin: "release o=Site" } })";
constexpr char kPins[] = "/etc/apt/preferences.d/site.pref";

TEST_F(PackageRepositoryTest, WritesPins) {
  ExpectConverges(kPinned, {"source", "pins", "key"});
  EXPECT_EQ(node_.files.At(kPins).content,
            "Explanation: Written by Muster.\nPackage: nvidia-* cuda\n"
            "Pin: origin \"\"\nPin-Priority: 1001\n\n"
            "Explanation: Written by Muster.\nPackage: nvidia-* cuda\n"
            "Pin: origin \"fd00::1\"\nPin-Priority: 1001\n\n"
            "Explanation: Written by Muster.\nPackage: nvidia-* cuda\n"
            "Pin: origin \"m.example\"\nPin-Priority: 1001\n\n"
            "Explanation: Written by Muster.\nPackage: *\n"
            "Pin: release o=Site\nPin-Priority: -1\n");
  const size_t updates = node_.packages.log().size();
  node_.files.AddFile(kPins, "other\n");
  ExpectConverges(kPinned, {"pins"});
  EXPECT_EQ(node_.packages.log().size(), updates) << "pins need no new lists";
  EXPECT_THAT(TryMake(R"(package_repository { name: "a" uris: "u" suites: "s"
                          pins { priority: 1 pin: "verson 5*" } })"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(PackageRepositoryTest, RemovesAllThatItWroteWhateverOthersSay) {
  ExpectConverges(kPinned, {"source", "pins", "key"});
  node_.packages.update_error = absl::UnavailableError("Err:1 http://another.example");
  ExpectConverges(R"(package_repository { name: "site" state: PRESENCE_ABSENT })",
                  {"source", "pins", "key"});
  for (const char* path :
       {kPins, "/etc/apt/sources.list.d/site.sources", "/etc/apt/keyrings/site.asc"})
    EXPECT_FALSE(node_.files.Has(path)) << path;
  EXPECT_THAT(observer_.output, HasSubstr("another.example"));
}

TEST_F(PackageRepositoryTest, AFailedUpdatePutsTheOldSourceBack) {
  node_.files.AddFile(kSource, "old source\n");
  node_.packages.update_error = absl::UnavailableError("Err:1 http://deb.debian.org/debian");
  const auto repository = Make(kRepository);
  EXPECT_THAT(repository->Apply(observer_), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_EQ(node_.files.At(kSource).content, "old source\n");
  EXPECT_FALSE(node_.files.Has(kKey));
  EXPECT_THAT(Fields(*repository), ElementsAre("source", "key"));
}

class DnfRepositoryTest : public ResourceTest {
 protected:
  DnfRepositoryTest() { node_.packages.packages_of = PackageFamily::kDnf; }
};

TEST_F(DnfRepositoryTest, ChecksThenConverges) {
  constexpr char kRepo[] = R"(package_repository { name: "site"
      base_urls: ["http://a.example/el9", "http://b.example/el9"] key: "KEY"
      signed_metadata: true })";
  ExpectConverges(kRepo, {"source", "key"});
  EXPECT_EQ(node_.files.At("/etc/yum.repos.d/site.repo").content,
            "# Written by Muster.\n[site]\nname=site\n"
            "baseurl=http://a.example/el9\n        http://b.example/el9\n"
            "enabled=1\ngpgcheck=1\nrepo_gpgcheck=1\n"
            "gpgkey=file:///etc/pki/rpm-gpg/site.asc\nskip_if_unavailable=0\n");
  EXPECT_EQ(node_.files.At("/etc/pki/rpm-gpg/site.asc").content, "KEY\n");
  EXPECT_THAT(node_.packages.log(), ElementsAre("update"));
  ExpectConverges(R"(package_repository { name: "site" state: PRESENCE_ABSENT })",
                  {"source", "key"});
  EXPECT_FALSE(node_.files.Has("/etc/yum.repos.d/site.repo"));
  EXPECT_FALSE(node_.files.Has("/etc/pki/rpm-gpg/site.asc"));
}

TEST_F(DnfRepositoryTest, AReplacedKeyIsNoLongerTrusted) {
  constexpr char kOurs[] = "/var/cache/dnf/site-0123456789abcdef/pubring/key";
  constexpr char kOthers[] = "/var/cache/dnf/site-b-0123456789abcdef/pubring/key";
  node_.files.AddFile(kOurs, "OLD");
  node_.files.AddFile(kOthers, "OLD");
  ExpectConverges("package_repository { name: 'site' base_urls: 'u' key: 'NEW' }",
                  {"source", "key"});
  EXPECT_FALSE(node_.files.Has(kOurs));
  EXPECT_TRUE(node_.files.Has(kOthers));
}

TEST_F(DnfRepositoryTest, WritesPinsThatDnfHas) {
  const struct {
    const char *pins, *lines;
  } kRows[] = {
      {"pins { priority: 1000 }", "priority=1\n"},
      {"pins { priority: 900 }", "priority=21\n"},
      {"pins { priority: 500 }", ""},
      {"pins { priority: 100 }", "priority=499\n"},
      {"pins { packages: 'a*' packages: 'b' priority: -1 }", "excludepkgs=a* b\n"},
      {"pins { packages: 'a*' priority: 500 } pins { priority: -1 }", "includepkgs=a*\n"},
      {"pins { packages: 'a*' priority: 900 } pins { packages: 'b' priority: 900 } "
       "pins { priority: -1 }",
       "priority=21\nincludepkgs=a* b\n"},
  };
  for (const auto& row : kRows) {
    const auto repository =
        Make(absl::StrCat("package_repository { name: 'r' base_urls: 'u' ", row.pins, " }"));
    ASSERT_OK(repository->Apply(observer_));
    EXPECT_THAT(node_.files.At("/etc/yum.repos.d/r.repo").content,
                ::testing::EndsWith(absl::StrCat("skip_if_unavailable=0\n", row.lines)))
        << row.pins;
  }
}

TEST_F(DnfRepositoryTest, RefusesWhatDnfCannotExpress) {
  for (const char* fields :
       {"uris: 'u' suites: 's'", "", "base_urls: 'a b'", "base_urls: 'u' signed_metadata: true",
        "base_urls: 'u' pins { priority: 1001 }",
        "base_urls: 'u' pins { priority: 900 pin: 'version 5*' }",
        "base_urls: 'u' pins { packages: 'a' priority: 900 }",
        "base_urls: 'u' pins { packages: 'a' priority: 900 } pins { priority: 800 }",
        "base_urls: 'u' pins { priority: -1 }",
        "base_urls: 'u' pins { packages: 'a,b' priority: -1 }"})
    EXPECT_THAT(TryMake(absl::StrCat("package_repository { name: 'r' ", fields, " }")),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << fields;
  node_.packages.packages_of = PackageFamily::kApt;
  EXPECT_THAT(TryMake("package_repository { name: 'r' base_urls: 'u' }"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

class PackageModuleTest : public ResourceTest {};

TEST_F(PackageModuleTest, ChecksThenConverges) {
  ExpectConverges("package_module { name: 'driver' stream: '535-dkms' }", {"stream"});
  EXPECT_EQ(node_.packages.streams["driver"], "535-dkms");
  ExpectConverges("package_module { name: 'driver' stream: '550-open' }", {"stream"});
  ExpectConverges("package_module { name: 'driver' state: PRESENCE_ABSENT }", {"stream"});
  for (const char* fields : {"name: 'driver'", "name: 'a:b' stream: '1'", "name: 'a' stream: '-x'",
                             "name: '../a' stream: '1'", "name: 'a' stream: '1/fm'",
                             "name: 'a' stream: '1' state: PRESENCE_ABSENT"})
    EXPECT_THAT(TryMake(absl::StrCat("package_module { ", fields, " }")),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << fields;
}

TEST_F(PackageTest, AVersionWithoutAnEpochMeansEveryEpoch) {
  node_.packages.available["driver"] = "3:535.104-1";
  ExpectConverges(R"(package { names: "driver" version: "535.*" })", {"package driver"});
  EXPECT_EQ(node_.packages.installed["driver"], "3:535.104-1");
  EXPECT_THAT(Fields(*Make(R"(package { names: "driver" version: "3:535.*" })")), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
