// Learns floors from the values that good hardware has reached.
//
// A GPU counts once, with the lowest value that it reached while it and its node passed: a floor is
// a value that sound hardware never falls below, and a GPU that was tested every day must not
// outvote one that was tested once. For each population, which is everything measured under the
// same circumstances (circumstances.h): by one engine, with one driver and one power limit, with
// the same parameters,
//
//   floor = median − max(k · scaled MAD, p · median)
//
// where k and p are those of the model's file, by which the fleet is also judged. With k = 5, one
// of 3.5 million normally distributed values falls below (Φ(−5) = 2.9e-7). A model has the lowest
// floor of its populations, but never above the lowest value that all nodes except the lowest one
// reached, less kLearnMargin.
//
// No node moves a floor alone: a population has several nodes, none of them contributes more than
// all others together, and a value that only one node reached does not hold a floor down.
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

// The distance below the lowest good value, as a share of it. The minimum of a few dozen
// measurements is not the minimum that sound hardware will ever show; the value is our choice,
// below the 5 % by which superbench's rules let a good node differ from its baseline.
inline constexpr double kLearnMargin = 0.02;
// With fewer, there is too little to say what is usual: kMinPeers parts, or ports of this many
// nodes.
inline constexpr size_t kMinLearnNodes = 5;
// The least number of nodes that kMinPeers parts must come from: with fewer, one node would be half
// of them.
inline constexpr size_t kMinNodesOfPeers = 3;

// A result of a check that passed, on a node that passed.
struct GoodResult {
  absl::string_view node;
  // The name of the node's network port, by which files of inventory/hardware are matched; "": not
  // known.
  absl::string_view port;
  absl::string_view suite;
  absl::string_view validation_id;
  absl::Time reported_at;
  const checks::CheckSpec* spec = nullptr;
  const v1::CheckResult* result = nullptr;
  absl::string_view parameters_digest;  // see circumstances.h
};

// The values that one population has reached.
struct ReachedValues {
  std::set<uint32_t> subjects;                  // a number for each
  std::map<std::string, double> least_of_node;  // by its name
  double median = 0, mad = 0, worst = 0, best = 0;
  std::string driver;  // "535.261.03"; "": not reported
  std::string power_limit;
  std::string engines;  // engines that measured
};

// The values that all populations of a model have reached in one metric.
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
  // Limits on what it keeps; agents choose the names of subjects and variants.
  static constexpr size_t kMaxSubjects = 200'000;
  static constexpr size_t kMaxSeries = 20'000;

  void Add(const GoodResult& good);

  uint64_t results() const { return results_; }
  size_t nodes() const { return node_numbers_.size(); }
  // Whether something was left out to stay within the limits.
  bool full() const { return full_; }
  // Ordered by model, check and metric; does not depend on the order of the results.
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

// A proposal for a file of the model.
struct FloorProposal {
  double floor = 0;  // rounded down to three digits; 0: none can be given
  size_t subjects = 0, nodes = 0;
  double median = 0, worst = 0, best = 0;  // over all populations that are large enough
  std::string note;                        // why there is no floor
  std::string source;  // "measured on 24 GPUs of 6 nodes, 2026-11, driver 535…"
};
// `min_subjects` 0: kMinPeers subjects of kMinNodesOfPeers nodes, or kMinLearnNodes nodes;
// otherwise that many subjects, of any number of nodes. Pure.
FloorProposal ProposeFloor(const LearnedMetric& learned, const RelativeLimit& limit,
                           size_t min_subjects);

}  // namespace muster::controller::validation
