// The role cuda_driver for every distribution and generation of GPUs: what it installs, and what it
// refuses.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/value/secret_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::Said;
using testing::StatusIs;

constexpr char kTuring[] = "1e07";
constexpr char kPascal[] = "1b06";
constexpr char kVolta[] = "1db5";
constexpr char kBlackwell[] = "2901";

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() {
    const std::filesystem::path roles = "playbooks/roles";
    for (const char* role : {"cuda_driver", "cuda_libraries"})
      for (const auto& entry : std::filesystem::recursive_directory_iterator(roles / role)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path(), std::ios::binary);
        site_[entry.path().string()] =
            std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      }
    site_["playbooks/driver.yaml"] =
        "- play: p\n  hosts: all\n  roles: [cuda_driver, {role: cuda_libraries, needs: "
        "cuda_driver}]\n";
    absl::StatusOr<Inventory> inventory = ParseInventory(
        {{"c.yaml", "cluster: x\nnodes: {c001: {role: compute, address: 10.0.0.1}}\n"}});
    EXPECT_OK(inventory);
    inventory_ = *std::move(inventory);
    options_.extra_vars = {{"gpu_driver_source", "distribution"}};
  }

  // A node with such GPUs, by their PCI device ids.
  void GiveNode(const std::string& id, const std::string& version,
                const std::vector<std::string>& gpus, bool with_switch = false) {
    Value devices = Value::array();
    for (const std::string& gpu : gpus)
      devices.push_back({{"vendor_id", "10de"}, {"device_id", gpu}, {"class_code", "030200"}});
    devices.push_back({{"vendor_id", "15b3"}, {"device_id", "1017"}, {"class_code", "020700"}});
    if (with_switch)
      devices.push_back({{"vendor_id", "10de"}, {"device_id", "22a3"}, {"class_code", "068000"}});
    const std::string kernel = id == "debian"   ? "6.1.0-44-amd64"
                               : id == "ubuntu" ? "6.8.0-60-generic"
                                                : "5.14.0-503.el9.x86_64";
    facts_["c001"] = {{"os",
                       {{"id", id},
                        {"version_id", version},
                        {"codename", "bookworm"},
                        {"pretty_name", absl::StrCat(id, " ", version)},
                        {"kernel", kernel},
                        {"package_architecture", id == "rocky" ? "x86_64" : "amd64"}}},
                      {"pci_devices", devices}};
  }

  void UseNvidia(const std::string& branch, const std::string& version) {
    options_.extra_vars["gpu_driver_source"] = "nvidia";
    options_.extra_vars["gpu_driver_branch"] = branch;
    options_.extra_vars["gpu_driver_version"] = version;
    options_.extra_vars["gpu_driver_nvidia_repository"] = {{"uris", {"http://mirror.example/cuda"}},
                                                           {"suites", {"/"}}};
  }

  NodePlan Compile() {
    const auto playbook = LoadPlaybook(site_, "playbooks/driver.yaml");
    EXPECT_OK(playbook);
    if (!playbook.ok()) return {};
    auto plans = CompilePlay(**playbook, 0, inventory_, facts_, {"c001"}, options_, secrets_);
    return std::move(plans.at(0));
  }

  v1::Step Step(const std::string& name) {
    const NodePlan plan = Compile();
    EXPECT_OK(plan.error);
    if (plan.plan == nullptr) return {};
    for (const v1::RolePlan& role : plan.plan->roles())
      for (const v1::Step& step : role.steps())
        if (step.name() == name) return step;
    ADD_FAILURE() << "no step " << name;
    return {};
  }

  std::vector<std::string> Names(const std::string& step) {
    const v1::Step found = Step(step);
    return {found.package().names().begin(), found.package().names().end()};
  }

  FileTree site_;
  Inventory inventory_;
  FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_;
};

TEST_F(DriverTest, NamesOfEveryDistribution) {
  const struct {
    const char *os, *version, *branch;
    bool nvidia;
    const char* gpu;
    std::vector<std::string> modules;
  } kCases[] = {
      {"debian", "12", "535", false, kTuring, {"nvidia-kernel-dkms", "nvidia-kernel-support"}},
      {"debian", "13", "550", false, kTuring, {"nvidia-kernel-dkms"}},
      {"debian",
       "13",
       "535",
       false,
       kTuring,
       {"nvidia-tesla-535-kernel-dkms", "libnvidia-tesla-535-ml1"}},
      {"debian",
       "12",
       "470",
       false,
       kPascal,
       {"nvidia-tesla-470-kernel-dkms", "nvidia-tesla-470-smi"}},
      {"debian", "12", "580", true, kTuring, {"nvidia-kernel-open-dkms", "nvidia-driver-cuda"}},
      {"debian", "12", "580", true, kVolta, {"nvidia-kernel-dkms", "nvidia-driver-cuda"}},
      {"ubuntu",
       "22.04",
       "580",
       false,
       kVolta,
       {"nvidia-dkms-580-server", "nvidia-utils-580-server"}},
      {"ubuntu", "24.04", "580", false, kTuring, {"nvidia-dkms-580-server-open"}},
      {"ubuntu", "24.04", "595", false, kBlackwell, {"nvidia-dkms-595-server-open"}},
      {"ubuntu", "24.04", "580", true, kTuring, {"nvidia-dkms-580-open", "libnvidia-compute-580"}},
      {"ubuntu", "24.04", "590", true, kBlackwell, {"nvidia-dkms-open", "libnvidia-compute"}},
      {"rocky", "9.4", "570", true, kTuring, {"kmod-nvidia-open-dkms", "nvidia-driver-cuda"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version, " ", c.branch));
    GiveNode(c.os, c.version, {c.gpu, c.gpu});
    options_.extra_vars = {{"gpu_driver_source", "distribution"}, {"gpu_driver_branch", c.branch}};
    if (c.nvidia) UseNvidia(c.branch, "");
    const std::vector<std::string> names = Names("driver");
    EXPECT_THAT(names, IsSupersetOf(c.modules));
    const std::vector<std::string> others = Names("no other driver");
    for (const std::string& name : names) EXPECT_THAT(others, Not(Contains(name)));
    EXPECT_EQ(Step("driver").package().version(), absl::StrCat(c.branch, ".*"));
  }
}

// Ubuntu has replaced 535 with 580.
TEST_F(DriverTest, TheDefaultBranchIsOneThatTheSourceHas) {
  const struct {
    const char *os, *version;
    bool nvidia;
    const char* branch;
  } kCases[] = {{"ubuntu", "22.04", false, "580"},
                {"ubuntu", "24.04", false, "580"},
                {"ubuntu", "24.04", true, "535"},
                {"debian", "12", false, "535"},
                {"rocky", "9.4", true, "535"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version, c.nvidia ? " nvidia" : ""));
    GiveNode(c.os, c.version, {kTuring});
    options_.extra_vars = {{"gpu_driver_source", "distribution"}};
    if (c.nvidia) UseNvidia("", "");
    options_.extra_vars.erase("gpu_driver_branch");
    EXPECT_EQ(Step("driver").package().version(), absl::StrCat(c.branch, ".*"));
    // The role cuda_libraries has a default of its own.
    options_.extra_vars["cuda_libraries_packages"] = {"{{ 'for-' ~ gpu_driver_branch }}"};
    EXPECT_THAT(Names("libraries of CUDA"), ElementsAre(absl::StrCat("for-", c.branch)));
  }
}

TEST_F(DriverTest, BranchesThatUbuntuHasReplacedAreLookedForBeforeAnyPackageChanges) {
  const char kStep[] = "packages are of the driver's branch";
  GiveNode("ubuntu", "24.04", {kTuring});
  const v1::CommandResource command = Step(kStep).command();
  EXPECT_TRUE(command.changes_nothing());
  EXPECT_THAT(std::vector<std::string>(command.argv().begin(), command.argv().end()),
              ElementsAre("/usr/local/lib/muster/gpu-driver", "branch", "580.*",
                          "nvidia-dkms-580-server-open", "nvidia-utils-580-server",
                          "libnvidia-compute-580-server", "nvidia-compute-utils-580-server"));
  GiveNode("debian", "12", {kTuring});
  EXPECT_NE(Step(kStep).skip_reason(), "");
}

TEST_F(DriverTest, AnotherBranchsNamesLeaveInTheSameTransaction) {
  GiveNode("ubuntu", "22.04", {kTuring});
  UseNvidia("590", "");
  EXPECT_THAT(Names("no other driver"),
              IsSupersetOf({"nvidia-dkms-580-open", "nvidia-dkms-535", "nvidia-dkms",
                            "libnvidia-compute-535-server", "nvidia-fabricmanager-535"}));
  // Ubuntu's own have the branch in their names beyond 580, too.
  options_.extra_vars = {{"gpu_driver_source", "distribution"}};
  EXPECT_THAT(Names("no other driver"),
              IsSupersetOf({"nvidia-dkms-590-server", "nvidia-dkms-595-server-open",
                            "nvidia-utils-615-server", "nvidia-dkms-610", "nvidia-imex-595"}));
}

TEST_F(DriverTest, TheFabricManagerHasTheDriversExactVersion) {
  GiveNode("ubuntu", "22.04", {"2330", "2330"}, /*with_switch=*/true);
  UseNvidia("535", "535.261.03");
  EXPECT_THAT(Names("driver"), Contains("nvidia-fabricmanager-535"));
  EXPECT_EQ(Step("driver").package().version(), "535.261.03*");
  EXPECT_EQ(Step("programs of the fabric at boot").unit().name(), "nvidia-fabricmanager.service");
  UseNvidia("535", "");
  EXPECT_THAT(Compile().error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(DriverTest, HeadersOfTheRunningKernelAndOfTheNext) {
  GiveNode("debian", "12", {kTuring});
  EXPECT_THAT(Names("kernel headers"),
              ElementsAre("linux-headers-amd64", "linux-headers-6.1.0-44-amd64"));
  facts_["c001"]["os"]["kernel"] = "6.18.44-own";
  EXPECT_THAT(Names("kernel headers"), ElementsAre("linux-headers-amd64"));
  facts_["c001"]["os"]["kernel"] = "6.1.0-44-cloud-amd64";
  EXPECT_THAT(Names("kernel headers"),
              ElementsAre("linux-headers-cloud-amd64", "linux-headers-6.1.0-44-cloud-amd64"));
  GiveNode("rocky", "9.4", {kTuring});
  UseNvidia("570", "");
  EXPECT_THAT(Names("kernel headers"),
              ElementsAre("kernel-devel-matched", "kernel-devel-5.14.0-503.el9"));
  EXPECT_THAT(Step("repository of the driver for dnf").package_repository().base_urls(),
              ElementsAre("http://mirror.example/cuda"));
}

// Kernels with pages of 64 KiB, for real time, and of Ubuntu's later series have packages of their
// own.
TEST_F(DriverTest, HeadersOfTheKernelsFlavour) {
  const struct {
    const char *os, *version, *kernel, *newest, *running;
  } kCases[] = {
      {"rocky", "9.6", "5.14.0-570.el9.aarch64+64k", "kernel-64k-devel-matched",
       "kernel-64k-devel-5.14.0-570.el9"},
      {"rocky", "9.6", "5.14.0-570.el9.x86_64+rt", "kernel-rt-devel",
       "kernel-rt-devel-5.14.0-570.el9"},
      {"ubuntu", "22.04", "6.8.0-60-generic", "linux-headers-generic-hwe-22.04",
       "linux-headers-6.8.0-60-generic"},
      {"ubuntu", "22.04", "5.15.0-160-generic", "linux-headers-generic",
       "linux-headers-5.15.0-160-generic"},
      {"ubuntu", "24.04", "6.14.0-24-lowlatency", "linux-headers-lowlatency-hwe-24.04",
       "linux-headers-6.14.0-24-lowlatency"},
      {"ubuntu", "24.04", "6.8.0-60-generic", "linux-headers-generic",
       "linux-headers-6.8.0-60-generic"},
      {"ubuntu", "24.04", "6.14.0-1010-aws", "linux-headers-aws", "linux-headers-6.14.0-1010-aws"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version, " ", c.kernel));
    GiveNode(c.os, c.version, {kTuring});
    UseNvidia("570", "");
    facts_["c001"]["os"]["kernel"] = c.kernel;
    EXPECT_THAT(Names("kernel headers"), ElementsAre(c.newest, c.running));
  }
}

TEST_F(DriverTest, WithoutGpusOnTheBusNothingIsLoaded) {
  GiveNode("debian", "12", {});
  EXPECT_EQ(Step("NVML sees the GPUs").skip_reason(), "when: gpu_driver_verify is false");
  GiveNode("debian", "12", {kTuring, kTuring});
  EXPECT_EQ(Step("NVML sees the GPUs").command().argv(2), "2");
}

// A job that holds GPUs may have none open: Slurm is asked, by the name that it knows the node by.
TEST_F(DriverTest, SlurmIsAskedForJobsBeforeTheDriverChanges) {
  GiveNode("debian", "12", {kTuring});
  const v1::Step step = Step("no program has a GPU and no job runs, or nothing is to change");
  EXPECT_THAT(
      std::vector<std::string>(step.command().argv().begin(), step.command().argv().begin() + 4),
      ElementsAre("/usr/local/lib/muster/gpu-driver", "ready", "c001", "535.*"));
}

TEST_F(DriverTest, LibrariesOfTheDriversGenerationOfCuda) {
  GiveNode("debian", "12", {kTuring});
  EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas11", "libcublaslt11"));
  UseNvidia("570", "");
  EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas-12-8", "libnccl2"));
  EXPECT_THAT(Step("NCCL for the driver's generation of CUDA").file().content(),
              HasSubstr("Pin: version /[+]cuda12[.]/\n"));
}

// It begins with another version for each distribution, and a driver runs all of its generation.
TEST_F(DriverTest, LibrariesAreThoseThatNvidiasRepositoryHas) {
  const struct {
    const char *os, *version, *branch, *gpu;
    std::vector<std::string> libraries;
  } kCases[] = {
      {"debian", "12", "535", kTuring, {"libcublas-12-3", "libnccl2"}},
      {"debian", "12", "570", kTuring, {"libcublas-12-8", "libnccl2"}},
      {"debian", "12", "520", kTuring, {}},
      {"debian", "13", "570", kTuring, {}},
      {"debian", "13", "580", kTuring, {"libcublas-13-1", "libnccl2"}},
      {"debian", "13", "580", kPascal, {}},
      {"ubuntu", "22.04", "510", kTuring, {"libcublas-11-7", "libnccl2"}},
      {"ubuntu", "22.04", "535", kTuring, {"libcublas-12-2", "libnccl2"}},
      {"ubuntu", "24.04", "550", kTuring, {"libcublas-12-5", "libnccl2"}},
      {"ubuntu", "24.04", "590", kTuring, {"libcublas-13-1", "libnccl2"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.os, " ", c.version, " ", c.branch, " ", c.gpu));
    GiveNode(c.os, c.version, {c.gpu});
    UseNvidia(c.branch, "");
    EXPECT_EQ(Names("libraries of CUDA"), c.libraries);
  }
  // A mirror may have more, whether or not it is what the driver came with.
  GiveNode("ubuntu", "24.04", {kTuring});
  options_.extra_vars["cuda_version"] = "12.4";
  EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas-12-4", "libnccl2"));
  UseNvidia("520", "");
  options_.extra_vars["cuda_version"] = "11.8";
  EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas-11-8", "libnccl2"));
}

// dnf would take the highest generation, which the driver does not run.
TEST_F(DriverTest, DnfSeesTheNcclOfOneGenerationOfCuda) {
  const struct {
    const char *branch, *gpu, *libraries, *hidden;
  } kCases[] = {{"520", kTuring, "libcublas-11-8", "libnccl*+cuda1[!1].*"},
                {"525", kTuring, "libcublas-12-0", "libnccl*+cuda1[!2].*"},
                {"575", kTuring, "libcublas-12-9", "libnccl*+cuda1[!2].*"},
                {"580", kVolta, "libcublas-12-9", "libnccl*+cuda1[!2].*"},
                {"580", kTuring, "libcublas-13-0", "libnccl*+cuda1[!3].*"},
                {"590", kTuring, "libcublas-13-1", "libnccl*+cuda1[!3].*"}};
  const auto hidden = [&] {
    const auto pins = Step("repository of the driver for dnf").package_repository().pins();
    EXPECT_EQ(pins.size(), 1);
    if (pins.empty()) return std::string();
    EXPECT_LT(pins[0].priority(), 0);
    return absl::StrJoin(pins[0].packages(), " ");
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.branch, " ", c.gpu));
    GiveNode("rocky", "9.4", {c.gpu});
    UseNvidia(c.branch, "");
    EXPECT_THAT(Names("libraries of CUDA"), ElementsAre(c.libraries, "libnccl"));
    EXPECT_EQ(hidden(), c.hidden);
  }
  options_.extra_vars["cuda_version"] = "12.9";
  EXPECT_EQ(hidden(), "libnccl*+cuda1[!2].*");
}

// CUDA 13 has no kernels for them, and the driver 580 runs CUDA 12, too.
TEST_F(DriverTest, GpusThatCuda13DroppedKeepTheLibrariesOfCuda12) {
  for (const char* gpu : {kPascal, kVolta}) {
    SCOPED_TRACE(gpu);
    GiveNode("ubuntu", "24.04", {gpu, gpu});
    UseNvidia("580", "");
    EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas-12-9", "libnccl2"));
    EXPECT_THAT(Step("NCCL for the driver's generation of CUDA").file().content(),
                HasSubstr("Pin: version /[+]cuda12[.]/\n"));
    UseNvidia("570", "");
    EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas-12-8", "libnccl2"));
  }
  GiveNode("ubuntu", "24.04", {kTuring});
  UseNvidia("580", "");
  EXPECT_THAT(Names("libraries of CUDA"), ElementsAre("libcublas-13-0", "libnccl2"));
}

TEST_F(DriverTest, RefusesContradictionsWithTheirRemedy) {
  const struct {
    const char *what, *os, *version, *gpu, *variable, *value;
  } kCases[] = {
      {"an unknown source", "debian", "12", kTuring, "gpu_driver_source", "nvida"},
      {"a branch that is none", "debian", "12", kTuring, "gpu_driver_branch", "535.2"},
      {"a version of another branch", "debian", "12", kTuring, "gpu_driver_version", "550.163.01"},
      {"open modules on Pascal", "debian", "12", kPascal, "gpu_driver_modules", "open"},
      {"open modules on Volta", "debian", "12", kVolta, "gpu_driver_modules", "open"},
      {"proprietary modules on Blackwell", "ubuntu", "24.04", kBlackwell, "gpu_driver_modules",
       "proprietary"},
      {"a GPU too new for the branch", "ubuntu", "24.04", kBlackwell, "gpu_driver_branch", "550"},
      {"a GPU too old for the branch", "ubuntu", "24.04", kVolta, "gpu_driver_branch", "590"},
      {"open modules that Debian has not", "debian", "13", kTuring, "gpu_driver_modules", "open"},
      {"a source without address", "debian", "12", kTuring, "gpu_driver_source", "nvidia"},
      {"a fabric that is none", "debian", "12", kTuring, "gpu_fabric", "nvlink"},
      {"a key that DKMS does not read", "ubuntu", "22.04", kTuring, "gpu_driver_signing_key",
       "/root/mok.key"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    GiveNode(c.os, c.version, {c.gpu});
    options_.extra_vars = {{"gpu_driver_source", "distribution"}};
    if (std::string(c.what).find("Blackwell") != std::string::npos)
      options_.extra_vars["gpu_driver_branch"] = "570";
    options_.extra_vars[c.variable] = c.value;
    EXPECT_THAT(Compile().error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

// The package of that name is empty, and brings the open ones.
TEST_F(DriverTest, UbuntuHasNoProprietaryModulesOfLateBranches) {
  GiveNode("ubuntu", "24.04", {kTuring});
  options_.extra_vars = {{"gpu_driver_source", "distribution"},
                         {"gpu_driver_branch", "615"},
                         {"gpu_driver_modules", "proprietary"}};
  EXPECT_THAT(Compile().error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  options_.extra_vars["gpu_driver_branch"] = "595";
  EXPECT_OK(Compile().error);
}

TEST_F(DriverTest, TheModelTellsTheGenerationWhereTheBusDoesNot) {
  GiveNode("debian", "12", {});
  options_.extra_vars["gpu_driver_modules"] = "open";
  for (const char* model :
       {"Tesla P100-SXM2-16GB", "Tesla V100-PCIE-16GB", "NVIDIA GeForce GTX 1080 Ti"}) {
    options_.extra_vars["gpu_model"] = model;
    EXPECT_THAT(Compile().error, StatusIs(absl::StatusCode::kInvalidArgument, Said())) << model;
  }
  options_.extra_vars["gpu_model"] = "NVIDIA GeForce RTX 2080 Ti";
  EXPECT_THAT(Names("driver"), Contains("nvidia-open-kernel-dkms"));
}

// Boards with NVLink of the fifth generation have no NVSwitch on the PCI bus.
TEST_F(DriverTest, FabricsOfTheFifthGenerationAreKnownByTheirGpus) {
  const auto units = [&](const std::string& gpu, const std::string& virtualization) {
    GiveNode("ubuntu", "24.04", {gpu, gpu});
    facts_["c001"]["os"]["virtualization"] = virtualization;
    UseNvidia("570", "570.172.08");
    std::vector<std::string> units;
    const NodePlan plan = Compile();
    EXPECT_OK(plan.error);
    if (plan.plan == nullptr) return units;
    for (const v1::RolePlan& role : plan.plan->roles())
      for (const v1::Step& step : role.steps())
        if (step.has_unit() && step.skip_reason().empty()) units.push_back(step.unit().name());
    return units;
  };
  for (const char* gpu : {"2901", "3182"})
    EXPECT_THAT(units(gpu, "none"), Contains("nvidia-fabricmanager.service")) << gpu;
  for (const char* gpu : {"2941", "31c2"})
    EXPECT_THAT(units(gpu, "none"), Contains("nvidia-imex.service")) << gpu;
  EXPECT_THAT(units("2901", "kvm"), Not(Contains("nvidia-fabricmanager.service")))
      << "the host has the fabric";
  EXPECT_THAT(units(kTuring, "none"), Not(Contains("nvidia-fabricmanager.service")));
}

TEST_F(DriverTest, UbuntuHasImexOfItsOwn) {
  GiveNode("ubuntu", "24.04", {"2941"});
  facts_["c001"]["os"]["virtualization"] = "none";
  options_.extra_vars["gpu_driver_version"] = "580.178.04";
  options_.extra_vars["gpu_imex_nodes"] = {"c001"};
  EXPECT_THAT(Names("driver"), Contains("nvidia-imex-580"));
}

// Slurm's switch/nvidia_imex makes them for each job.
TEST_F(DriverTest, ImexHasAChannelUnlessSomebodyElseMakesThem) {
  GiveNode("ubuntu", "24.04", {"2941"});
  facts_["c001"]["os"]["virtualization"] = "none";
  UseNvidia("570", "570.172.08");
  options_.extra_vars["gpu_imex_nodes"] = {"c001"};
  const v1::FileResource file = Step("channel of IMEX for all jobs").file();
  EXPECT_EQ(file.path(), "/etc/modprobe.d/muster-imex.conf");
  EXPECT_THAT(file.content(), HasSubstr("\noptions nvidia NVreg_CreateImexChannel0=1\n"));
  options_.extra_vars["gpu_imex_channel"] = false;
  EXPECT_EQ(Step("channel of IMEX for all jobs").file().state(), v1::PRESENCE_ABSENT);
  GiveNode("ubuntu", "24.04", {kTuring});
  EXPECT_NE(Step("channel of IMEX for all jobs").skip_reason(), "");
}

TEST_F(DriverTest, NodesOfARackShareMemoryByImex) {
  absl::StatusOr<Inventory> inventory = ParseInventory({{"c.yaml", R"(cluster: x
racks: {r1: {nodes: "c[001-002],login1"}, r2: {nodes: c003}}
nodes:
  login1: {role: login, address: 10.0.0.100}
  "c[001-003]": {role: compute, address: "10.0.0.[1-3]"}
)"}});
  ASSERT_OK(inventory);
  inventory_ = *std::move(inventory);
  GiveNode("ubuntu", "24.04", {"2941"});
  facts_["c001"]["os"]["virtualization"] = "none";
  UseNvidia("570", "570.172.08");
  const auto list = [&] { return Step("nodes that share memory by IMEX").file().content(); };
  EXPECT_EQ(list(), "10.0.0.1\n10.0.0.2\n");
  options_.extra_vars["gpu_imex_nodes"] = {"c003", "c001"};
  EXPECT_EQ(list(), "10.0.0.1\n10.0.0.3\n");
  options_.extra_vars["gpu_imex_nodes"] = {"c003"};
  EXPECT_THAT(Compile().error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
