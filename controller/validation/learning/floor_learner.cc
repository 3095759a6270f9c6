#include "controller/validation/learning/floor_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/text/counted.h"
#include "controller/validation/verdict/circumstances.h"
#include "controller/validation/verdict/population.h"
#include "controller/validation/verdict/statistics.h"

namespace muster::controller::validation {
namespace {

constexpr size_t kMaxName = 200;  // of models and variants that agents name
constexpr size_t kMaxSuites = 5;  // named in a source
constexpr int kDigits = 3;

// Rounds down to three digits: 49.17 → 49.1.
double RoundDown(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(value)) - (kDigits - 1));
  // Through text, so that 29.200000000000003 is never written.
  double rounded = 0;
  const std::string text = absl::StrFormat("%.*g", kDigits, std::floor(value / unit) * unit);
  if (!absl::SimpleAtod(text, &rounded)) return 0;
  return rounded;
}

// Excludes what a link says about itself, such as its speed in Mbit/s or that of a PCIe lane in
// GT/s.
bool IsMeasuredRate(absl::string_view unit) {
  return IsOfHardware(unit) && unit != "celsius" && unit != "Mbit/s" && unit != "GT/s";
}

std::string Months(absl::Time oldest, absl::Time newest) {
  const std::string first = absl::FormatTime("%Y-%m", oldest, absl::UTCTimeZone());
  const std::string last = absl::FormatTime("%Y-%m", newest, absl::UTCTimeZone());
  return first == last ? first : absl::StrCat(first, " to ", last);
}

// "24 GPUs of 6 nodes".
std::string WhoWasMeasured(const std::string& kind, size_t subjects, size_t nodes) {
  return absl::StrCat(Counted(subjects, kind == "gpu" ? "GPU" : "port"), " of ",
                      Counted(nodes, "node"));
}

bool IsEnough(const ReachedValues& values, size_t min_subjects) {
  if (min_subjects > 0) return values.subjects.size() >= min_subjects;
  return (values.subjects.size() >= kMinPeers && values.least_of_node.size() >= kMinNodesOfPeers) ||
         values.least_of_node.size() >= kMinLearnNodes;
}

// The lowest value of some node, and the lowest of all others.
struct LeastOfNodes {
  std::string node;
  double least = std::numeric_limits<double>::infinity();
  double of_others = std::numeric_limits<double>::infinity();
};

LeastOfNodes LeastOf(const LearnedMetric& learned) {
  std::map<std::string, double> by_node;
  for (const ReachedValues& values : learned.populations) {
    for (const auto& [node, least] : values.least_of_node) {
      double& known = by_node.try_emplace(node, least).first->second;
      known = std::min(known, least);
    }
  }
  LeastOfNodes found;
  for (const auto& [node, least] : by_node) {
    if (least < found.least) {
      found.of_others = found.least;
      found.least = least;
      found.node = node;
    } else {
      found.of_others = std::min(found.of_others, least);
    }
  }
  return found;
}

}  // namespace

bool FloorLearner::SeriesKey::operator<(const SeriesKey& other) const {
  return std::tie(population, check->name, metric->name, variant) <
         std::tie(other.population, other.check->name, other.metric->name, other.variant);
}

uint32_t FloorLearner::SubjectNumber(const GoodResult& good, const v1::Subject& subject) {
  const auto [known, is_new] = node_numbers_.try_emplace(
      std::string(good.node), static_cast<uint32_t>(node_numbers_.size()));
  if (is_new) node_names_.push_back(known->first);
  const uint32_t node = known->second;
  // A GPU is identified by its uuid wherever it is; a port belongs to the node.
  const std::string name = subject.kind() == "gpu"
                               ? subject.id()
                               : absl::StrCat(std::string(good.node), "\n", subject.id());
  const auto [found, added] =
      subjects_.try_emplace(name, static_cast<uint32_t>(node_of_subject_.size()));
  if (added) node_of_subject_.push_back(node);
  return found->second;
}

void FloorLearner::Add(const GoodResult& good) {
  ++results_;
  std::map<absl::string_view, const v1::Subject*> subjects;
  for (const v1::Subject& subject : good.result->subjects()) subjects[subject.id()] = &subject;
  for (const v1::Metric& metric : good.result->metrics()) {
    const auto subject = subjects.find(metric.subject());
    if (subject == subjects.end()) continue;
    // For a copy between two GPUs, the variant is the other GPU; the floor applies to all of them.
    const bool is_partner = subjects.count(metric.variant()) > 0;
    AddMetric(good, metric, is_partner ? "" : metric.variant(), *subject->second);
  }
}

void FloorLearner::AddMetric(const GoodResult& good, const v1::Metric& metric,
                             const std::string& variant, const v1::Subject& subject) {
  const checks::MetricSpec* const spec = FindMetric(*good.spec, metric.name());
  if (spec == nullptr || spec->better != checks::Better::kHigher || !IsMeasuredRate(spec->unit) ||
      spec->subject != subject.kind() || metric.unit() != spec->unit ||
      !std::isfinite(metric.value()) || metric.value() <= 0) {
    return;
  }
  const bool is_gpu = subject.kind() == "gpu";
  const std::string model = is_gpu ? subject.model() : std::string(good.port);
  if (model.empty() || model.size() > kMaxName || variant.size() > kMaxName ||
      (!is_gpu && subject.kind() != "nic")) {
    return;
  }
  std::string name = absl::StrCat(model, "\n", std::string(good.parameters_digest), "\n",
                                  CircumstancesOf(*good.result, &subject));
  if (!is_gpu) absl::StrAppend(&name, "\n", AttributeOf(subject, "mtu"));
  const auto [number, added] =
      population_numbers_.try_emplace(std::move(name), static_cast<uint32_t>(populations_.size()));
  if (added) {
    populations_.push_back({subject.kind(), model, AttributeOf(subject, "driver_version"),
                            AttributeOf(subject, "power_limit_watts"), EnginesOf(*good.result)});
  }
  const SeriesKey key{number->second, good.spec, spec, variant};
  auto found = series_.find(key);
  if (found == series_.end()) {
    if (series_.size() >= kMaxSeries) {
      full_ = true;
      return;
    }
    found = series_.emplace(key, Series()).first;
  }
  if (node_of_subject_.size() >= kMaxSubjects) {
    full_ = true;
    return;
  }
  Series& series = found->second;
  const auto [least, is_new] =
      series.least.try_emplace(SubjectNumber(good, subject), metric.value());
  if (!is_new) least->second = std::min(least->second, metric.value());
  series.best = std::max(series.best, metric.value());
  series.oldest = std::min(series.oldest, good.reported_at);
  if (good.reported_at >= series.newest) {
    series.newest = good.reported_at;
    series.newest_validation = std::string(good.validation_id);
  }
  if (series.suites.size() < kMaxSuites) series.suites.insert(std::string(good.suite));
}

std::vector<LearnedMetric> FloorLearner::Learned() const {
  using Key = std::tuple<std::string, std::string, absl::string_view, absl::string_view,
                         std::string>;  // kind, model, check, metric, variant
  std::map<Key, LearnedMetric> learned;
  for (const auto& [key, series] : series_) {
    const Population& population = populations_[key.population];
    LearnedMetric& metric = learned[{population.kind, population.model, key.check->name,
                                     key.metric->name, key.variant}];
    if (metric.check == nullptr) {
      metric.kind = population.kind;
      metric.model = population.model;
      metric.check = key.check;
      metric.metric = key.metric;
      metric.variant = key.variant;
      metric.oldest = absl::InfiniteFuture();
      metric.newest = absl::InfinitePast();
    }
    ReachedValues reached;
    std::map<uint32_t, std::vector<double>> by_node;
    for (const auto& [subject, value] : series.least) {
      const uint32_t node = node_of_subject_[subject];
      by_node[node].push_back(value);
      reached.subjects.insert(subject);
    }
    std::vector<std::vector<double>> tellers;
    for (auto& [node, values] : by_node) {
      reached.least_of_node[node_names_[node]] = *std::min_element(values.begin(), values.end());
      tellers.push_back(std::move(values));
    }
    const std::vector<double> values = FairShares(std::move(tellers), kMinNodesOfPeers);
    reached.median = Median(values);
    reached.mad = ScaledMad(values, reached.median);
    reached.worst =
        std::min_element(reached.least_of_node.begin(), reached.least_of_node.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; })
            ->second;
    reached.best = series.best;
    reached.driver = population.driver;
    reached.power_limit = population.power_limit;
    reached.engines = population.engines;
    metric.populations.push_back(std::move(reached));
    metric.suites.insert(series.suites.begin(), series.suites.end());
    metric.oldest = std::min(metric.oldest, series.oldest);
    if (series.newest >= metric.newest) {
      metric.newest = series.newest;
      metric.newest_validation = series.newest_validation;
    }
  }
  std::vector<LearnedMetric> all;
  for (auto& [key, metric] : learned) {
    std::sort(metric.populations.begin(), metric.populations.end(),
              [](const ReachedValues& a, const ReachedValues& b) {
                const size_t a_size = a.subjects.size(), b_size = b.subjects.size();
                return std::tie(b_size, a.driver, a.power_limit, a.engines, a.worst) <
                       std::tie(a_size, b.driver, b.power_limit, b.engines, b.worst);
              });
    all.push_back(std::move(metric));
  }
  return all;
}

FloorProposal ProposeFloor(const LearnedMetric& learned, const RelativeLimit& limit,
                           size_t min_subjects) {
  FloorProposal proposal;
  double floor = 0;
  size_t counted = 0;
  std::set<std::string> drivers, powers, engines, nodes;
  std::set<uint32_t> subjects;  // one may have had several drivers
  for (const ReachedValues& values : learned.populations) {
    proposal.best = std::max(proposal.best, values.best);
    proposal.worst = proposal.worst == 0 ? values.worst : std::min(proposal.worst, values.worst);
    if (!IsEnough(values, min_subjects)) continue;
    const double width =
        std::max(limit.deviations * values.mad, limit.percent / 100 * values.median);
    const double of_these = std::max(values.median - width, 0.0);
    if (counted == 0 || of_these < floor) {
      floor = of_these;
      proposal.median = values.median;
    }
    ++counted;
    subjects.insert(values.subjects.begin(), values.subjects.end());
    for (const auto& [node, least] : values.least_of_node) nodes.insert(node);
    if (!values.driver.empty()) drivers.insert(values.driver);
    if (!values.engines.empty()) engines.insert(values.engines);
    if (!values.power_limit.empty()) powers.insert(absl::StrCat(values.power_limit, " W"));
  }
  if (counted == 0) {
    const ReachedValues& largest =
        *std::max_element(learned.populations.begin(), learned.populations.end(),
                          [](const ReachedValues& a, const ReachedValues& b) {
                            return a.subjects.size() < b.subjects.size();
                          });
    proposal.subjects = largest.subjects.size();
    proposal.nodes = largest.least_of_node.size();
    proposal.median = largest.median;
    proposal.note = absl::StrCat(
        "too few with the same driver, firmware, power limit, engine and parameters: ",
        WhoWasMeasured(learned.kind, proposal.subjects, proposal.nodes), "; ",
        min_subjects > 0 ? absl::StrCat(min_subjects, " are needed")
                         : absl::StrCat(kMinPeers, " of ", kMinNodesOfPeers, " nodes, or ",
                                        kMinLearnNodes, " nodes, are needed"));
    return proposal;
  }
  proposal.subjects = subjects.size();
  proposal.nodes = nodes.size();
  const LeastOfNodes least = LeastOf(learned);
  proposal.floor = RoundDown(std::min(floor, least.of_others * (1 - kLearnMargin)));
  if (!(proposal.floor > 0)) {
    proposal.note =
        absl::StrFormat("the values differ too much for a floor: median %.4g, least %.4g",
                        proposal.median, proposal.worst);
    return proposal;
  }
  proposal.source = absl::StrCat(
      "measured on ", WhoWasMeasured(learned.kind, proposal.subjects, proposal.nodes), ", ",
      Months(learned.oldest, learned.newest),
      drivers.empty() ? "" : absl::StrCat(", driver ", absl::StrJoin(drivers, " and ")),
      powers.empty() ? "" : absl::StrCat(", ", absl::StrJoin(powers, " and ")),
      engines.empty() ? "" : absl::StrCat(", ", absl::StrJoin(engines, " and ")), ", suite ",
      absl::StrJoin(learned.suites, " and "), " up to ", learned.newest_validation,
      absl::StrFormat(": median %.4g, least %.4g", proposal.median, proposal.worst),
      least.least < proposal.floor ? absl::StrCat(", which ", least.node, " alone reached") : "");
  return proposal;
}

}  // namespace muster::controller::validation
