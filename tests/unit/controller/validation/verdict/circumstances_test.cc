#include "controller/validation/verdict/circumstances.h"

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "common/checks/catalog.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {
namespace {

using Given = std::map<std::string, std::string>;

std::string Digest(const char* check, const Given& given) {
  const checks::CheckSpec* const spec = checks::FindCheck(check);
  EXPECT_TRUE(checks::Parameters::Parse(*spec, given).ok()) << check;
  return ParametersDigest(*spec, given);
}

TEST(ParametersDigest, IsOfWhatShapesTheValues) {
  const std::string quick = Digest("gpu-gemm", {{"duration", "8s"}, {"cool-down", "15s"}});
  EXPECT_EQ(quick.size(), 16u);
  EXPECT_NE(quick, Digest("gpu-gemm", {{"duration", "3m"}}));
  EXPECT_NE(quick, Digest("gpu-gemm", {{"duration", "8s"}}));
  EXPECT_NE(Digest("gpu-gemm", {}), Digest("gpu-gemm", {{"engine", "own"}}));
  EXPECT_NE(Digest("gpu-gemm", {}), Digest("gpu-gemm", {{"types", "fp16"}}));
}

TEST(ParametersDigest, IsTheSameHoweverItIsWritten) {
  EXPECT_EQ(Digest("gpu-gemm", {{"duration", "3m"}}), Digest("gpu-gemm", {{"duration", "180s"}}));
  EXPECT_EQ(Digest("gpu-gemm", {}), Digest("gpu-gemm", {{"duration", "60s"}, {"size", "0"}}));
  EXPECT_EQ(Digest("gpu-gemm", {{"types", "fp16,fp32"}}),
            Digest("gpu-gemm", {{"types", "fp16, fp32"}}));
  EXPECT_NE(Digest("gpu-copy", {{"size", "1GiB"}}), Digest("gpu-copy", {{"size", "1GB"}}));
}

TEST(ParametersDigest, LeavesOutPartsAndLimits) {
  EXPECT_EQ(Digest("gpu-gemm", {}), Digest("gpu-gemm", {{"gpus", "0-3"}}));
  EXPECT_EQ(Digest("gpu-gemm", {}), Digest("gpu-gemm", {{"max-temperature", "85"}}));
  EXPECT_EQ(Digest("nic-pair", {}), Digest("nic-pair", {{"meet-timeout", "10s"}}));
  EXPECT_EQ(
      Digest("nic-link", {}),
      Digest("nic-link",
             {{"interfaces", "eth0"}, {"speed", "10000"}, {"mtu", "9000"}, {"duration", "2s"}}));
}

SuiteCheck Chosen(const char* check, const Given& given = {}) {
  SuiteCheck chosen;
  chosen.spec = checks::FindCheck(check);
  chosen.parameters = given;
  return chosen;
}

TEST(ParametersDigest, IsAlsoOfWhatLoadsTheNodeSideBySide) {
  SuiteStage stage;
  stage.side_by_side = true;
  stage.checks = {Chosen("gpu-inventory"), Chosen("memory-bandwidth"), Chosen("gpu-gemm")};
  const auto digest = [&](size_t check) { return ParametersDigest(stage, stage.checks[check]); };
  const std::string beside = digest(1);
  EXPECT_EQ(beside.size(), 16u);
  EXPECT_NE(beside, Digest("memory-bandwidth", {}));
  EXPECT_NE(digest(2), Digest("gpu-gemm", {}));
  EXPECT_EQ(digest(0), Digest("gpu-inventory", {})) << "it loads nothing";
  std::swap(stage.checks[0], stage.checks[2]);
  EXPECT_EQ(digest(1), beside) << "in whatever order";
  stage.checks[0].parameters = {{"duration", "3m"}};
  EXPECT_NE(digest(1), beside);
  stage.side_by_side = false;
  EXPECT_EQ(digest(1), Digest("memory-bandwidth", {})) << "one after another";
  stage.side_by_side = true;
  stage.checks = {Chosen("gpu-inventory"), Chosen("memory-bandwidth")};
  EXPECT_EQ(digest(1), Digest("memory-bandwidth", {})) << "beside what loads nothing";
}

v1::Subject* AddGpu(v1::CheckResult& result, const char* id, const char* watts) {
  v1::Subject* const gpu = result.add_subjects();
  gpu->set_id(id);
  gpu->set_kind("gpu");
  gpu->set_model("NVIDIA L4");
  (*gpu->mutable_attributes())["power_limit_watts"] = watts;
  return gpu;
}

TEST(Circumstances, AreTheEnginesAndWhatThePartIs) {
  v1::CheckResult result, other;
  AddGpu(result, "g0", "72");
  AddGpu(result, "g1", "60");
  AddGpu(other, "g7", "72");
  for (const char* tool : {"cublas 12.4", "own kernel sm_89"}) result.add_tools(tool);
  for (const char* tool : {"own kernel sm_89", "cublas 12.4"}) other.add_tools(tool);
  EXPECT_EQ(EnginesOf(result), "cublas 12.4, own kernel sm_89");
  const std::string first = CircumstancesOf(result, &result.subjects(0));
  EXPECT_EQ(first, CircumstancesOf(other, &other.subjects(0)));
  EXPECT_NE(first, CircumstancesOf(result, &result.subjects(1)));
  other.set_tools(1, "cublas 12.6");
  EXPECT_NE(first, CircumstancesOf(other, &other.subjects(0)));
}

TEST(Circumstances, OfTheNodeAreThoseOfAllItsParts) {
  v1::CheckResult result, swapped, lowered;
  AddGpu(result, "g0", "72");
  AddGpu(result, "g1", "60");
  AddGpu(swapped, "g3", "60");
  AddGpu(swapped, "g2", "72");
  AddGpu(lowered, "g0", "60");
  AddGpu(lowered, "g1", "60");
  EXPECT_EQ(CircumstancesOf(result, nullptr), CircumstancesOf(swapped, nullptr));
  EXPECT_NE(CircumstancesOf(result, nullptr), CircumstancesOf(lowered, nullptr));
}

TEST(Circumstances, ProcessorsThatAreMissingAreNone) {
  v1::CheckResult all, half;
  for (v1::CheckResult* result : {&all, &half}) result->set_check("memory-bandwidth");
  all.add_tools("own loops, 32 threads");
  half.add_tools("own loops, 16 threads");
  EXPECT_EQ(CircumstancesOf(all, nullptr), CircumstancesOf(half, nullptr));
}

}  // namespace
}  // namespace muster::controller::validation
