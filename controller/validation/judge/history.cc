#include "controller/validation/judge/history.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/validation/verdict/circumstances.h"
#include "controller/validation/verdict/population.h"

namespace muster::controller::validation {
namespace {

// Fewer earlier results do not make a history.
constexpr size_t kMinEarlier = 5;
constexpr absl::string_view kGpu = "gpu";

// Whether the value stays the same for years. The temperature of a part follows the seasons, and a
// file system slows down as it fills.
bool IsLasting(const HardwareValue& value) {
  return value.metric->unit() != "celsius" &&
         (value.subject == nullptr || value.subject->kind() != "file_system");
}

MeasuredValue Describe(const HardwareValue& value) {
  return {value.metric->name(),
          value.metric->variant(),
          value.metric->unit(),
          value.metric->subject(),
          value.subject == nullptr ? absl::string_view() : value.subject->slot(),
          value.better,
          value.metric->value()};
}

// Judges one value.
std::optional<v1::Finding> JudgeValue(const Measurement& measurement, const HardwareValue& value,
                                      const std::string& circumstances, const History& history) {
  // The temperature of a GPU that began warm reflects what ran before.
  const bool began_warm =
      value.subject != nullptr && !AttributeOf(*value.subject, "warm_at_start_celsius").empty();
  if (began_warm && value.metric->unit() == "celsius") return std::nullopt;
  EarlierQuery query = {measurement.node,
                        measurement.spec->name,
                        value.metric->name(),
                        value.metric->variant(),
                        value.metric->subject(),
                        measurement.parameters_digest,
                        circumstances};
  const HardwareModel* const model =
      value.subject == nullptr ? nullptr : ModelOf(*measurement.expectation, *value.subject);
  const RelativeLimit limit = model == nullptr ? RelativeLimit{5, 10} : model->history;
  const OutlierRule rule = RuleOf(limit, value.metric->unit());
  const std::optional<UsualRange> range = FindUsualRange(history.values(query), rule, kMinEarlier);
  if (!range.has_value()) return std::nullopt;
  std::optional<v1::Finding> finding =
      JudgeAgainst(Describe(value), *range,
                   SourceOf(absl::StrCat("own history, ", range->values, " results"), limit, rule));
  if (finding.has_value() || range->values == kMinEarlier || !IsLasting(value)) return finding;
  query.first = true;
  const std::optional<UsualRange> at_first =
      FindUsualRange(history.values(query), rule, kMinEarlier);
  if (!at_first.has_value()) return std::nullopt;
  return JudgeAgainst(
      Describe(value), *at_first,
      SourceOf(absl::StrCat("own history, the first ", at_first->values, " results"), limit, rule));
}

bool MissesDevices(const v1::CheckVerdict& verdict) {
  const auto& findings = verdict.findings();
  return std::any_of(findings.begin(), findings.end(), [](const v1::Finding& finding) {
    // A GPU that does not even report its uuid is lost without a subject.
    return finding.metric() == "gpu_count" || finding.metric() == "missing_device" ||
           (finding.metric() == "gpu_lost" && finding.subject().empty());
  });
}

v1::Finding Gone(const v1::Subject& device, absl::Time seen) {
  v1::Finding finding;
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric("device_gone");
  finding.set_subject(device.id());
  finding.set_slot(device.slot());
  finding.set_source(absl::FormatTime("pass of %Y-%m-%d %H:%M UTC", seen, absl::UTCTimeZone()));
  const auto serial = device.attributes().find("serial");
  finding.set_message(absl::StrCat(
      "it passed then and is no longer visible",
      serial == device.attributes().end() ? "" : absl::StrCat(" (serial ", serial->second, ")"),
      ": look for its slot in lspci and in the kernel's log"));
  return finding;
}

// A check that found fewer GPUs than expected knows only how many are missing.
void NameGoneDevices(const Measurement& measurement, const History& history,
                     v1::CheckVerdict& verdict) {
  if (measurement.spec->scope != checks::Scope::kNode || !MissesDevices(verdict)) return;
  const EarlierPass earlier = history.newest(measurement);
  if (earlier.result == nullptr) return;
  std::set<absl::string_view> seen;
  for (const v1::Subject& subject : measurement.result->subjects()) seen.insert(subject.id());
  for (const v1::Subject& subject : earlier.result->subjects()) {
    if (subject.kind() != kGpu || seen.count(subject.id()) > 0) continue;
    AddFinding(Gone(subject, earlier.reported_at), &verdict);
  }
}

}  // namespace

void JudgeHistory(const Measurement& measurement, const History& history,
                  v1::CheckVerdict& verdict) {
  std::map<const v1::Subject*, std::string> circumstances;
  ForEachHardwareValue(measurement, [&](const HardwareValue& value) {
    const auto [own, is_new] = circumstances.try_emplace(value.subject);
    if (is_new) own->second = CircumstancesOf(*measurement.result, value.subject);
    std::optional<v1::Finding> finding = JudgeValue(measurement, value, own->second, history);
    if (finding.has_value()) AddFinding(*std::move(finding), &verdict);
  });
  NameGoneDevices(measurement, history, verdict);
}

}  // namespace muster::controller::validation
