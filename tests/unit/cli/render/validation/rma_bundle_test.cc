#include "cli/render/validation/rma_bundle.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

v1::Validation FailedValidation() {
  v1::Validation validation;
  validation.set_validation_id("v-7k2m");
  validation.set_suite("burnin");
  for (const char* name : {"c001", "c002"}) {
    v1::NodeVerdict& node = *validation.add_nodes();
    node.set_node(name);
    node.set_outcome(v1::OUTCOME_FAIL);
    v1::CheckVerdict& check = *node.add_checks();
    check.set_check("gpu-memory");
    check.set_outcome(v1::OUTCOME_FAIL);
    check.set_reason(std::string("reason of ") + name);
    v1::Finding& finding = *check.add_findings();
    finding.set_outcome(v1::OUTCOME_FAIL);
    finding.set_metric("bandwidth_gbytes_per_s");
    finding.set_subject("GPU-1");
    finding.set_slot("0000:3b:00.0");
    finding.set_value(210);
    finding.set_floor(500);
    finding.set_unit("GB/s");
    finding.set_source("inventory/hardware/rtx_2080_ti.yaml:9");
  }
  return validation;
}

std::vector<v1::NodeCheckResult> Results() {
  v1::NodeCheckResult result;
  result.set_node("c001");
  result.mutable_result()->set_check("gpu-memory");
  v1::Subject& gpu = *result.mutable_result()->add_subjects();
  gpu.set_id("GPU-1");
  gpu.set_kind("gpu");
  gpu.set_model("NVIDIA GeForce RTX 2080 Ti");
  gpu.set_slot("0000:3b:00.0");
  (*gpu.mutable_attributes())["serial"] = "0323718012345";
  v1::Fault& fault = *result.mutable_result()->add_faults();
  fault.set_code("bit_mismatch");
  fault.set_subject("GPU-1");
  fault.set_message("1 word differs");
  fault.add_evidence("0x7f0010: wrote 0x55555555, read 0x55555557");
  return {result};
}

TEST(RmaBundleTest, HoldsWhatAVendorAsksFor) {
  const v1::Validation validation = FailedValidation();
  const std::vector<v1::NodeCheckResult> results = Results();
  const auto files = RmaFiles("c001", {}, {{validation, results}}, absl::FromUnixSeconds(0));
  EXPECT_THAT(files, ElementsAre(Key("README.txt"), Key("facts.json"), Key("v-7k2m/report.html"),
                                 Key("v-7k2m/results.json"), Key("v-7k2m/verdict.json")));
  for (const char* text :
       {"serial 0323718012345", "slot 0000:3b:00.0", "NVIDIA GeForce RTX 2080 Ti",
        "210 GB/s, limit 500 GB/s (inventory/hardware/rtx_2080_ti.yaml:9)",
        "0x7f0010: wrote 0x55555555, read 0x55555557"})
    EXPECT_THAT(files.at("README.txt"), HasSubstr(text));
  EXPECT_EQ(nlohmann::json::parse(files.at("v-7k2m/results.json"))[0]["node"], "c001");
}

TEST(RmaBundleTest, SaysNothingOfOtherNodes) {
  const v1::Validation validation = FailedValidation();
  const std::vector<v1::NodeCheckResult> results = Results();
  for (const auto& [name, content] :
       RmaFiles("c001", {}, {{validation, results}}, absl::FromUnixSeconds(0))) {
    SCOPED_TRACE(name);
    EXPECT_THAT(content, Not(HasSubstr("reason of c002")));
  }
}

TEST(RmaBundleTest, ANodeThatNothingIsKnownOf) {
  const auto files = RmaFiles("c001", {}, {}, absl::FromUnixSeconds(0));
  EXPECT_THAT(files.at("README.txt"), HasSubstr("No check has identified a part of this node."));
}

}  // namespace
}  // namespace muster::cli
