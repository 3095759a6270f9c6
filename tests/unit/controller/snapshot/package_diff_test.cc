#include "controller/snapshot/package_diff.h"

#include <iterator>
#include <utility>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace muster::controller::snapshot {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DebianVersion, HasDpkgsOrder) {
  // Each is older than the next; `dpkg --compare-versions` says the same.
  const char* const versions[] = {
      "0",     "0.9~rc1", "0.9",           "0.9-1",      "0.9-1+b1",     "0.9-1.1",
      "0.9-2", "0.9-10",  "0.9a",          "0.9+dfsg-1", "0.9.1~~",      "0.9.1~",
      "0.9.1", "0.10",    "1.0-1~deb12u1", "1.0-1",      "1.0-1ubuntu1", "1.0-1+deb12u1",
      "1.1",   "1:0.1",   "1:0.1-a-1",     "2:0"};
  for (size_t i = 0; i < std::size(versions); ++i) {
    for (size_t j = 0; j < std::size(versions); ++j) {
      const int order = CompareDebianVersions(versions[i], versions[j]);
      EXPECT_EQ((order > 0) - (order < 0), (i > j) - (i < j)) << versions[i] << " " << versions[j];
    }
  }
  EXPECT_EQ(CompareDebianVersions("0:1.0", "1.0"), 0);
  EXPECT_EQ(CompareDebianVersions("1.00-01", "1.0-1"), 0);
}

std::shared_ptr<const PackageList> List(
    const std::vector<std::pair<std::string, std::string>>& versions,
    const std::string& architecture = "amd64") {
  std::vector<Package> packages;
  for (const auto& [name, version] : versions) {
    packages.push_back({name, version, architecture,
                        absl::StrCat("pool/", name, "_", version, "_", architecture, ".deb"),
                        Sha256Hex(version), 10});
  }
  return PackageList::Read(PackageList::Write(std::move(packages)).value()).value();
}

MATCHER_P4(Is, name, architecture, before, after, "") {
  return arg.name == name && arg.architecture == architecture && arg.before == before &&
         arg.after == after;
}

TEST(PackageDiff, ComparesTheNewestOfAllRepositories) {
  const auto main = List({{"bash", "5.2-1"}, {"old", "1"}, {"same", "1.0"}, {"zlib", "1:1.2-9"}});
  const auto security = List({{"bash", "5.2-1+deb12u1"}, {"new", "2"}, {"zlib", "1:1.2-8"}});
  const auto trimmed = List({{"bash", "5.2-1"}, {"same", "1.0"}, {"zlib", "1:1.2-9"}});
  EXPECT_THAT(DiffPackages({main}, {trimmed, security}),
              ElementsAre(Is("bash", "amd64", "5.2-1", "5.2-1+deb12u1"),
                          Is("new", "amd64", "", "2"), Is("old", "amd64", "1", "")));
  EXPECT_THAT(DiffPackages({main, security}, {security, main}), IsEmpty());
}

TEST(PackageDiff, ArchitecturesAreApart) {
  const auto amd64 = List({{"bash", "1"}});
  const auto arm64 = List({{"bash", "1"}}, "arm64");
  EXPECT_THAT(DiffPackages({amd64}, {amd64, arm64}), ElementsAre(Is("bash", "arm64", "", "1")));
}

}  // namespace
}  // namespace muster::controller::snapshot
