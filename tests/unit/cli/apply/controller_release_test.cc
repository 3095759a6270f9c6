#include "cli/apply/controller_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

class ControllerReleaseTest : public ::testing::Test {
 protected:
  // A file that dpkg-deb takes for a package of this name and version.
  std::string Add(const std::string& file, const std::string& name, const std::string& version) {
    const std::string path = folder_.path() + "/" + file;
    std::ofstream(path) << name;
    programs_.On("dpkg-deb --field " + path + " ",
                 FakeProcessRunner::Prints("Package: " + name + "\nVersion: " + version + "\n"));
    return path;
  }
  absl::Status Read(const std::vector<std::string>& paths) {
    return ReadRelease(paths, programs_).status();
  }

  muster::testing::TempDir folder_;
  FakeProcessRunner programs_;
};

TEST_F(ControllerReleaseTest, AFolderStandsForThePackagesInIt) {
  const std::string controller =
      Add("muster-controller_0.2.0_amd64.deb", "muster-controller", "0.2.0");
  const std::string cli = Add("muster-cli_0.2.0_amd64.deb", "muster-cli", "0.2.0");
  Add("muster-agent_0.2.0_amd64.deb", "muster-agent", "0.2.0");
  std::ofstream(folder_.path() + "/notes.txt") << "no package";
  const absl::StatusOr<ControllerRelease> release = ReadRelease({folder_.path()}, programs_);
  ASSERT_OK(release);
  EXPECT_EQ(release->version, "0.2.0");
  EXPECT_EQ(release->controller_package, controller);
  EXPECT_EQ(release->cli_package, cli);
}

TEST_F(ControllerReleaseTest, RefusesWhatIsNotOneRelease) {
  const std::string controller = Add("a.deb", "muster-controller", "0.2.0");
  EXPECT_THAT(Read({Add("b.deb", "muster-cli", "0.2.0")}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Read({controller, Add("c.deb", "muster-cli", "0.1.0")}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Read({controller, Add("d.deb", "muster-controller", "0.2.0")}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Read({controller, Add("e.deb", "bash", "5.2")}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  // It becomes a part of a playbook.
  EXPECT_THAT(Read({Add("f.deb", "muster-controller", "0.2\", x: {{ y }}")}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  programs_.RemovePrograms();
  EXPECT_THAT(Read({controller}), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(ControllerReleaseTest, TheBundleHasThePackagesAndTheOneStep) {
  const auto files = UpdateBundle("0.2.0", "CONTROLLER", "CLI", /*allow_downgrade=*/false);
  EXPECT_THAT(files,
              ElementsAre(Key("playbooks/controller-update.yaml"),
                          Key("playbooks/roles/controller_update/files/muster-cli.deb"),
                          Key("playbooks/roles/controller_update/files/muster-controller.deb"),
                          Key("playbooks/roles/controller_update/tasks/main.yaml")));
  EXPECT_THAT(files.at("playbooks/roles/controller_update/tasks/main.yaml"),
              HasSubstr("controller: {version: \"0.2.0\", packages: "
                        "[/var/lib/muster/controller-packages/muster-controller.deb, "
                        "/var/lib/muster/controller-packages/muster-cli.deb], "
                        "allow_downgrade: false}"));
  EXPECT_EQ(UpdateBundle("0.2.0", "CONTROLLER", "", false).size(), 3);
}

TEST(ControllerNodeTest, IsTheOneOfTheAddressOtherwiseTheOnlyLoginNode) {
  v1::ListNodesResponse nodes;
  const auto add = [&](const char* name, const char* role, const char* address) {
    v1::Node& node = *nodes.add_nodes();
    node.set_name(name);
    node.set_role(role);
    node.set_address(address);
  };
  add("c001", "compute", "10.0.0.11");
  EXPECT_EQ(ControllerNode("head:7443", nodes), "");
  add("login1", "login", "10.0.0.1");
  EXPECT_EQ(ControllerNode("head:7443", nodes), "login1");
  add("login2", "login", "10.0.0.2");
  EXPECT_EQ(ControllerNode("head:7443", nodes), "");
  EXPECT_EQ(ControllerNode("login2:7443", nodes), "login2");
  EXPECT_EQ(ControllerNode("10.0.0.1:7443", nodes), "login1");
}

}  // namespace
}  // namespace muster::cli
