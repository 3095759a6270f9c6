#include "controller/http/packages.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.h"
#include "common/base/id.h"
#include "controller/http/package_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

TEST(Packages, NamesAreFileNamesOnly) {
  EXPECT_TRUE(IsPackageName("muster-agent_0.1.0~rc1+b1_amd64.deb"));
  for (const std::string name : {"", ".deb", "..deb", "../x.deb", "a/b.deb", "x.txt", "x.deb ",
                                 "x\n.deb", ".x.deb", "%2e.deb"}) {
    EXPECT_FALSE(IsPackageName(name)) << name;
  }
}

TEST(Packages, ListsAgentsWithTheirDigests) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / NewShortId("packages");
  EXPECT_TRUE(ListAgentPackages(folder).value().empty());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "muster-agent_0.1.0_arm64.deb") << "arm";
  std::ofstream(folder / "muster-agent_0.1.0_amd64.deb") << "amd";
  std::ofstream(folder / "muster-cli_0.1.0_amd64.deb") << "cli";
  const std::vector<PackageFile> packages = ListAgentPackages(folder).value();
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_EQ(packages[0].architecture, "amd64");
  EXPECT_EQ(packages[0].sha256, Sha256Hex("amd"));
  EXPECT_EQ(packages[1].architecture, "arm64");
  std::filesystem::remove_all(folder);
}

TEST(PackageServer, NeedsAnAddress) {
  for (const std::string listen :
       {"", "7480", "localhost:7480", "0.0.0.0:x", "0.0.0.0:65536", "[::1:7480"}) {
    EXPECT_THAT(StartPackageServer(listen, "/", nullptr),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << listen;
  }
}

}  // namespace
}  // namespace muster::controller
