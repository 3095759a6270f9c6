#include "controller/validation/judge/fleet_comparison.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "controller/validation/verdict/circumstances.h"
#include "controller/validation/verdict/statistics.h"

namespace muster::controller::validation {
namespace {

// Of a fleet: with fewer tellers one of them could move what is usual.
constexpr size_t kLeastTellers = 2;

absl::string_view KindOf(const v1::Subject* subject) {
  return subject == nullptr ? absl::string_view() : absl::string_view(subject->kind());
}

// Nothing in a result says which model a disk is: only equal machines have equal disks.
bool IsOfMachine(const v1::Subject* subject) {
  return subject == nullptr || subject->kind() == "file_system";
}

// What the inventory says about the machine around a part: slots and processors of another model
// make the same card faster or slower, and a port runs at the speed that its network gives it.
std::string SurroundingsOf(const v1::Subject* subject, const HardwareClass& hardware) {
  if (IsOfMachine(subject)) return absl::StrCat("node\n", hardware.Name());
  return absl::StrCat(hardware.node_model.value_or(""), "\n",
                      KindOf(subject) == "nic" ? hardware.Port() : "");
}

const char* PartsOf(absl::string_view kind) {
  if (kind.empty()) return "nodes";
  if (kind == "file_system") return "file systems";
  return kind == "gpu" ? "GPUs" : "ports";
}

}  // namespace

uint32_t FleetComparison::Texts::NumberOf(absl::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.push_back(&numbers_.emplace(std::string(text), number).first->first);
  return number;
}

void FleetComparison::Add(uint32_t check, const Measurement& measurement) {
  struct Part {
    uint32_t peers, subject, slot;
  };
  std::map<const v1::Subject*, Part> parts;
  const auto make_part = [&](const v1::Subject* subject) -> Part {
    const std::string peers =
        absl::StrCat(SurroundingsOf(subject, measurement.expectation->hardware), "\n",
                     CircumstancesOf(*measurement.result, subject));
    return {texts_.NumberOf(peers), texts_.NumberOf(subject == nullptr ? "" : subject->id()),
            texts_.NumberOf(subject == nullptr ? "" : subject->slot())};
  };
  const uint32_t node = texts_.NumberOf(measurement.node);
  const uint32_t of_suite = texts_.NumberOf(absl::StrCat(
      measurement.stage, "\n", measurement.spec->name, "\n", measurement.parameters_digest));
  ForEachHardwareValue(measurement, [&](const HardwareValue& value) {
    const absl::string_view kind = KindOf(value.subject);
    if (IsOfMachine(value.subject) && !measurement.expectation->hardware.SaysWhichMachine()) return;
    const auto [part, is_new] = parts.try_emplace(value.subject);
    if (is_new) part->second = make_part(value.subject);
    Population& population =
        populations_[{of_suite, part->second.peers, texts_.NumberOf(value.metric->name()),
                      texts_.NumberOf(value.metric->variant())}];
    if (population.values.empty()) {
      population.unit = value.metric->unit();
      population.better = value.better;
      population.parts = PartsOf(kind);
    }
    // Peers are of one model, but the node's inventory may lead to another file, or to none.
    if (population.model == nullptr && value.subject != nullptr) {
      population.model = ModelOf(*measurement.expectation, *value.subject);
    }
    population.values.push_back(
        {check, node, part->second.subject, part->second.slot, value.metric->value()});
  });
}

void FleetComparison::JudgeAmong(const Key& key, const Population& population,
                                 const std::vector<double>& peers, absl::Span<const Value> values,
                                 std::vector<ComparedFinding>& found) const {
  const RelativeLimit limit =
      population.model == nullptr ? RelativeLimit() : population.model->fleet;
  const OutlierRule rule = RuleOf(limit, population.unit);
  const std::optional<UsualRange> range = FindUsualRange(peers, rule);
  if (!range.has_value()) return;
  const std::string source =
      SourceOf(absl::StrCat("median of ", range->values, " ", population.parts), limit, rule);
  for (const Value& value : values) {
    std::optional<v1::Finding> finding =
        JudgeAgainst({texts_[key.metric], texts_[key.variant], population.unit,
                      texts_[value.subject], texts_[value.slot], population.better, value.value},
                     *range, source);
    if (finding.has_value()) found.push_back({value.check, *std::move(finding)});
  }
}

// A node chooses how many parts it reports. That must not give it more say over the parts of
// others: where the rest are too few for a fleet, the parts of a node are compared with each other.
void FleetComparison::JudgePopulation(const Key& key, const Population& population,
                                      std::vector<ComparedFinding>& found) const {
  std::vector<Value> values = population.values;
  std::stable_sort(values.begin(), values.end(),
                   [](const Value& a, const Value& b) { return a.node < b.node; });
  std::vector<absl::Span<const Value>> by_node;
  std::vector<std::vector<double>> tellers;
  for (size_t begin = 0, end = 0; begin < values.size(); begin = end) {
    std::vector<double> told;
    for (; end < values.size() && values[end].node == values[begin].node; ++end) {
      told.push_back(values[end].value);
    }
    by_node.push_back(absl::MakeConstSpan(values).subspan(begin, end - begin));
    tellers.push_back(std::move(told));
  }
  const std::vector<double> peers = FairShares(tellers, kLeastTellers);
  if (peers.size() >= kMinPeers) return JudgeAmong(key, population, peers, values, found);
  for (size_t i = 0; i < by_node.size(); ++i) {
    JudgeAmong(key, population, tellers[i], by_node[i], found);
  }
}

std::vector<ComparedFinding> FleetComparison::Judge() const {
  std::vector<const std::pair<const Key, Population>*> in_order;
  for (const auto& population : populations_) in_order.push_back(&population);
  const auto texts = [&](const Key& key) {
    return std::tie(texts_[key.check], texts_[key.peers], texts_[key.metric], texts_[key.variant]);
  };
  std::sort(in_order.begin(), in_order.end(),
            [&](const auto* a, const auto* b) { return texts(a->first) < texts(b->first); });
  std::vector<ComparedFinding> found;
  for (const auto* population : in_order) {
    JudgePopulation(population->first, population->second, found);
  }
  return found;
}

}  // namespace muster::controller::validation
