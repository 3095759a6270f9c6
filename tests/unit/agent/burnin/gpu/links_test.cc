#include "agent/burnin/gpu/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::NvidiaFile;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Links, OfABaseboardMustAllBeUpIfAnyIs) {
  struct Case {
    const char* model;
    std::vector<bool> links;
    size_t missing;
  };
  for (const Case& c : {
           Case{"NVIDIA H100 80GB HBM3", {true, true, true}, 0},
           Case{"NVIDIA H100 80GB HBM3", {true, false, false}, 2},
           Case{"NVIDIA H100 80GB HBM3", {false, false, false}, 0},
           Case{"NVIDIA H100 80GB HBM3", {}, 0},
           // Half of the bridges are fitted.
           Case{"NVIDIA H100 PCIe", {true, false}, 0},
           Case{"NVIDIA GeForce RTX 2080 Ti", {true, false}, 0},
       }) {
    EXPECT_EQ(MissingLinks(c.model, c.links), c.missing) << c.model << " " << c.links.size();
  }
}

class LinksOfTheFake : public ::testing::Test {
 protected:
  LinksOfTheFake() : nvml_(Nvml::Load(FAKE_NVML).value()) {}
  NvmlDevice Device(const std::string& gpu) {
    file_.Write(absl::StrCat(R"({"gpus":[)", gpu, "]}"));
    return NvmlDevice(*nvml_, nvml_->DeviceAt(0).value());
  }

  NvidiaFile file_{R"({"gpus":[{"preset":"h100"}]})"};
  std::unique_ptr<Nvml> nvml_;
};

TEST_F(LinksOfTheFake, AreReadAndSummed) {
  const NvmlDevice gpu = Device(R"({"preset":"h100","nvlinks_up":17,"nvlink_errors":3})");
  const std::vector<bool> links = ReadLinks(gpu).value();
  EXPECT_EQ(links.size(), 18u);
  EXPECT_EQ(LinksUp(links), 17u);
  EXPECT_EQ(SumOfLinks(gpu, links.size(), nvml::kLinkRecovery).value(), 3u);
  EXPECT_EQ(SumOfLinks(gpu, links.size(), nvml::kLinkReplay).value(), 0u);
}

TEST_F(LinksOfTheFake, WhatNoLinkCountsIsNotZero) {
  const NvmlDevice gpu = Device(R"({"preset":"h100","unsupported_link_counter":0})");
  EXPECT_TRUE(absl::IsUnimplemented(SumOfLinks(gpu, 18, nvml::kLinkReplay).status()));
  EXPECT_TRUE(absl::IsUnimplemented(ReadLinks(Device(R"({"preset":"l40s"})")).status()));
  const NvmlDevice broken =
      Device(R"({"preset":"h100","answers":{"nvmlDeviceGetNvLinkErrorCounter":999}})");
  EXPECT_TRUE(absl::IsInternal(SumOfLinks(broken, 18, nvml::kLinkReplay).status()));
}

std::vector<FabricTrouble> Troubles(unsigned char state, int status, unsigned health) {
  nvml::FabricInfo info = {};
  info.state = state;
  info.status = status;
  info.health_mask = health;
  std::vector<FabricTrouble> troubles;
  for (const FabricFault& fault : JudgeFabric(info)) troubles.push_back(fault.trouble);
  return troubles;
}

TEST(Fabric, IsJudgedByItsStateStatusAndHealth) {
  EXPECT_THAT(Troubles(nvml::kFabricNotSupported, 999, 1), IsEmpty());
  EXPECT_THAT(Troubles(nvml::kFabricNotStarted, 0, 0), ElementsAre(FabricTrouble::kNotReady));
  EXPECT_THAT(Troubles(nvml::kFabricInProgress, 0, 0), ElementsAre(FabricTrouble::kNotReady));
  EXPECT_THAT(Troubles(nvml::kFabricCompleted, 0, 0), IsEmpty());
  EXPECT_THAT(Troubles(nvml::kFabricCompleted, 999, 0), ElementsAre(FabricTrouble::kError));
  EXPECT_THAT(Troubles(nvml::kFabricCompleted, 0, 1), ElementsAre(FabricTrouble::kUnhealthy));
  EXPECT_THAT(Troubles(nvml::kFabricCompleted, 999, 1),
              ElementsAre(FabricTrouble::kError, FabricTrouble::kUnhealthy));
}

}  // namespace
}  // namespace muster::burnin
