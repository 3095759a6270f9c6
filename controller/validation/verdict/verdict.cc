#include "controller/validation/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/text/counted.h"
#include "controller/validation/verdict/population.h"

namespace muster::controller::validation {
namespace {

int Badness(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_FAIL:
      return 4;
    case v1::OUTCOME_UNKNOWN:
      return 3;
    case v1::OUTCOME_PASS:
      return 2;
    case v1::OUTCOME_SKIPPED:
      return 1;
    default:
      return 0;
  }
}

// Judges one result; used once.
class Judge {
 public:
  Judge(const v1::CheckResult& result, const checks::CheckSpec& spec,
        const Expectation& expectation, const std::map<std::string, std::string>& parameters)
      : result_(result),
        spec_(spec),
        expectation_(expectation),
        parameters_(parameters),
        // The ports of network_interfaces are Ethernet's; limits may be InfiniBand's.
        is_of_other_port_(!expectation.hardware.infiniband_rate.has_value() &&
                          IsOfOtherPort(result, expectation.hardware.network_interfaces)) {
    for (const v1::Subject& subject : result.subjects()) subjects_[subject.id()] = &subject;
  }

  v1::CheckVerdict Run() {
    verdict_.set_check(result_.check());
    verdict_.set_seconds(result_.seconds());
    verdict_.set_reason(result_.reason());
    v1::Outcome outcome = result_.outcome();
    if (outcome == v1::OUTCOME_UNSPECIFIED) {
      outcome = v1::OUTCOME_UNKNOWN;
      verdict_.set_reason("the worker did not report its outcome");
    }
    verdict_.set_outcome(outcome);
    for (const v1::Fault& fault : result_.faults()) AddFault(fault);
    if (outcome == v1::OUTCOME_SKIPPED) {
      JudgeSkipped();
      return std::move(verdict_);
    }
    for (const v1::Metric& metric : result_.metrics()) JudgeMetric(metric);
    // Metrics that a worker did not measure because it broke off are not failures.
    if (outcome != v1::OUTCOME_UNKNOWN) {
      JudgeDevices();
      JudgeMissing();
    }
    for (const v1::Digest& digest : result_.digests()) JudgeGolden(digest);
    return std::move(verdict_);
  }

 private:
  const v1::Subject* Find(const std::string& id) const {
    const auto found = subjects_.find(id);
    return found == subjects_.end() ? nullptr : found->second;
  }

  // The file of a GPU; of a value that belongs to no part, the one that all GPUs of the node share.
  const HardwareModel* GpuFileOf(const v1::Subject* subject) const {
    if (subject != nullptr && subject->kind() == "gpu") return ModelOf(expectation_, *subject);
    if (expectation_.hardware.gpu_model.has_value()) return expectation_.gpu;
    const HardwareModel* shared = nullptr;
    for (const v1::Subject& seen : result_.subjects()) {
      if (seen.kind() != "gpu") continue;
      const HardwareModel* const file = ModelOf(expectation_, seen);
      if (file == nullptr || (shared != nullptr && shared != file)) return nullptr;
      shared = file;
    }
    return shared;
  }

  using Limits = std::vector<const HardwareLimit*>;

  // The limits of the check from the files of GPU and port.
  const Limits& LimitsOf(const v1::Subject* subject) {
    const auto [known, is_new] = limits_.try_emplace(subject);
    Limits& limits = known->second;
    if (!is_new) return limits;
    for (const HardwareModel* model :
         {GpuFileOf(subject), is_of_other_port_ ? nullptr : expectation_.nic}) {
      if (model == nullptr) continue;
      for (const HardwareLimit& limit : model->limits) {
        if (limit.check == spec_.name) limits.push_back(&limit);
      }
    }
    return limits;
  }

  v1::Finding Make(v1::Outcome outcome, const std::string& metric, const std::string& variant,
                   const std::string& subject) const {
    v1::Finding finding;
    finding.set_outcome(outcome);
    finding.set_metric(metric);
    finding.set_variant(variant);
    finding.set_subject(subject);
    if (const v1::Subject* known = Find(subject); known != nullptr) {
      finding.set_slot(known->slot());
    }
    return finding;
  }

  void AddFault(const v1::Fault& fault) {
    v1::Finding finding = Make(v1::OUTCOME_FAIL, fault.code(), "", fault.subject());
    finding.set_source("the check itself");
    finding.set_message(fault.message().empty() ? fault.code() : fault.message());
    AddFinding(std::move(finding), &verdict_);
  }

  // The worker, which knows the same expectations, has reported it already.
  bool HasFault(absl::string_view code, absl::string_view subject) const {
    return std::any_of(
        result_.faults().begin(), result_.faults().end(),
        [&](const v1::Fault& fault) { return fault.code() == code && fault.subject() == subject; });
  }

  bool Measures(absl::string_view kind) const {
    return std::any_of(spec_.metrics.begin(), spec_.metrics.end(),
                       [&](const checks::MetricSpec& metric) { return metric.subject == kind; });
  }

  int Seen(absl::string_view kind) const {
    return static_cast<int>(
        std::count_if(result_.subjects().begin(), result_.subjects().end(),
                      [kind](const v1::Subject& subject) { return subject.kind() == kind; }));
  }

  void JudgeSkipped() {
    const int gpus = expectation_.hardware.gpu_count.value_or(
        expectation_.hardware.gpu_model.has_value() ? 1 : 0);
    const bool any_port = spec_.name == kRdmaPair ? expectation_.hardware.infiniband_ports > 0
                                                  : !expectation_.hardware.Port().empty();
    const int ports = any_port ? 1 : 0;
    // If all devices are there but the check does not apply, for instance for lack of a library, no
    // device is missing.
    if (!(gpus > Seen("gpu") && Measures("gpu")) && !(ports > Seen("nic") && Measures("nic")))
      return;
    v1::Finding finding = Make(v1::OUTCOME_FAIL, "missing_device", "", "");
    finding.set_source("inventory");
    finding.set_message(absl::StrCat("skipped, but the inventory expects ",
                                     expectation_.hardware.Name(), ": ", result_.reason()));
    AddFinding(std::move(finding), &verdict_);
  }

  void JudgeMetric(const v1::Metric& metric) {
    const checks::MetricSpec* const spec = FindMetric(spec_, metric.name());
    if (spec != nullptr && metric.unit() != spec->unit) {
      v1::Finding finding =
          Make(v1::OUTCOME_UNKNOWN, metric.name(), metric.variant(), metric.subject());
      finding.set_unit(metric.unit());
      finding.set_source("catalogue");
      finding.set_message(absl::StrCat(metric.name(), " came in '", metric.unit(), "' instead of '",
                                       std::string(spec->unit),
                                       "': agent and controller have different versions"));
      AddFinding(std::move(finding), &verdict_);
      return;
    }
    if (!std::isfinite(metric.value())) {
      v1::Finding finding =
          Make(v1::OUTCOME_FAIL, metric.name(), metric.variant(), metric.subject());
      finding.set_unit(metric.unit());
      finding.set_source("the check itself");
      finding.set_message(absl::StrCat(metric.name(), " is not a number"));
      AddFinding(std::move(finding), &verdict_);
      return;
    }
    const v1::Subject* const subject = Find(metric.subject());
    for (const HardwareLimit* limit : LimitsOf(subject)) {
      if (!Concerns(*limit, metric)) continue;
      JudgeLimit(metric, limit->floor, limit->ceiling, limit->source);
    }
    // Memory chips may be hotter than the GPU.
    if (metric.unit() == "celsius" && !absl::StartsWith(metric.name(), "memory") &&
        subject != nullptr && subject->kind() == "gpu") {
      JudgeTemperature(metric, *subject);
    }
  }

  bool Concerns(const HardwareLimit& limit, const v1::Metric& metric) const {
    return limit.metric == metric.name() &&
           (limit.variant.empty() || limit.variant == metric.variant());
  }

  void JudgeLimit(const v1::Metric& metric, std::optional<double> floor,
                  std::optional<double> ceiling, const std::string& source) {
    const bool low = floor.has_value() && metric.value() < *floor;
    const bool high = ceiling.has_value() && metric.value() > *ceiling;
    if (!floor.has_value() && !ceiling.has_value()) return;
    v1::Finding finding = Make(low || high ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS, metric.name(),
                               metric.variant(), metric.subject());
    finding.set_value(metric.value());
    finding.set_floor(low || !high ? floor.value_or(*(ceiling ? ceiling : floor)) : *ceiling);
    finding.set_unit(metric.unit());
    finding.set_source(source);
    finding.set_message(absl::StrFormat("%s%s%s is %.6g %s, %s %.6g %s", metric.name(),
                                        metric.variant().empty() ? "" : " of ", metric.variant(),
                                        metric.value(), metric.unit(),
                                        low     ? "below the floor of"
                                        : high  ? "above the ceiling of"
                                        : floor ? "at least"
                                                : "at most",
                                        finding.floor(), metric.unit()));
    AddFinding(std::move(finding), &verdict_);
  }

  void JudgeTemperature(const v1::Metric& metric, const v1::Subject& gpu) {
    const std::optional<SourcedValue> limit =
        TemperatureLimitOf(expectation_, ModelOf(expectation_, gpu));
    if (limit.has_value()) JudgeLimit(metric, std::nullopt, limit->value, limit->source);
  }

  // GPUs that should exist, and no others.
  void JudgeDevices() {
    if (spec_.scope != checks::Scope::kNode || !Measures("gpu")) return;
    int found = 0;
    for (const v1::Subject& subject : result_.subjects()) {
      if (subject.kind() != "gpu") continue;
      ++found;
      const std::optional<std::string>& model = expectation_.hardware.gpu_model;
      if (!model.has_value() || absl::EqualsIgnoreCase(*model, subject.model()) ||
          HasFault("wrong_model", subject.id())) {
        continue;
      }
      v1::Finding finding = Make(v1::OUTCOME_FAIL, "wrong_model", "", subject.id());
      finding.set_source("inventory, gpu_model");
      finding.set_message(
          absl::StrCat("it is '", subject.model(), "', the inventory expects '", *model, "'"));
      AddFinding(std::move(finding), &verdict_);
    }
    const std::optional<int>& count = expectation_.hardware.gpu_count;
    if (!count.has_value() || *count == found || parameters_.count("gpus") > 0 ||
        HasFault("gpu_count", "")) {
      return;
    }
    v1::Finding finding =
        Make(v1::OUTCOME_FAIL, found < *count ? "missing_device" : "unexpected_device", "", "");
    finding.set_value(found);
    finding.set_floor(*count);
    finding.set_unit("1");
    finding.set_source("inventory, gpu_count");
    finding.set_message(absl::StrCat(Counted(found, "GPU"), found == 1 ? " was" : " were",
                                     " tested, the inventory expects ", *count));
    AddFinding(std::move(finding), &verdict_);
  }

  // The metrics that files expect of the node and of each of its parts.
  void JudgeMissing() {
    JudgeMissingOf(nullptr);
    for (const v1::Subject& subject : result_.subjects()) JudgeMissingOf(&subject);
  }

  void JudgeMissingOf(const v1::Subject* subject) {
    // Nothing is measured over a card below a bond alone.
    if (subject != nullptr && !AttributeOf(*subject, "below").empty()) return;
    for (const HardwareLimit* limit : LimitsOf(subject)) {
      const checks::MetricSpec* const spec = FindMetric(spec_, limit->metric);
      if (limit->optional || spec == nullptr) continue;
      if (spec->subject != (subject == nullptr ? absl::string_view() : subject->kind())) continue;
      JudgeMissing(*limit, subject == nullptr ? "" : subject->id());
    }
  }

  void JudgeMissing(const HardwareLimit& limit, const std::string& subject) {
    const bool there = std::any_of(result_.metrics().begin(), result_.metrics().end(),
                                   [&](const v1::Metric& metric) {
                                     return Concerns(limit, metric) && metric.subject() == subject;
                                   });
    if (there) return;
    v1::Finding finding = Make(v1::OUTCOME_FAIL, limit.metric, limit.variant, subject);
    if (limit.floor.has_value()) finding.set_floor(*limit.floor);
    finding.set_unit(limit.unit);
    finding.set_source(limit.source);
    finding.set_message(absl::StrCat(limit.metric, limit.variant.empty() ? "" : " of ",
                                     limit.variant, " was expected but not measured"));
    AddFinding(std::move(finding), &verdict_);
  }

  void JudgeGolden(const v1::Digest& digest) {
    const HardwareModel* const model = GpuFileOf(Find(digest.subject()));
    if (model == nullptr) return;
    for (const GoldenDigest& golden : model->digests) {
      if (golden.name != digest.name() || golden.value == digest.value()) continue;
      v1::Finding finding = Make(v1::OUTCOME_FAIL, "digest", digest.name(), digest.subject());
      finding.set_source(golden.source);
      finding.set_message(absl::StrCat("'", digest.name(), "' has digest ", digest.value(),
                                       ", all GPUs of this model have ", golden.value,
                                       ": it computes incorrectly"));
      AddFinding(std::move(finding), &verdict_);
    }
  }

  const v1::CheckResult& result_;
  const checks::CheckSpec& spec_;
  const Expectation& expectation_;
  const std::map<std::string, std::string>& parameters_;
  const bool is_of_other_port_;  // than the one whose limits are known
  std::map<std::string, const v1::Subject*> subjects_;
  std::map<const v1::Subject*, Limits> limits_;  // nullptr: of values that belong to no part
  v1::CheckVerdict verdict_;
};

}  // namespace

v1::Outcome Worse(v1::Outcome a, v1::Outcome b) { return Badness(a) >= Badness(b) ? a : b; }

void AddFinding(v1::Finding finding, v1::CheckVerdict* verdict) {
  const v1::Outcome outcome = finding.outcome();
  // The first bad finding is the reason, unless the worker gave one; a worse finding replaces it.
  if (Badness(outcome) > Badness(v1::OUTCOME_PASS) &&
      (verdict->reason().empty() || Badness(outcome) > Badness(verdict->outcome()))) {
    std::string reason = finding.message();
    if (!finding.subject().empty()) {
      reason = absl::StrCat(finding.subject(), finding.slot().empty() ? "" : " at ", finding.slot(),
                            ": ", reason);
    }
    verdict->set_reason(std::move(reason));
  }
  verdict->set_outcome(Worse(verdict->outcome(), outcome));
  if (verdict->findings_size() < kMaxFindings) {
    *verdict->add_findings() = std::move(finding);
    return;
  }
  for (v1::Finding& kept : *verdict->mutable_findings()) {
    if (Badness(kept.outcome()) >= Badness(outcome)) continue;
    kept = std::move(finding);
    return;
  }
}

v1::CheckVerdict JudgeCheck(const v1::CheckResult& result, const checks::CheckSpec& spec,
                            const Expectation& expectation,
                            const std::map<std::string, std::string>& parameters) {
  return Judge(result, spec, expectation, parameters).Run();
}

v1::CheckVerdict VerdictWithoutResult(absl::string_view check, v1::Outcome outcome,
                                      absl::string_view reason) {
  v1::CheckVerdict verdict;
  verdict.set_check(std::string(check));
  verdict.set_outcome(outcome);
  verdict.set_reason(std::string(reason));
  return verdict;
}

v1::Outcome OutcomeOf(absl::Span<const v1::CheckVerdict* const> verdicts, bool complete) {
  struct Pairs {
    size_t pass = 0, fail = 0, unknown = 0, excused = 0;
  };
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  std::map<std::pair<std::string, std::string>, Pairs> pairs;
  size_t good_pairs = 0;
  bool excused_group = false;
  for (const v1::CheckVerdict* verdict : verdicts) {
    const bool excused = verdict->excused() && verdict->outcome() == v1::OUTCOME_UNKNOWN;
    if (verdict->partner().empty()) {
      excused_group |= excused;
      if (!excused) outcome = Worse(outcome, verdict->outcome());
      continue;
    }
    Pairs& of = pairs[{verdict->stage(), verdict->check()}];
    of.pass += verdict->outcome() == v1::OUTCOME_PASS;
    of.fail += verdict->outcome() == v1::OUTCOME_FAIL;
    of.excused += excused;
    of.unknown += !excused && (verdict->outcome() == v1::OUTCOME_UNKNOWN ||
                               verdict->outcome() == v1::OUTCOME_UNSPECIFIED);
    good_pairs += verdict->outcome() == v1::OUTCOME_PASS;
  }
  for (const auto& [check, of] : pairs) {
    const bool unproven = of.excused > 0 && of.pass < kMinGoodPairs;
    const v1::Outcome together = of.fail > 0                        ? v1::OUTCOME_FAIL
                                 : unproven || of.unknown > of.pass ? v1::OUTCOME_UNKNOWN
                                 : of.pass > 0                      ? v1::OUTCOME_PASS
                                                                    : v1::OUTCOME_SKIPPED;
    outcome = Worse(outcome, together);
  }
  if (excused_group && good_pairs < kMinGoodPairs) outcome = Worse(outcome, v1::OUTCOME_UNKNOWN);
  if (!complete && Badness(outcome) < Badness(v1::OUTCOME_UNKNOWN)) return v1::OUTCOME_UNKNOWN;
  return outcome;
}

}  // namespace muster::controller::validation
