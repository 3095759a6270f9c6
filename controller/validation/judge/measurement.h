// A result as comparisons see it, and the values in it that belong to the hardware. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/validation/verdict/statistics.h"
#include "controller/validation/verdict/verdict.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// What one check of one node measured. All pointees must outlive its use.
struct Measurement {
  absl::string_view node;
  absl::string_view stage;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;
  const Expectation* expectation = nullptr;
  absl::string_view parameters_digest;  // see circumstances.h
};

// A finding that only shows in comparison, about the check that was added with this number.
struct ComparedFinding {
  uint32_t check = 0;
  v1::Finding finding;
};

// A value that may be compared: a rate or a temperature.
struct HardwareValue {
  const v1::Metric* metric = nullptr;
  const v1::Subject* subject = nullptr;  // nullptr: the node
  checks::Better better = checks::Better::kNeither;
};

// The values of a check on a single node that could tell its outcome. Counts are judged by their
// ceilings, pairs by blame.h.
void ForEachHardwareValue(const Measurement& measurement,
                          const std::function<void(const HardwareValue&)>& take);

OutlierRule RuleOf(const RelativeLimit& limit, absl::string_view unit);

// Where a usual range comes from: "median of 8 GPUs, ± 5 MAD, at least 5 %".
std::string SourceOf(absl::string_view what, const RelativeLimit& limit, const OutlierRule& rule);

// One value and what a finding says about it.
struct MeasuredValue {
  absl::string_view metric, variant, unit, subject, slot;
  checks::Better better = checks::Better::kNeither;
  double value = 0;
};

// A fail when the value is worse than the range, which `source` describes; nullopt: it is not.
std::optional<v1::Finding> JudgeAgainst(const MeasuredValue& value, const UsualRange& range,
                                        const std::string& source);

}  // namespace muster::controller::validation
