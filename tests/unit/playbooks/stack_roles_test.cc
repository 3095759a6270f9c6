// What a stack names is what the roles install, on Debian and on Enterprise Linux.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/unit/playbooks/roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kStack[] = R"(description: everything
os: [debian 12, rocky 9]
kernel: {from: "6.1", below: "6.2"}
driver:
  branch: "535"
  version: 535.261.03
  modules: proprietary
  packages: {nvidia-kernel-dkms: 535.261.03-1, nvidia-driver: 535.261.03-1}
cuda: {version: 12.2.140}
docker: {version: 20.10.24}
podman: {version: 4.3.1}
container_toolkit: {version: 1.17.8}
enroot: {version: 3.5.0, packages: {enroot: 3.5.0-1, "enroot+caps": 3.5.0-1}}
pyxis: {version: 0.20.0, slurm: 22.05.8}
slurm: {version: 22.05.8}
beegfs: {version: 7.4.6, kernels: {from: "5.4", below: "6.12"}}
doca: {version: 2.9.1, packages: {doca-ofed: 2.9.1-1}}
)";

constexpr char kPins[] = "/etc/apt/preferences.d/00muster-stack.pref";

class StackRolesTest : public RolesFixture {
 protected:
  StackRolesTest()
      : RolesFixture(R"(
- play: p
  hosts: all
  roles:
    - base
    - cuda_driver
    - {role: container_runtime, needs: base}
    - {role: pyxis, needs: container_runtime}
    - {role: beegfs, needs: base}
    - {role: beegfs_client, needs: beegfs}
    - {role: slurm_worker, needs: base}
)",
                     {"base", "cuda_driver", "container_runtime", "pyxis", "beegfs",
                      "beegfs_client", "slurm_worker"}) {
    site_["playbooks/stacks/all.yaml"] = kStack;
    UseSystem("debian", "12", "6.1.0-44-amd64");
    Set(R"({"stack": "all", "gpu_driver_source": "distribution", "gpu_fabric": "none",
            "container_runtimes": ["docker", "podman", "enroot"], "container_toolkit": true,
            "slurm_plugins": ["pyxis"], "beegfs_management_host": "login1",
            "beegfs_mount": "/beegfs"})");
  }

  void UseSystem(const std::string& id, const std::string& version, const std::string& kernel) {
    GiveOs(id, version);
    for (auto& [name, facts] : facts_) {
      facts["os"]["kernel"] = kernel;
      facts["os"]["virtualization"] = "none";
      facts["os"]["architecture"] = "x86_64";
      facts["os"]["package_architecture"] = id == "debian" ? "amd64" : "x86_64";
      facts["os"]["codename"] = "bookworm";
    }
  }

  using Package = std::pair<const std::string, std::string>;
  static auto Has(const std::vector<Package>& packages) { return IsSupersetOf(packages); }

  // The version that each package gets, and whether it is held; "" for none.
  std::map<std::string, std::string> Versions(const std::string& node) {
    std::map<std::string, std::string> versions;
    const NodePlan plan = Compile(node);
    EXPECT_OK(plan.error);
    if (plan.plan == nullptr) return versions;
    for (const v1::RolePlan& role : plan.plan->roles())
      for (const v1::Step& step : role.steps()) {
        if (!step.has_package() || !step.skip_reason().empty() ||
            step.package().state() == v1::PACKAGE_STATE_ABSENT)
          continue;
        for (const std::string& name : step.package().names())
          versions[name] =
              absl::StrCat(step.package().version(), step.package().hold() ? " held" : "");
      }
    return versions;
  }
};

TEST_F(StackRolesTest, EveryComponentHasItsVersion) {
  EXPECT_THAT(Versions("c001"),
              Has({{"nvidia-kernel-dkms", "535.261.03-1 held"},  // as the stack has it
                   {"libcuda1", "535.261.03* held"},
                   {"docker.io", "20.10.24* held"},
                   {"iptables", ""},
                   {"podman", "4.3.1* held"},
                   {"crun", ""},
                   {"libnvidia-container1", "1.17.8* held"},
                   {"enroot", "3.5.0-1 held"},
                   {"enroot+caps", "3.5.0-1 held"},
                   {"nvslurm-plugin-pyxis", "0.20.0* held"},
                   {"beegfs-client-dkms", "7.4.6* held"},
                   {"beegfs-helperd", "7.4.6* held"},
                   {"slurmd", "22.05.8* held"},
                   {"slurm-client", "22.05.8* held"}}));
  EXPECT_THAT(Versions("c001"), Not(Contains(Key("nvidia-driver"))))
      << "the role does not install what it does not need";
}

// A version that the stack does not have is refused before any role is compiled, with the line of
// the stack that says another one.
TEST_F(StackRolesTest, NoVariableOverrulesTheStack) {
  const struct {
    const char* variable;
    const char* value;
    int line;  // of kStack
  } kCases[] = {
      {"gpu_driver_branch", "550", 5},
      {"gpu_driver_version", "535.309.01", 6},
      {"gpu_driver_modules", "open", 7},
      {"cuda_version", "13.0", 9},
      {"docker_version", "26.1.5*", 10},
      {"podman_version", "5.4.2*", 11},
      {"container_toolkit_version", "1.18.0-1", 12},
      {"enroot_version", "4.0.1*", 13},
      {"pyxis_version", "0.21.0*", 14},
      {"slurm_version", "24.11", 15},
      {"slurm_package_version", "24.11.5*", 15},
      {"beegfs_version", "8", 16},
      {"beegfs_package_version", "7.4.5*", 16},
  };
  const auto before = options_.extra_vars;
  for (const auto& each : kCases) {
    options_.extra_vars = before;
    options_.extra_vars[each.variable] = each.value;
    const NodePlan plan = Compile("c001");
    EXPECT_THAT(std::string(plan.error.message()),
                AllOf(HasSubstr(each.variable),
                      HasSubstr(absl::StrCat("(playbooks/stacks/all.yaml:", each.line, ")"))));
  }
}

TEST_F(StackRolesTest, WithoutAStackTheNewestIsInstalledAndNothingHeld) {
  Set(R"({"stack": "", "container_toolkit": false, "beegfs_version": "7.4"})");
  auto versions = Versions("c001");
  for (const char* name :
       {"docker.io", "podman", "enroot", "nvslurm-plugin-pyxis", "beegfs-client-dkms", "slurmd"})
    EXPECT_THAT(versions, Contains(Pair(name, ""))) << name;
  EXPECT_EQ(File("c001", kPins).state(), v1::PRESENCE_ABSENT);
}

// Also what comes as a dependency, or by somebody's hand.
TEST_F(StackRolesTest, AptKnowsNoOtherVersionOfWhatTheStackNames) {
  const std::string pins = File("c001", kPins).content();
  for (const char* part :
       {"\n\nPackage: nvidia-driver\nPin: version 535.261.03-1\nPin-Priority: 1001\n"
        "\nPackage: nvidia-driver\nPin: version *\nPin-Priority: -1\n",
        "\n\nPackage: doca-ofed\nPin: version 2.9.1-1\nPin-Priority: 1001\n",
        "\n\nPackage: linux-image-* linux-headers-*\nPin: version 6.1.*\nPin-Priority: 500\n"
        "\nPackage: linux-image-* linux-headers-*\nPin: version *\nPin-Priority: -1\n"})
    EXPECT_THAT(pins, HasSubstr(part));
  EXPECT_THAT(pins, Not(HasSubstr("Package: slurmd")));
}

// No pattern says "5.14 to below 6.9".
TEST_F(StackRolesTest, ARangeOfSeveralLinesOfKernelsIsComparedOnly) {
  site_["playbooks/stacks/all.yaml"] =
      "description: d\nos: [debian 12]\nkernel: {from: \"5.14\", below: \"6.9\"}\n";
  EXPECT_THAT(
      File("c001", kPins).content(),
      AllOf(StartsWith("# Written by Muster from the stack all;"), Not(HasSubstr("linux-image"))));
}

TEST_F(StackRolesTest, DnfHasThePackagesByVersionToo) {
  UseSystem("rocky", "9.4", "6.1.2-1.el9.x86_64");
  Set(R"({"gpu_driver_source": "none", "container_repositories": [],
          "beegfs_version": "7.4.6"})");
  const NodePlan plan = Compile("c001");
  ASSERT_FALSE(plan.error.ok()) << "the driver's source";
  site_["playbooks/roles.yaml"] =
      "- play: p\n  hosts: all\n  roles: [base, container_runtime, pyxis, slurm_worker]\n";
  EXPECT_THAT(Versions("c001"), Has({{"docker-ce", "20.10.24* held"},
                                     {"containerd.io", ""},
                                     {"podman", "4.3.1* held"},
                                     {"nvslurm-plugin-pyxis", "0.20.0* held"},
                                     {"slurm-slurmd", "22.05.8* held"}}));
  for (const std::string& role : RolesOf("c001")) EXPECT_NE(role, "cuda_driver");
}

TEST_F(StackRolesTest, PyxisIsWhereTheArchitectureHasIt) {
  for (auto& [name, facts] : facts_) facts["os"]["architecture"] = "aarch64";
  EXPECT_THAT(Step("login1", "pyxis in plugstack.conf").line().line(),
              "required /usr/lib/aarch64-linux-gnu/slurm/spank_pyxis.so");
}

}  // namespace
}  // namespace muster::controller
