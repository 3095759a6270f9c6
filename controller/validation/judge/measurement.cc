#include "controller/validation/judge/measurement.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/validation/verdict/population.h"

namespace muster::controller::validation {
namespace {

// Temperatures have no natural zero: a percentage of them means nothing.
constexpr double kLeastDegrees = 10;

}  // namespace

void ForEachHardwareValue(const Measurement& measurement,
                          const std::function<void(const HardwareValue&)>& take) {
  const v1::CheckResult& result = *measurement.result;
  const bool told = result.outcome() == v1::OUTCOME_PASS || result.outcome() == v1::OUTCOME_FAIL;
  if (measurement.spec->scope != checks::Scope::kNode || !told) return;
  absl::flat_hash_map<absl::string_view, const v1::Subject*> subjects;
  for (const v1::Subject& subject : result.subjects()) subjects[subject.id()] = &subject;
  for (const v1::Metric& metric : result.metrics()) {
    const checks::MetricSpec* const spec = FindMetric(*measurement.spec, metric.name());
    if (spec == nullptr || spec->better == checks::Better::kNeither || !IsOfHardware(spec->unit) ||
        metric.unit() != spec->unit || !std::isfinite(metric.value())) {
      continue;
    }
    const auto subject = subjects.find(metric.subject());
    if (subject == subjects.end() && !metric.subject().empty()) continue;
    take({&metric, subject == subjects.end() ? nullptr : subject->second, spec->better});
  }
}

OutlierRule RuleOf(const RelativeLimit& limit, absl::string_view unit) {
  OutlierRule rule;
  rule.deviations = limit.deviations;
  if (unit == "celsius") {
    rule.min_absolute = kLeastDegrees;
  } else {
    rule.min_share = limit.percent / 100;
  }
  return rule;
}

std::string SourceOf(absl::string_view what, const RelativeLimit& limit, const OutlierRule& rule) {
  const std::string least = rule.min_absolute > 0
                                ? absl::StrCat(rule.min_absolute, " degrees")
                                : absl::StrFormat("%.3g %%", 100 * rule.min_share);
  return absl::StrFormat("%s, ± %.3g MAD, at least %s", std::string(what), limit.deviations, least);
}

std::optional<v1::Finding> JudgeAgainst(const MeasuredValue& value, const UsualRange& range,
                                        const std::string& source) {
  const bool low = value.better == checks::Better::kHigher && value.value < range.lower;
  const bool high = value.better == checks::Better::kLower && value.value > range.upper;
  if (!low && !high) return std::nullopt;
  v1::Finding finding;
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric(std::string(value.metric));
  finding.set_variant(std::string(value.variant));
  finding.set_subject(std::string(value.subject));
  finding.set_slot(std::string(value.slot));
  finding.set_value(value.value);
  finding.set_floor(low ? range.lower : range.upper);
  finding.set_unit(std::string(value.unit));
  finding.set_source(source);
  finding.set_message(absl::StrFormat(
      "%s%s%s is %.6g %s, %s the usual range, which ends at %.6g %s (median %.6g)", value.metric,
      value.variant.empty() ? "" : " of ", value.variant, value.value, value.unit,
      low ? "below" : "above", finding.floor(), value.unit, range.median));
  return finding;
}

}  // namespace muster::controller::validation
