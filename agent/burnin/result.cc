#include "agent/burnin/result.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::burnin {
namespace {

// For all faults together: a result is one line, of which the agent accepts a MiB, and curves take
// most of it (Curves::kMaxPointsInAll). The messages have the exact counts.
constexpr size_t kMaxEvidenceInAll = 400;
constexpr size_t kMaxEvidenceBytes = 240;  // per text
constexpr absl::string_view kCut = "...";

// Leaves each fault so many texts that every fault gets its share; a fault with fewer keeps all.
void BoundEvidence(std::vector<Fault>& faults) {
  size_t most = CheckResult::kMaxEvidence;
  const auto count = [&faults](size_t of_each) {
    size_t sum = 0;
    for (const Fault& fault : faults) sum += std::min(fault.evidence.size(), of_each);
    return sum;
  };
  while (most > 0 && count(most) > kMaxEvidenceInAll) --most;
  for (Fault& fault : faults) {
    if (fault.evidence.size() > most) fault.evidence.resize(most);
    for (std::string& text : fault.evidence) {
      if (text.size() <= kMaxEvidenceBytes) continue;
      text.resize(kMaxEvidenceBytes - kCut.size());
      absl::StrAppend(&text, kCut);
    }
  }
}

}  // namespace

CheckResult Unknown(std::string reason) {
  CheckResult result;
  result.outcome = Outcome::kUnknown;
  result.reason = std::move(reason);
  return result;
}

CheckResult Skipped(std::string reason) {
  CheckResult result;
  result.outcome = Outcome::kSkipped;
  result.reason = std::move(reason);
  return result;
}

void AddMetric(CheckResult& result, absl::string_view name, absl::string_view variant,
               absl::string_view subject, double value) {
  result.metrics.push_back({.name = std::string(name),
                            .variant = std::string(variant),
                            .subject = std::string(subject),
                            .value = value});
}

void AddFault(CheckResult& result, absl::string_view code, absl::string_view subject,
              std::string message, std::vector<std::string> evidence) {
  result.faults.push_back({.code = std::string(code),
                           .subject = std::string(subject),
                           .message = std::move(message),
                           .evidence = std::move(evidence)});
}

void AddUnknown(CheckResult& result, absl::string_view reason) {
  result.outcome = Outcome::kUnknown;
  absl::StrAppend(&result.reason, result.reason.empty() ? "" : "; ", reason);
}

void FinishResult(const checks::CheckSpec& check, CheckResult& result) {
  std::vector<Metric> metrics = std::exchange(result.metrics, {});
  for (Metric& metric : metrics) {
    const auto spec =
        std::find_if(check.metrics.begin(), check.metrics.end(),
                     [&metric](const checks::MetricSpec& row) { return row.name == metric.name; });
    if (spec == check.metrics.end()) {
      AddUnknown(result, absl::StrCat("the catalogue has no metric '", metric.name, "' of ",
                                      check.name, ": a bug in this version"));
    } else if (!std::isfinite(metric.value)) {
      AddUnknown(result, absl::StrCat(metric.name, " is not a number"));
    } else {
      metric.unit = std::string(spec->unit);
      result.metrics.push_back(std::move(metric));
    }
  }
  BoundEvidence(result.faults);
  if (!result.faults.empty()) {
    result.outcome = Outcome::kFail;
    const std::string unknown = std::exchange(result.reason, result.faults.front().message);
    if (result.faults.size() > 1)
      absl::StrAppend(&result.reason, " (and ", result.faults.size() - 1, " more)");
    if (!unknown.empty()) absl::StrAppend(&result.reason, "; ", unknown);
  } else if (result.outcome != Outcome::kPass && result.reason.empty()) {
    result.reason = absl::StrCat(check.name, " did not report a reason");
  }
}

}  // namespace muster::burnin
