#include "cli/render/validation/validation_words.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/value/proto_value.h"

namespace muster::cli {
namespace {

// Everything below, including the message's own fields.
void NamePending(nlohmann::ordered_json& value) {
  if (value.is_object()) {
    const auto outcome = value.find("outcome");
    if (outcome != value.end() && *outcome == "unspecified") {
      const bool is_witness = value.value("is_witness", false);
      *outcome = is_witness ? nlohmann::ordered_json() : nlohmann::ordered_json("pending");
    }
  }
  if (value.is_structured()) {
    for (nlohmann::ordered_json& below : value) NamePending(below);
  }
}

}  // namespace

absl::string_view OutcomeWord(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_PASS:
      return "pass";
    case v1::OUTCOME_FAIL:
      return "fail";
    case v1::OUTCOME_UNKNOWN:
      return "unknown";
    case v1::OUTCOME_SKIPPED:
      return "skipped";
    default:
      return "pending";
  }
}

absl::string_view OutcomeWord(const v1::NodeVerdict& node) {
  return node.is_witness() ? "witness" : OutcomeWord(node.outcome());
}

bool IsFine(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_PASS || outcome == v1::OUTCOME_SKIPPED;
}

std::string MetricWords(absl::string_view metric, absl::string_view variant) {
  const std::string words = absl::StrReplaceAll(metric, {{"_", " "}});
  return variant.empty() ? words : absl::StrCat(words, ", ", variant);
}

nlohmann::ordered_json ValidationToValue(const google::protobuf::Message& message) {
  nlohmann::ordered_json value = ProtoToValue(message);
  NamePending(value);
  return value;
}

absl::string_view UnitName(absl::string_view unit) { return unit == "1" ? "" : unit; }

std::string UnitWords(absl::string_view unit) {
  const absl::string_view name = UnitName(unit);
  return name.empty() ? "" : absl::StrCat(" ", name);
}

}  // namespace muster::cli
