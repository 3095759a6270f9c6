// Floors from what good hardware has reached.
//
// A GPU counts once, with the least that it reached while it and its node passed: a floor is what
// sound hardware never falls below, and a GPU that was tested every day must not outvote one that
// was tested once. For each population, which is what was measured under the same circumstances
// (circumstances.h): by one engine, with one driver and one power limit, by the same parameters,
//
//   floor = median − max(k · scaled MAD, p · median)
//
// with k and p of the model's file, those by which the fleet judges it: at k = 5 one of 3.5 million
// normally distributed values falls below (Φ(−5) = 2.9e-7). A model has the lowest floor of its
// populations, never above the least that all nodes but the lowest one reached, less kLearnMargin.
//
// No node moves a floor alone: a population is of several nodes, none of them tells more of it than
// all others together, and what only one node reached holds no floor down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/validation/suite/hardware.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// Below the least good value, of it. The least of a few dozen measurements is not the least that
// sound hardware will ever show; our choice, under the 5 % by which superbench's rules let a good
// node differ from its baseline.
inline constexpr double kLearnMargin = 0.02;
// Fewer say too little about what is usual: kMinPeers, or ports of this many nodes.
inline constexpr size_t kMinLearnNodes = 5;
// And of those kMinPeers: with fewer one node would be half of them.
inline constexpr size_t kMinNodesOfPeers = 3;

// A result of a check that passed, on a node that passed.
struct GoodResult {
  absl::string_view node;
  // Files of inventory/hardware are matched with it: of the node's network port; "": not known.
  absl::string_view port;
  absl::string_view suite;
  absl::string_view validation_id;
  absl::Time reported_at;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;
  absl::string_view parameters_digest;  // see circumstances.h
};

// What one population has reached.
struct ReachedValues {
  std::set<uint32_t> subjects;                  // a number for each
  std::map<std::string, double> least_of_node;  // by its name
  double median = 0, mad = 0, worst = 0, best = 0;
  std::string driver;  // "535.261.03"; "": not told
  std::string power_limit;
  std::string engines;  // that measured
};

// What all populations of a model have reached in one metric.
struct LearnedMetric {
  std::string kind, model;  // "gpu", "NVIDIA L4"
  const checks::CheckSpec* check = nullptr;
  const checks::MetricSpec* metric = nullptr;
  std::string variant;
  std::vector<ReachedValues> populations;  // never empty
  std::set<std::string> suites;
  std::string newest_validation;
  absl::Time oldest, newest;
};

// Reads results one by one and keeps one number for each subject and metric. Not thread-safe.
class FloorLearner {
 public:
  // What it keeps at most; agents choose names of subjects and variants.
  static constexpr size_t kMaxSubjects = 200'000;
  static constexpr size_t kMaxSeries = 20'000;

  void Add(const GoodResult& good);

  uint64_t results() const { return results_; }
  size_t nodes() const { return node_numbers_.size(); }
  // Whether something was left out to stay within the bounds.
  bool full() const { return full_; }
  // In the order of model, check and metric; the same results in any order lead to the same.
  std::vector<LearnedMetric> Learned() const;

 private:
  struct Series {
    absl::flat_hash_map<uint32_t, double> least;  // by subject
    double best = 0;
    std::set<std::string> suites;
    std::string newest_validation;
    absl::Time oldest = absl::InfiniteFuture(), newest = absl::InfinitePast();
  };
  struct Population {
    std::string kind, model, driver, power_limit, engines;
  };
  // Population, check, metric, variant.
  struct SeriesKey {
    uint32_t population = 0;
    const checks::CheckSpec* check = nullptr;
    const checks::MetricSpec* metric = nullptr;
    std::string variant;

    bool operator<(const SeriesKey& other) const;
  };

  void AddMetric(const GoodResult& good, const v1::Metric& metric, const std::string& variant,
                 const v1::Subject& subject);
  uint32_t SubjectNumber(const GoodResult& good, const v1::Subject& subject);

  uint64_t results_ = 0;
  bool full_ = false;
  std::map<std::string, uint32_t, std::less<>> node_numbers_;
  std::vector<std::string> node_names_;
  absl::flat_hash_map<std::string, uint32_t> subjects_;
  std::vector<uint32_t> node_of_subject_;
  std::map<std::string, uint32_t> population_numbers_;
  std::vector<Population> populations_;
  std::map<SeriesKey, Series> series_;
};

// What a file of the model should say.
struct FloorProposal {
  double floor = 0;  // rounded down to three digits; 0: none can be told
  size_t subjects = 0, nodes = 0;
  double median = 0, worst = 0, best = 0;  // of all populations that are large enough
  std::string note;                        // why there is no floor
  std::string source;  // "measured on 24 GPUs of 6 nodes, 2026-11, driver 535…"
};
// `min_subjects` 0: kMinPeers subjects of kMinNodesOfPeers nodes, or kMinLearnNodes nodes; else as
// many subjects, of however many nodes. Pure.
FloorProposal ProposeFloor(const LearnedMetric& learned, const RelativeLimit& limit,
                           size_t min_subjects);

}  // namespace muster::controller::validation
