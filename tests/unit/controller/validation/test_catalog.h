// A catalogue that is independent of the product's.
#pragma once

#include "common/checks/catalog.h"
#include "controller/validation/suite/catalog_names.h"

namespace muster::controller::validation {

inline constexpr absl::string_view kTestTypes[] = {"fp16", "fp32"};
inline constexpr checks::ParameterSpec kTestGemmParameters[] = {
    {"duration", checks::ParameterType::kDuration, "60s", "", 1, 86400, {}},
    {"types", checks::ParameterType::kWords, "", "", 0, 0, kTestTypes},
    {"size", checks::ParameterType::kNumber, "8192", "", 64, 65536, {}},
};
inline constexpr checks::MetricSpec kTestGemmMetrics[] = {
    {"tflops_median", "TFLOPS", "gpu", checks::Better::kHigher, ""},
    {"temperature_celsius", "celsius", "gpu", checks::Better::kLower, ""},
    {"errors", "1", "gpu", checks::Better::kLower, ""},
};
inline constexpr checks::CheckSpec kTestGemm = {"gpu-gemm",         checks::Scope::kNode,
                                                checks::Load::kGpu, kTestGemmParameters,
                                                kTestGemmMetrics,   ""};
inline constexpr checks::MetricSpec kTestPairMetrics[] = {
    {"receive_gbits", "Gbit/s", "nic", checks::Better::kHigher, ""}};
inline constexpr checks::CheckSpec kTestPair = {
    "nic-pair", checks::Scope::kPair, checks::Load::kNetwork, {}, kTestPairMetrics, ""};
inline constexpr const checks::CheckSpec* kTestChecks[] = {&kTestGemm, &kTestPair};
inline constexpr Catalog kTestCatalog = kTestChecks;

}  // namespace muster::controller::validation
