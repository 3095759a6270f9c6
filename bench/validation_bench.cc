// Deciding about a whole cluster: the pairing of nodes, and the verdicts on their measurements in
// the suite acceptance, part by part.
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
#include "controller/validation/verdict/blame.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::controller::validation {
namespace {

constexpr uint32_t kCounts[] = {100, 1000, 10000};
// A larger store does not fit into the time and memory of a benchmark.
constexpr uint32_t kMostWithEarlier = 1000;
constexpr int kEarlier = 12;
constexpr size_t kLeastEarlier = 5;  // that a value is compared with
constexpr double kTargetMs = 2000;

// A cluster whose results were judged separately, as they are on arrival.
struct Judged {
  std::unique_ptr<Fleet> fleet;
  std::vector<v1::CheckVerdict> verdicts;  // of the rows
  std::vector<JudgedResult> nodes;         // checks of nodes
  std::vector<PairResult> pairs;
  std::vector<size_t> pair_rows;
  std::vector<NodeResultRef> others;
};

void JudgeRows(const Fleet& fleet, std::vector<v1::CheckVerdict>& verdicts) {
  verdicts.resize(fleet.rows.size());
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const FleetRow& row = fleet.rows[i];
    verdicts[i] =
        JudgeCheck(row.result, *row.check->spec, fleet.expectation, row.check->parameters);
    verdicts[i].set_stage(row.stage->name);
    if (row.partner.has_value()) verdicts[i].set_partner(fleet.nodes[*row.partner].name);
  }
}

absl::StatusOr<std::unique_ptr<Judged>> MakeJudged(uint32_t count) {
  auto judged = std::make_unique<Judged>();
  ASSIGN_OR_RETURN(judged->fleet, MakeFleet(count));
  const Fleet& fleet = *judged->fleet;
  JudgeRows(fleet, judged->verdicts);
  for (size_t i = 0; i < fleet.rows.size(); ++i) {
    const FleetRow& row = fleet.rows[i];
    const std::string& node = fleet.nodes[row.node].name;
    if (row.partner.has_value()) {
      judged->pairs.push_back({node, fleet.nodes[*row.partner].name, row.check->spec, &row.result,
                               &judged->verdicts[i], row.round});
      judged->pair_rows.push_back(i);
    } else {
      judged->others.push_back({node, &row.result});
      judged->nodes.push_back({node, row.stage->name, row.check->spec, &row.result,
                               &fleet.expectation, &judged->verdicts[i], row.parameters_digest});
    }
  }
  return judged;
}

// Holds one cluster at a time: the biggest takes gigabytes.
class Clusters {
 public:
  Judged& Of(uint32_t count) {
    if (count_ == count) return *judged_;
    judged_.reset();
    absl::StatusOr<std::unique_ptr<Judged>> made = MakeJudged(count);
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", std::string(made.status().message()).c_str());
      std::exit(1);
    }
    judged_ = *std::move(made);
    count_ = count;
    size_t values = 0;
    for (const FleetRow& row : judged_->fleet->rows) values += row.result.metrics_size();
    absl::PrintF("%d nodes: %d results, %d values\n", count, judged_->fleet->rows.size(), values);
    return *judged_;
  }

 private:
  uint32_t count_ = 0;
  std::unique_ptr<Judged> judged_;
};

void Schedule(benchmark::State& state, Judged& judged) {
  const Fleet& fleet = *judged.fleet;
  for (auto _ : state) {
    const std::vector<PairRound> rounds = SchedulePairs(fleet.places, fleet.rounds);
    if (rounds.size() != std::min(fleet.rounds, FullRounds(fleet.places.size()))) {
      state.SkipWithError("rounds are missing");
    }
  }
}

void ByThemselves(benchmark::State& state, Judged& judged) {
  std::vector<v1::CheckVerdict> verdicts;
  for (auto _ : state) {
    state.PauseTiming();
    verdicts.clear();
    state.ResumeTiming();
    JudgeRows(*judged.fleet, verdicts);
    state.PauseTiming();
    size_t failed = 0;
    for (const v1::CheckVerdict& verdict : verdicts) {
      const bool good = verdict.outcome() == v1::OUTCOME_PASS;
      failed += !good;
      if (!good && verdict.check() != "nic-pair") {
        state.SkipWithError(absl::StrCat(verdict.check(), ": ", verdict.reason()).c_str());
        return;
      }
    }
    if (failed == 0) state.SkipWithError("slow pairs pass");
    state.ResumeTiming();
  }
}

void BesidePeers(benchmark::State& state, Judged& judged) {
  for (auto _ : state) {
    JudgeFleet(judged.nodes, nullptr);
    JudgeDigests(judged.nodes);
  }
  for (const JudgedResult& each : judged.nodes) {
    if (each.verdict->outcome() == v1::OUTCOME_PASS) continue;
    state.SkipWithError(each.verdict->reason().c_str());
    return;
  }
}

void Matrix(benchmark::State& state, Judged& judged) {
  for (auto _ : state) {
    const PairMatrix matrix = MakePairMatrix(judged.fleet->nodes, judged.pairs, judged.others);
    // Two nodes report each pair, in both directions.
    if (matrix.rates.size() != judged.pairs.size()) state.SkipWithError("rates are missing");
  }
}

// One node in a thousand is to blame, and its partners are excused.
void BlameAndExcuse(benchmark::State& state, Judged& judged) {
  const PairMatrix matrix = MakePairMatrix(judged.fleet->nodes, judged.pairs, judged.others);
  const std::vector<v1::CheckVerdict> by_themselves = judged.verdicts;
  size_t slow = 0;
  for (uint32_t node = 0; node < judged.fleet->nodes.size(); ++node) slow += IsSlow(node);
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<PairVerdict> verdicts;
    for (size_t i = 0; i < judged.pairs.size(); ++i) {
      v1::CheckVerdict& verdict = judged.verdicts[judged.pair_rows[i]];
      verdict = by_themselves[judged.pair_rows[i]];
      verdicts.push_back({judged.pairs[i].node, judged.pairs[i].partner, &verdict});
    }
    state.ResumeTiming();
    const std::vector<Blame> blames = FindBlame(matrix);
    ApplyBlame(matrix, blames, verdicts);
    if (blames.size() != slow) state.SkipWithError("others are blamed");
  }
}

// After BlameAndExcuse().
void Outcomes(benchmark::State& state, Judged& judged) {
  for (auto _ : state) {
    const Fleet& fleet = *judged.fleet;
    std::vector<std::vector<const v1::CheckVerdict*>> of_nodes(fleet.nodes.size());
    for (size_t i = 0; i < fleet.rows.size(); ++i) {
      of_nodes[fleet.rows[i].node].push_back(&judged.verdicts[i]);
    }
    for (uint32_t node = 0; node < of_nodes.size(); ++node) {
      const v1::Outcome want = IsSlow(node) ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS;
      if (OutcomeOf(of_nodes[node], /*complete=*/true) != want) {
        state.SkipWithError(absl::StrCat(fleet.nodes[node].name, " is misjudged").c_str());
        return;
      }
    }
  }
}

// The data that the end of a validation reads from the store before it can judge.
void ReadBack(benchmark::State& state, Judged& judged) {
  std::vector<std::string> packed;
  for (const FleetRow& row : judged.fleet->rows) packed.push_back(PackResult(row.result));
  for (auto _ : state) {
    for (const std::string& blob : packed) {
      if (!UnpackResult(blob).ok()) state.SkipWithError("a result is damaged");
    }
  }
}

// The measurements of the nodes in twelve earlier validations.
absl::StatusOr<std::unique_ptr<Store>> EarlierStore(const Fleet& fleet) {
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, OpenStore(":memory:"));
  for (int i = 0; i < kEarlier; ++i) {
    RETURN_IF_ERROR(store->Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord validation;
      validation.validation_id = absl::StrCat("v-", i);
      validation.state = ValidationRecord::kDone;
      validation.created_at = absl::FromUnixSeconds(i);
      RETURN_IF_ERROR(txn.validations().Put(validation));
      for (size_t n = 0; n < fleet.rows.size(); ++n) {
        const FleetRow& row = fleet.rows[n];
        if (row.partner.has_value()) continue;  // pairs are not compared with earlier ones
        ValidationCheckRecord check;
        check.check_id = absl::StrCat(validation.validation_id, "/", n);
        check.validation_id = validation.validation_id;
        check.node = fleet.nodes[row.node].name;
        check.name = std::string(row.check->spec->name);
        check.outcome = v1::OUTCOME_PASS;
        check.parameters_digest = row.parameters_digest;
        RETURN_IF_ERROR(txn.validation_checks().Put(check));
        RETURN_IF_ERROR(txn.validation_checks().PutResult(
            {check.check_id, validation.created_at, PackResult(row.result)}));
      }
      return absl::OkStatus();
    }));
  }
  return store;
}

void BesideEarlier(benchmark::State& state, Judged& judged) {
  const auto store = EarlierStore(*judged.fleet);
  if (!store.ok()) return state.SkipWithError(std::string(store.status().message()).c_str());
  for (auto _ : state) {
    EarlierResults earlier(**store, "v-now");
    size_t asked = 0;
    bool missing = false;
    JudgeFleet(judged.nodes, [&](const EarlierQuery& query) {
      std::vector<double> values = earlier.Values(query);
      ++asked;
      missing = missing || values.size() < kLeastEarlier;
      return values;
    });
    if (asked == 0 || missing) state.SkipWithError("earlier results are missing");
  }
}

struct PartRow {
  const char* name;  // "beside peers"
  void (*run)(benchmark::State&, Judged&);
  // Counts towards the target: the schedule, and the verdicts on available results.
  bool counts;
};
constexpr PartRow kParts[] = {
    {"choosing the pairs", Schedule, true},
    {"results by themselves", ByThemselves, true},
    {"results beside their peers", BesidePeers, true},
    {"rates of the pairs", Matrix, true},
    {"blame and excuses", BlameAndExcuse, true},
    {"outcomes of the nodes", Outcomes, true},
    {"reading the results", ReadBack, false},
    {"results beside twelve earlier ones", BesideEarlier, false},
};

// Prints the figures of docs/benchmarks.md and ./dev bench, in lines that both can read.
class FigureReporter final : public benchmark::ConsoleReporter {
 public:
  // Without colours: their end sequences would come before the figures.
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
      Say(absl::StrCat("pairing and judging ", count, " nodes"), sum,
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
