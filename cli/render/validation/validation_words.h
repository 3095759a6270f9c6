// Verdicts in words.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {

// "pass", "fail", "unknown", "skipped"; "pending" for a verdict that is still to come.
absl::string_view OutcomeWord(v1::Outcome outcome);
// The word for a node's outcome: "witness" for one that is not under test.
absl::string_view OutcomeWord(const v1::NodeVerdict& node);
// Whether there is nothing that a person must look at.
bool IsFine(v1::Outcome outcome);
// "tflops median, fp16" for a metric and its variant.
std::string MetricWords(absl::string_view metric, absl::string_view variant);
// A message with validations as a JSON value: a verdict that is still to come is "pending", and a
// witness has none.
nlohmann::ordered_json ValidationToValue(const google::protobuf::Message& message);
// The unit for people: "" for counts, whose unit is "1".
absl::string_view UnitName(absl::string_view unit);
// The same after a number: " Gbit/s".
std::string UnitWords(absl::string_view unit);

}  // namespace muster::cli
