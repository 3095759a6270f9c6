#include "cli/image/root_commands.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

image::Definition Definition(const std::string& more = "") {
  auto definition = image::ParseDefinition(
      "worker", "image.yaml",
      "kind: ram\ndistribution: debian12\nkernel: linux-image-amd64\npackages: [busybox]\n" + more);
  EXPECT_OK(definition);
  return *definition;
}

// The words behind the first `word`.
std::vector<std::string> After(const std::vector<std::string>& argv, const std::string& word) {
  const auto found = std::find(argv.begin(), argv.end(), word);
  return found == argv.end() ? std::vector<std::string>() : std::vector(found + 1, argv.end());
}

bool HasPair(const std::vector<std::string>& argv, const std::string& a, const std::string& b) {
  for (size_t i = 0; i + 1 < argv.size(); ++i)
    if (argv[i] == a && argv[i + 1] == b) return true;
  return false;
}

TEST(BaseDigest, ChangesWithWhateverChangesTheLayer) {
  const image::Definition plain = Definition();
  const BaseRecipe recipe{.definition = plain,
                          .source = {},
                          .files = {"/images/boot"},
                          .files_sha256 = {"11"},
                          .agent_package = "/a.deb",
                          .agent_sha256 = "22",
                          .packages_at = absl::FromUnixSeconds(1000),
                          .proxy = ""};
  std::set<std::string> digests = {BaseDigest(recipe)};
  const auto expect_new = [&](const BaseRecipe& other) {
    EXPECT_TRUE(digests.insert(BaseDigest(other)).second);
  };
  const auto with = [&](auto change) {
    BaseRecipe other = recipe;
    change(other);
    return other;
  };
  expect_new(with([](BaseRecipe& r) { r.files_sha256 = {"12"}; }));
  expect_new(with([](BaseRecipe& r) { r.agent_sha256 = "23"; }));
  expect_new(with([](BaseRecipe& r) { r.packages_at += absl::Seconds(1); }));
  expect_new(with([](BaseRecipe& r) { r.source.snapshot_text = "Types: deb\n"; }));
  expect_new(with([](BaseRecipe& r) { r.source.file_text = "Types: deb\n"; }));
  for (const char* more : {"leave_out: [/usr/share/man/*]\n", "files: [x]\n"}) {
    const image::Definition other = Definition(more);
    const BaseRecipe changed{other,
                             recipe.source,
                             recipe.files,
                             recipe.files_sha256,
                             recipe.agent_package,
                             recipe.agent_sha256,
                             recipe.packages_at,
                             recipe.proxy};
    // Which folders there are is told by their digests.
    if (std::string(more) == "files: [x]\n")
      EXPECT_EQ(BaseDigest(changed), BaseDigest(recipe));
    else
      expect_new(changed);
  }
  // What only this machine knows changes nothing.
  EXPECT_EQ(BaseDigest(with([](BaseRecipe& r) { r.proxy = "http://p:3128"; })), BaseDigest(recipe));
  EXPECT_EQ(BaseDigest(with([](BaseRecipe& r) { r.agent_package = "/b.deb"; })),
            BaseDigest(recipe));
  // Roles and their variables are no part of it.
  const image::Definition roles = Definition("roles: [base]\nvariables: {a: 1}\n");
  EXPECT_EQ(BaseDigest({roles, recipe.source, recipe.files, recipe.files_sha256,
                        recipe.agent_package, recipe.agent_sha256, recipe.packages_at, ""}),
            BaseDigest(recipe));
}

TEST(MakeBase, AProxyDoesNotStayInTheImage) {
  const image::Definition definition = Definition();
  const std::vector<std::string> argv = MakeBase({.definition = definition,
                                                  .source = {},
                                                  .files = {"/images/boot"},
                                                  .files_sha256 = {"11"},
                                                  .agent_package = "/a.deb",
                                                  .agent_sha256 = "22",
                                                  .packages_at = absl::UnixEpoch(),
                                                  .proxy = "http://p:3128"},
                                                 "/sources", "/base.tar");
  EXPECT_THAT(argv, IsSupersetOf({"--mode=unshare", "--essential-hook=tar-in /images/boot /",
                                  "--customize-hook=rm -f \"$1\"/etc/apt/apt.conf.d/99mmdebstrap",
                                  "bookworm", "/base.tar", "/sources"}));
  EXPECT_EQ(argv.back(), "/sources");
  const std::string include = *std::find_if(argv.begin(), argv.end(), [](const std::string& word) {
    return word.rfind("--include=", 0) == 0;
  });
  EXPECT_NE(include.find(",linux-image-amd64,busybox"), std::string::npos);
}

TEST(MakeBase, UbuntuHasTheComponentsOfItsInstaller) {
  image::Definition definition = Definition();
  const auto base = [&definition](const char* distribution) {
    definition.distribution = distribution;
    return MakeBase({.definition = definition,
                     .source = {},
                     .files = {},
                     .files_sha256 = {},
                     .agent_package = "/a.deb",
                     .agent_sha256 = "22",
                     .packages_at = absl::UnixEpoch(),
                     .proxy = ""},
                    "", "/base.tar");
  };
  for (const char* ubuntu : {"ubuntu22.04", "ubuntu24.04"})
    EXPECT_THAT(base(ubuntu), Contains("--components=main,restricted,universe,multiverse"));
  EXPECT_THAT(base("debian12"), Contains("--components=main"));
}

TEST(InRoot, HasTheNetworkOrTheBareRootButNotBoth) {
  const BuildPlace place{.root = "/b/root", .exchange = "/b/exchange"};
  const std::vector<std::string> with = InRoot(place, Network::kYes, {"true"});
  const std::vector<std::string> without = InRoot(place, Network::kNo, {"true"});
  EXPECT_TRUE(HasPair(with, "/etc/resolv.conf", "/etc/resolv.conf"));
  EXPECT_THAT(with, Not(Contains("--unshare-net")));
  EXPECT_THAT(with, Not(Contains(kRootInRoot)));
  EXPECT_FALSE(HasPair(without, "/etc/resolv.conf", "/etc/resolv.conf"));
  EXPECT_THAT(without, Contains("--unshare-net"));
  EXPECT_TRUE(HasPair(without, "/b/root", kRootInRoot));
  BuildPlace linked = place;
  linked.is_resolver_linked = true;
  EXPECT_FALSE(
      HasPair(InRoot(linked, Network::kYes, {"true"}), "/etc/resolv.conf", "/etc/resolv.conf"));
  EXPECT_EQ(After(with, "--"), std::vector<std::string>{"true"});
}

TEST(HostsOf, LeavesPortsAndRepeatsOut) {
  google::protobuf::RepeatedPtrField<v1::ImageRepository> repositories;
  for (const char* uri : {"http://login1:7480/snapshot/s/os", "http://login1:7480/snapshot/s/own",
                          "http://[fd00::1]:7480/x", "http://10.0.0.1/x"})
    repositories.Add()->set_uri(uri);
  EXPECT_EQ(HostsOf(repositories), (std::vector<std::string>{"login1", "fd00::1", "10.0.0.1"}));
}

TEST(ProgramOf, IsWhatRunsAtTheEnd) {
  const BuildPlace place{.root = "/b/root", .exchange = "/b/exchange"};
  EXPECT_EQ(ProgramOf(InRoot(place, Network::kYes, {"/usr/bin/muster-agent", "image"})),
            "/usr/bin/muster-agent");
  EXPECT_EQ(ProgramOf(UnpackBase("/base.tar", place)), "tar");
  EXPECT_EQ(ProgramOf(PackRoot(place, absl::UnixEpoch(), "ram", "/r")), "mksquashfs");
  EXPECT_EQ(ProgramOf({"git", "describe"}), "git");
}

TEST(PackRoot, TheRootOfADiskHasItsKernel) {
  const BuildPlace place{.root = "/b/root", .exchange = "/b/exchange"};
  const auto excluded = [&](const char* kind) {
    const std::vector<std::string> argv = PackRoot(place, absl::UnixEpoch(), kind, "/r");
    return std::vector<std::string>(std::find(argv.begin(), argv.end(), "-e") + 1, argv.end());
  };
  EXPECT_EQ(excluded("ram"), (std::vector<std::string>{"dev/*", "boot/*"}));
  EXPECT_EQ(excluded("disk"), (std::vector<std::string>{"dev/*"}));
}

TEST(MakeBase, AnImageForDisksHasWhatWritesAndBootsThem) {
  image::Definition definition;
  definition.distribution = "debian12";
  definition.kernel = "linux-image-amd64";
  const auto included = [&] {
    const BaseRecipe recipe{.definition = definition,
                            .source = {},
                            .files = {},
                            .files_sha256 = {},
                            .agent_package = "/agent.deb",
                            .agent_sha256 = "",
                            .packages_at = absl::UnixEpoch(),
                            .proxy = ""};
    for (const std::string& word : MakeBase(recipe, "", "/base.tar")) {
      if (word.rfind("--include=", 0) == 0) return word + ",";
    }
    return std::string();
  };
  EXPECT_THAT(included(), Not(HasSubstr(",systemd-boot-efi,")));
  // chattr, without which the initramfs replaces no variable of the firmware.
  EXPECT_THAT(included(), HasSubstr(",e2fsprogs,"));
  definition.kind = "disk";
  EXPECT_THAT(included(), HasSubstr(",e2fsprogs,fdisk,dosfstools,systemd-boot-efi,"));
  EXPECT_THAT(included(), Not(HasSubstr(",xfsprogs,")));
  definition.disk.partitions.push_back({"scratch", "xfs", 0});
  EXPECT_THAT(included(), HasSubstr(",xfsprogs,"));
}

TEST(SourcesText, WritesKeysAndKeyrings) {
  google::protobuf::RepeatedPtrField<v1::ImageRepository> repositories;
  v1::ImageRepository& first = *repositories.Add();
  first.set_uri("http://muster/snapshot/s/os");
  first.add_suites("bookworm");
  first.add_suites("bookworm-updates");
  first.add_components("main");
  first.set_signed_by("/usr/share/keyrings/debian-archive-keyring.gpg");
  v1::ImageRepository& second = *repositories.Add();
  second.set_uri("http://muster/snapshot/s/own");
  second.add_suites("stable");
  second.add_components("main");
  second.set_key(
      "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc\n-----END PGP PUBLIC KEY BLOCK-----\n");
  EXPECT_EQ(SourcesText(repositories), R"(Types: deb
URIs: http://muster/snapshot/s/os
Suites: bookworm bookworm-updates
Components: main
Check-Valid-Until: no
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://muster/snapshot/s/own
Suites: stable
Components: main
Check-Valid-Until: no
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----
)");
}

}  // namespace
}  // namespace muster::cli
