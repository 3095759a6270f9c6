// Deciding about a whole cluster: the pairing of nodes, and the verdicts on their measurements in
// the suite acceptance, as they come and at the end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "bench/validation_fleet.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/earlier_results.h"
#include "controller/validation/engine/validation_end.h"
#include "controller/validation/judge/comparisons.h"
#include "controller/validation/judge/history.h"
#include "controller/validation/judge/judge_validation.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::controller::validation {
namespace {

constexpr uint32_t kCounts[] = {100, 1000, 10000};
// A larger store does not fit into the time and memory of a benchmark.
constexpr uint32_t kMostWithEarlier = 1000;
constexpr int kEarlier = 12;
constexpr size_t kLeastEarlier = 5;  // that a value is compared with
constexpr double kTargetMs = 2000;

// What a validation knows about its results before its end.
struct Collected {
  explicit Collected(const Fleet& fleet) : comparisons(fleet.nodes) {
    checks.reserve(fleet.rows.size());
  }

  std::vector<EndedCheck> checks;  // of the rows
  Comparisons comparisons;
};

Measurement MeasurementOf(const Fleet& fleet, const FleetRow& row) {
  return {row.part.node, row.stage->name,    row.check->spec,
          &row.result,   &fleet.expectation, row.parameters_digest};
}

// As when the results come, one by one.
std::unique_ptr<Collected> Collect(Fleet& fleet) {
  auto collected = std::make_unique<Collected>(fleet);
  for (FleetRow& row : fleet.rows) {
    v1::CheckVerdict verdict = JudgeResult(MeasurementOf(fleet, row), *row.check, nullptr);
    verdict.set_stage(row.stage->name);
    verdict.set_partner(std::string(row.part.Partner()));
    row.part.outcome = ToPartOutcome(verdict.outcome());
    collected->checks.push_back({&row.part, row.check, row.stage->name, std::move(verdict)});
    collected->comparisons.Add({&row.part, row.stage->name, row.check, row.parameters_digest,
                                &fleet.expectation, &collected->checks.back().verdict,
                                &row.result});
  }
  return collected;
}

EndedValidation EndedOf(const Fleet& fleet) {
  EndedValidation ended;
  ended.suite = fleet.suite.name;
  for (const MatrixNode& node : fleet.nodes) {
    ended.nodes.push_back(
        {node.name, absl::StrCat("u-", node.name), false, FoundHardware(), FoundHardware()});
  }
  return ended;
}

// Holds one cluster at a time: the biggest takes gigabytes.
class Clusters {
 public:
  Fleet& Of(uint32_t count) {
    if (count_ == count) return *fleet_;
    fleet_.reset();
    absl::StatusOr<std::unique_ptr<Fleet>> made = MakeFleet(count);
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", std::string(made.status().message()).c_str());
      std::exit(1);
    }
    fleet_ = *std::move(made);
    count_ = count;
    size_t values = 0;
    for (const FleetRow& row : fleet_->rows) values += row.result.metrics_size();
    absl::PrintF("%d nodes: %d results, %d values\n", count, fleet_->rows.size(), values);
    return *fleet_;
  }

 private:
  uint32_t count_ = 0;
  std::unique_ptr<Fleet> fleet_;
};

void Schedule(benchmark::State& state, Fleet& fleet) {
  for (auto _ : state) {
    const std::vector<PairRound> rounds = SchedulePairs(fleet.places, fleet.rounds);
    if (rounds.size() != std::min(fleet.rounds, FullRounds(fleet.places.size()))) {
      state.SkipWithError("rounds are missing");
    }
  }
}

// By their limits, and taken to the comparisons at the end.
void Arriving(benchmark::State& state, Fleet& fleet) {
  for (auto _ : state) {
    const std::unique_ptr<Collected> collected = Collect(fleet);
    state.PauseTiming();
    size_t failed = 0;
    for (const EndedCheck& check : collected->checks) {
      const bool good = check.verdict.outcome() == v1::OUTCOME_PASS;
      failed += !good;
      if (good || check.verdict.check() == "nic-pair") continue;
      const std::string why = absl::StrCat(check.verdict.check(), ": ", check.verdict.reason());
      return state.SkipWithError(why.c_str());
    }
    if (failed == 0) state.SkipWithError("slow pairs pass");
    state.ResumeTiming();
  }
}

// The nodes' measurements in twelve earlier validations.
absl::Status AddEarlier(const Fleet& fleet, Store& store) {
  for (int i = 0; i < kEarlier; ++i) {
    RETURN_IF_ERROR(store.Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord validation;
      validation.validation_id = absl::StrCat("v-", i);
      validation.state = ValidationRecord::kDone;
      validation.created_at = absl::FromUnixSeconds(i);
      RETURN_IF_ERROR(txn.validations().Put(validation));
      for (size_t n = 0; n < fleet.rows.size(); ++n) {
        const FleetRow& row = fleet.rows[n];
        if (!row.part.Partner().empty()) continue;  // pairs are not compared with earlier ones
        ValidationCheckRecord check;
        check.check_id = absl::StrCat(validation.validation_id, "/", n);
        check.validation_id = validation.validation_id;
        check.node = row.part.node;
        check.name = std::string(row.check->spec->name);
        check.outcome = v1::OUTCOME_PASS;
        check.parameters_digest = row.parameters_digest;
        RETURN_IF_ERROR(txn.validation_checks().Put(check));
        RETURN_IF_ERROR(txn.validation_checks().PutResult(
            {check.check_id, validation.created_at, PackResult(row.result), ""}));
      }
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

// Also when the results come.
void BesideEarlier(benchmark::State& state, Fleet& fleet) {
  const auto store = OpenStore(":memory:");
  absl::Status status = store.status();
  if (status.ok()) status = AddEarlier(fleet, **store);
  if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
  for (auto _ : state) {
    EarlierResults earlier(**store, "v-now");
    size_t asked = 0;
    bool missing = false;
    const History history = {
        [&](const EarlierQuery& query) {
          std::vector<double> values = earlier.Values(query);
          ++asked;
          missing = missing || values.size() < kLeastEarlier;
          return values;
        },
        [&](const Measurement& measurement) { return earlier.Newest(measurement); }};
    v1::CheckVerdict verdict;
    for (const FleetRow& row : fleet.rows) {
      JudgeHistory(MeasurementOf(fleet, row), history, verdict);
    }
    if (asked == 0 || missing) state.SkipWithError("earlier results are missing");
  }
}

// From the last report to the verdicts. One node in a thousand is to blame for its slow pairs, and
// its partners are excused.
void TheEnd(benchmark::State& state, Fleet& fleet) {
  size_t slow = 0;
  for (uint32_t node = 0; node < fleet.nodes.size(); ++node) slow += IsSlow(node);
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<Collected> collected = Collect(fleet);
    // The engine holds them by id.
    std::sort(collected->checks.begin(), collected->checks.end(),
              [](const EndedCheck& a, const EndedCheck& b) {
                return a.part->check_id < b.part->check_id;
              });
    const EndedValidation ended = EndedOf(fleet);
    state.ResumeTiming();
    auto verdicts = std::make_unique<ValidationVerdicts>(
        JudgeValidation(ended, std::move(collected->checks), collected->comparisons));
    state.PauseTiming();
    if (verdicts->blames.blames_size() != static_cast<int>(slow)) {
      state.SkipWithError("others are blamed");
    }
    for (uint32_t node = 0; node < fleet.nodes.size(); ++node) {
      const v1::Outcome want = IsSlow(node) ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS;
      if (verdicts->nodes[node].outcome() == want) continue;
      state.SkipWithError(absl::StrCat(fleet.nodes[node].name, " is misjudged").c_str());
      break;
    }
    verdicts.reset();
    collected.reset();
    state.ResumeTiming();
  }
}

absl::StatusOr<std::unique_ptr<Store>> StoreOfNodes(const Fleet& fleet) {
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, OpenStore(":memory:"));
  RETURN_IF_ERROR(store->Update([&](Transaction& txn) -> absl::Status {
    for (const MatrixNode& node : fleet.nodes) {
      RETURN_IF_ERROR(
          txn.nodes().Put({absl::StrCat("u-", node.name), node.name, NodeRecord::kConfigured}));
    }
    return absl::OkStatus();
  }));
  return store;
}

// What is stored of the verdicts, with the passes of the nodes.
void Storing(benchmark::State& state, Fleet& fleet) {
  const auto store = StoreOfNodes(fleet);
  if (!store.ok()) return state.SkipWithError(std::string(store.status().message()).c_str());
  std::unique_ptr<Collected> collected = Collect(fleet);
  ValidationRecord record;
  record.validation_id = "v-now";
  record.suite = fleet.suite.name;
  ValidationEnd end(record, EndedOf(fleet), std::move(collected->checks), collected->comparisons,
                    /*admits=*/true);
  for (auto _ : state) {
    const absl::Status status = end.Store(**store, absl::UnixEpoch());
    if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
  }
}

struct PartRow {
  const char* name;
  void (*run)(benchmark::State&, Fleet&);
  // Counts towards the target: from the last report to the outcome.
  bool counts;
};
constexpr PartRow kParts[] = {
    {"choosing the pairs", Schedule, false},
    {"results as they come", Arriving, false},
    {"results beside twelve earlier ones", BesideEarlier, false},
    {"judging the validation", TheEnd, true},
    {"storing the verdicts", Storing, true},
};

// Prints the figures of docs/benchmarks.md and ./dev bench, in lines that both can read.
class FigureReporter final : public benchmark::ConsoleReporter {
 public:
  // Without colors: their end sequences would come before the figures.
  FigureReporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      failed_ = failed_ || run.error_occurred;
      if (run.error_occurred) continue;
      const std::string name = run.benchmark_name();
      const double ms = run.GetAdjustedCPUTime();
      Say(name.substr(0, name.find('/')), ms, "");
      for (const PartRow& part : kParts) {
        for (const uint32_t count : kCounts) {
          if (!absl::StartsWith(name, NameOf(part, count))) continue;
          sums_[count] += part.counts ? ms : 0;
          seen_[count] += part.counts;
        }
      }
    }
  }
  void Finalize() override {
    const auto parts = std::count_if(std::begin(kParts), std::end(kParts),
                                     [](const PartRow& part) { return part.counts; });
    for (const auto& [count, sum] : sums_) {
      if (seen_[count] != parts) continue;
      Say(absl::StrCat("the end of a validation of ", count, " nodes"), sum,
          count == kCounts[std::size(kCounts) - 1] ? absl::StrCat("<= ", kTargetMs) : "");
    }
  }
  bool failed() const { return failed_; }

  static std::string NameOf(const PartRow& part, uint32_t count) {
    return absl::StrCat(part.name, " of ", count, " nodes");
  }

 private:
  static void Say(const std::string& what, double ms, const std::string& target) {
    absl::PrintF("FIGURE %s, CPU\t%.6g\tms\t%s\n", what, ms, target);
    std::fflush(stdout);
  }

  std::map<uint32_t, double> sums_;
  std::map<uint32_t, int64_t> seen_;
  bool failed_ = false;
};

}  // namespace
}  // namespace muster::controller::validation

int main(int argc, char** argv) {
  using namespace muster::controller::validation;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  Clusters clusters;
  for (const uint32_t count : kCounts) {
    for (const PartRow& part : kParts) {
      if (part.run == BesideEarlier && count > kMostWithEarlier) continue;
      // A fixed number of times: making a cluster takes longer.
      benchmark::RegisterBenchmark(FigureReporter::NameOf(part, count).c_str(),
                                   [&clusters, &part, count](benchmark::State& state) {
                                     part.run(state, clusters.Of(count));
                                   })
          ->Iterations(3)
          ->Unit(benchmark::kMillisecond);
    }
  }
  FigureReporter reporter;
  return benchmark::RunSpecifiedBenchmarks(&reporter) == 0 || reporter.failed() ? 1 : 0;
}
