// Where nodes take the operating system's packages from.
#include <string>

#include <gmock/gmock.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAptConf[] = "/etc/apt/apt.conf.d/81muster-snapshot";

class OsSnapshotTest : public RolesFixture {
 protected:
  OsSnapshotTest() : RolesFixture("- play: base\n  hosts: all\n  roles: [base]\n", {"base"}) {
    options_.offer.address = "login1";
    options_.offer.snapshots["2026-11-26"] = {{"debian",
                                               "http://login1:7480/snapshot/2026-11-26/debian",
                                               {"bookworm", "bookworm-updates"},
                                               {"main"},
                                               {"amd64"},
                                               "/usr/share/keyrings/debian-archive-keyring.gpg",
                                               ""}};
    Set(R"({"os_repositories": [{"name": "day", "uris": ["http://h"], "suites": ["s"]}]})");
  }

  // Sources that the node gets in place of the installer's.
  std::vector<std::string> Sources() {
    const NodePlan plan = Compile("c001");
    EXPECT_OK(plan.error);
    std::vector<std::string> uris;
    if (plan.plan == nullptr) return uris;
    for (const v1::RolePlan& role : plan.plan->roles()) {
      for (const v1::Step& step : role.steps()) {
        if (!step.has_package_repository() || !step.skip_reason().empty()) continue;
        const v1::PackageRepositoryResource& repository = step.package_repository();
        if (repository.name() == "os-debian") {
          EXPECT_THAT(repository.suites(), ElementsAre("bookworm", "bookworm-updates"));
          EXPECT_THAT(repository.components(), ElementsAre("main"));
          EXPECT_THAT(repository.architectures(), ElementsAre("amd64"));
          EXPECT_EQ(repository.signed_by(), "/usr/share/keyrings/debian-archive-keyring.gpg");
          EXPECT_TRUE(repository.allow_expired());
        }
        uris.insert(uris.end(), repository.uris().begin(), repository.uris().end());
        uris.insert(uris.end(), repository.base_urls().begin(), repository.base_urls().end());
      }
    }
    return uris;
  }
};

TEST_F(OsSnapshotTest, ReplacesTheOtherSources) {
  EXPECT_THAT(Sources(), ElementsAre("http://h"));
  EXPECT_EQ(File("c001", kAptConf).state(), v1::PRESENCE_ABSENT);
  Set(R"({"os_snapshot": "2026-11-26"})");
  EXPECT_THAT(Sources(), ElementsAre("http://login1:7480/snapshot/2026-11-26/debian"));
  EXPECT_THAT(File("c001", kAptConf).content(),
              HasSubstr("Acquire::http::Proxy::login1 \"DIRECT\";\n"));
}

// Ubuntu's server has appstream, and suites list what it reads: apt failed on every node.
TEST_F(OsSnapshotTest, AptAsksForNothingThatASnapshotDoesNotKeep) {
  Set(R"({"os_snapshot": "2026-11-26"})");
  const std::string settings = File("c001", kAptConf).content();
  for (const char* target : {"DEP-11", "DEP-11-icons", "Contents-deb", "Contents-deb-legacy"})
    EXPECT_THAT(settings, HasSubstr(absl::StrCat("\n  ", target, "::DefaultEnabled \"false\";\n")));
  EXPECT_THAT(settings, HasSubstr("\nAcquire::IndexTargets::deb {\n"));
}

TEST_F(OsSnapshotTest, TheAddressMayBeOneOfIpv6) {
  options_.offer.address = "[2001:db8::1]";
  Set(R"({"os_snapshot": "2026-11-26"})");
  EXPECT_THAT(File("c001", kAptConf).content(), HasSubstr("Proxy::2001:db8::1 \"DIRECT\""));
}

TEST_F(OsSnapshotTest, NodesWithDnfKeepTheirs) {
  GiveOs("rocky", "9.4");
  Set(R"({"os_snapshot": "2026-11-26"})");
  EXPECT_THAT(Sources(), ElementsAre("http://h"));
}

TEST_F(OsSnapshotTest, ANodeMayGetSomeOfItsRepositories) {
  options_.offer.snapshots["2026-11-26"].push_back(
      {"ubuntu",
       "http://login1:7480/snapshot/2026-11-26/ubuntu",
       {"noble"},
       {"main"},
       {"amd64"},
       "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
       ""});
  Set(R"({"os_snapshot": "2026-11-26"})");
  EXPECT_THAT(Sources(), ElementsAre("http://login1:7480/snapshot/2026-11-26/debian",
                                     "http://login1:7480/snapshot/2026-11-26/ubuntu"));
  Set(R"({"os_snapshot": "2026-11-26", "os_snapshot_repositories": ["ubuntu"]})");
  EXPECT_THAT(Sources(), ElementsAre("http://login1:7480/snapshot/2026-11-26/ubuntu"));
  Set(R"({"os_snapshot": "2026-11-26", "os_snapshot_repositories": ["ubuntu", "suse"]})");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(OsSnapshotTest, AnUnknownOneFailsTheNodesPlan) {
  Set(R"({"os_snapshot": "2026-11-27"})");
  EXPECT_THAT(Compile("c001").error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
