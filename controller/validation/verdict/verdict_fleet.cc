// JudgeFleet: compares a result with its peers' and its own earlier ones.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/validation/verdict/circumstances.h"
#include "controller/validation/verdict/population.h"
#include "controller/validation/verdict/statistics.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {
namespace {

// Temperatures have no natural zero: a percentage of them means nothing.
constexpr double kLeastDegrees = 10;
// Fewer earlier results do not make a history.
constexpr size_t kMinEarlier = 5;

// Assigns a small number to each text.
class Interner {
 public:
  uint32_t Of(absl::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<uint32_t>(numbers_.size());
    numbers_.emplace(std::string(text), number);
    return number;
  }

 private:
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

struct PopulationKey {
  uint32_t peers;  // values with equal numbers may be compared
  uint32_t check;  // and its stage
  uint32_t metric;
  uint32_t variant;

  friend bool operator==(const PopulationKey& a, const PopulationKey& b) {
    return a.peers == b.peers && a.check == b.check && a.metric == b.metric &&
           a.variant == b.variant;
  }
  template <typename H>
  friend H AbslHashValue(H h, const PopulationKey& key) {
    return H::combine(std::move(h), key.peers, key.check, key.metric, key.variant);
  }
};

struct Value {
  const JudgedResult* of = nullptr;
  const v1::Metric* metric = nullptr;
  const v1::Subject* subject = nullptr;  // nullptr: the node
  checks::Better better = checks::Better::kNeither;
};

// A part of a result, or the node.
struct Part {
  std::string circumstances;
  uint32_t peers = 0;  // values of equal ones may be compared
};

Part MakePart(const JudgedResult& result, const v1::Subject* subject, Interner& texts) {
  Part part{CircumstancesOf(*result.result, subject)};
  part.peers =
      texts.Of(subject != nullptr ? part.circumstances
                                  : absl::StrCat("node\n", result.expectation->hardware.Name(),
                                                 "\n", part.circumstances));
  return part;
}

const HardwareModel* ModelOf(const Value& value) {
  if (value.subject == nullptr) return nullptr;
  if (value.subject->kind() == "gpu") return value.of->expectation->gpu;
  return value.subject->kind() == "nic" ? value.of->expectation->nic : nullptr;
}

OutlierRule RuleOf(const RelativeLimit& limit, const v1::Metric& metric) {
  OutlierRule rule;
  rule.deviations = limit.deviations;
  if (metric.unit() == "celsius") {
    rule.min_absolute = kLeastDegrees;
  } else {
    rule.min_share = limit.percent / 100;
  }
  return rule;
}

// Adds a finding and returns true when the value is worse than the range, which `source` describes.
bool JudgeAgainst(const Value& value, const UsualRange& range, const std::string& source) {
  const double measured = value.metric->value();
  const bool low = value.better == checks::Better::kHigher && measured < range.lower;
  const bool high = value.better == checks::Better::kLower && measured > range.upper;
  if (!low && !high) return false;
  v1::Finding finding;
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric(value.metric->name());
  finding.set_variant(value.metric->variant());
  finding.set_subject(value.metric->subject());
  if (value.subject != nullptr) finding.set_slot(value.subject->slot());
  finding.set_value(measured);
  finding.set_floor(low ? range.lower : range.upper);
  finding.set_unit(value.metric->unit());
  finding.set_source(source);
  finding.set_message(absl::StrFormat(
      "%s%s%s is %.6g %s, %s the usual range, which ends at %.6g %s (median %.6g)",
      value.metric->name(), value.metric->variant().empty() ? "" : " of ", value.metric->variant(),
      measured, value.metric->unit(), low ? "below" : "above", finding.floor(),
      value.metric->unit(), range.median));
  AddFinding(std::move(finding), value.of->verdict);
  return true;
}

// Whether the value stays the same for years. The temperature of a part follows the seasons, and a
// file system slows down as it fills.
bool IsLasting(const Value& value) {
  return value.metric->unit() != "celsius" &&
         (value.subject == nullptr || value.subject->kind() != "file_system");
}

std::string Source(absl::string_view what, const RelativeLimit& limit, const OutlierRule& rule) {
  const std::string least = rule.min_absolute > 0
                                ? absl::StrCat(rule.min_absolute, " degrees")
                                : absl::StrFormat("%.3g %%", 100 * rule.min_share);
  return absl::StrFormat("%s, ± %.3g MAD, at least %s", std::string(what), limit.deviations, least);
}

std::vector<double> NumbersOf(const std::vector<Value>& values) {
  std::vector<double> numbers;
  numbers.reserve(values.size());
  for (const Value& value : values) numbers.push_back(value.metric->value());
  return numbers;
}

// Compares the values with the usual range of `peers`.
void JudgeAmong(const std::vector<double>& peers, const std::vector<Value>& values) {
  // Peers are of one model, but only the inventory's expectation leads to its file.
  RelativeLimit limit;
  for (const Value& value : values) {
    if (const HardwareModel* model = ModelOf(value)) {
      limit = model->fleet;
      break;
    }
  }
  const OutlierRule rule = RuleOf(limit, *values[0].metric);
  const std::optional<UsualRange> range = FindUsualRange(peers, rule);
  if (!range.has_value()) return;
  const char* const what = values[0].subject == nullptr         ? "nodes"
                           : values[0].subject->kind() == "gpu" ? "GPUs"
                                                                : "ports";
  const std::string source =
      Source(absl::StrCat("median of ", range->values, " ", what), limit, rule);
  for (const Value& value : values) JudgeAgainst(value, *range, source);
}

// A node chooses how many parts it reports. That must not give it more say over the parts of
// others: where the rest are too few for a fleet, the parts of a node are compared with each other.
void JudgePopulation(const std::vector<Value>& values) {
  std::map<absl::string_view, std::vector<Value>> by_node;
  for (const Value& value : values) by_node[value.of->node].push_back(value);
  std::vector<std::vector<double>> tellers;
  for (const auto& [node, of_node] : by_node) tellers.push_back(NumbersOf(of_node));
  const std::vector<double> peers = FairShares(std::move(tellers), 2);
  if (peers.size() >= kMinPeers) return JudgeAmong(peers, values);
  for (const auto& [node, of_node] : by_node) JudgeAmong(NumbersOf(of_node), of_node);
}

void JudgeHistory(const Value& value, const std::string& circumstances,
                  const EarlierValues& earlier) {
  // The temperature of a GPU that began warm reflects what ran before.
  const bool began_warm =
      value.subject != nullptr && !AttributeOf(*value.subject, "warm_at_start_celsius").empty();
  if (began_warm && value.metric->unit() == "celsius") return;
  EarlierQuery query = {value.of->node,
                        value.of->spec->name,
                        value.metric->name(),
                        value.metric->variant(),
                        value.metric->subject(),
                        value.of->parameters_digest,
                        circumstances};
  const std::vector<double> values = earlier(query);
  const HardwareModel* const model = ModelOf(value);
  const RelativeLimit limit = model == nullptr ? RelativeLimit{5, 10} : model->history;
  const OutlierRule rule = RuleOf(limit, *value.metric);
  const std::optional<UsualRange> range = FindUsualRange(values, rule, kMinEarlier);
  if (!range.has_value()) return;
  if (JudgeAgainst(value, *range,
                   Source(absl::StrCat("own history, ", range->values, " results"), limit, rule))) {
    return;
  }
  if (range->values == kMinEarlier || !IsLasting(value)) return;
  query.first = true;
  const std::optional<UsualRange> at_first = FindUsualRange(earlier(query), rule, kMinEarlier);
  if (!at_first.has_value()) return;
  JudgeAgainst(
      value, *at_first,
      Source(absl::StrCat("own history, the first ", at_first->values, " results"), limit, rule));
}

}  // namespace

void JudgeFleet(absl::Span<const JudgedResult> results, const EarlierValues& earlier) {
  Interner texts;
  absl::flat_hash_map<PopulationKey, std::vector<Value>> populations;
  for (const JudgedResult& result : results) {
    const bool told = result.result->outcome() == v1::OUTCOME_PASS ||
                      result.result->outcome() == v1::OUTCOME_FAIL;
    if (result.spec->scope != checks::Scope::kNode || !told) continue;
    const uint32_t check = texts.Of(absl::StrCat("check\n", result.stage, "\n", result.spec->name,
                                                 "\n", std::string(result.parameters_digest)));
    absl::flat_hash_map<absl::string_view, const v1::Subject*> subjects;
    absl::flat_hash_map<const v1::Subject*, Part> parts;
    for (const v1::Subject& subject : result.result->subjects()) {
      subjects[subject.id()] = &subject;
      parts[&subject] = MakePart(result, &subject, texts);
    }
    parts[nullptr] = MakePart(result, nullptr, texts);
    for (const v1::Metric& metric : result.result->metrics()) {
      const checks::MetricSpec* const spec = FindMetric(*result.spec, metric.name());
      if (spec == nullptr || spec->better == checks::Better::kNeither ||
          !IsOfHardware(spec->unit) || metric.unit() != spec->unit ||
          !std::isfinite(metric.value())) {
        continue;
      }
      const auto subject = subjects.find(metric.subject());
      Value value{&result, &metric, subject == subjects.end() ? nullptr : subject->second,
                  spec->better};
      if (value.subject == nullptr && !metric.subject().empty()) continue;
      const bool of_machine = value.subject == nullptr || value.subject->kind() == "file_system";
      if (!of_machine || result.expectation->hardware.SaysWhichMachine()) {
        populations[{parts[value.subject].peers, check, texts.Of(metric.name()),
                     texts.Of(metric.variant())}]
            .push_back(value);
      }
      if (earlier != nullptr) JudgeHistory(value, parts[value.subject].circumstances, earlier);
    }
  }
  // Ordered by the results, so that the same results give the same verdict.
  std::vector<std::pair<const PopulationKey, std::vector<Value>>*> in_order;
  for (auto& population : populations) in_order.push_back(&population);
  std::sort(in_order.begin(), in_order.end(), [](const auto* a, const auto* b) {
    const auto key = [](const PopulationKey& k) {
      return std::make_tuple(k.check, k.peers, k.metric, k.variant);
    };
    return key(a->first) < key(b->first);
  });
  for (const auto* population : in_order) JudgePopulation(population->second);
}

}  // namespace muster::controller::validation
