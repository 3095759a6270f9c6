// Verdicts in words.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {

// "pass", "fail", "unknown", "skipped"; "running" for a verdict that is still to come.
absl::string_view OutcomeWord(v1::Outcome outcome);
// Nothing that a person must look at.
// Of a node: "witness" for one that is not under test.
absl::string_view OutcomeWord(const v1::NodeVerdict& node);
bool IsFine(v1::Outcome outcome);
// "tflops median, fp16" of a metric and its variant.
std::string MetricWords(absl::string_view metric, absl::string_view variant);

}  // namespace muster::cli
