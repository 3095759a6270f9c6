// Deciding about ten thousand nodes: who is paired with whom, and what is said of what they
// measured.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "controller/store/soci_store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/earlier_results.h"
#include "controller/validation/pair_matrix.h"
#include "controller/validation/pair_schedule.h"
#include "controller/validation/result_blob.h"
#include "controller/validation/verdict.h"

namespace muster::controller::validation {
namespace {

constexpr int kGpus = 4;
constexpr size_t kRounds = 16;
constexpr int kMetricsOfGpu = 4;
constexpr int kEarlier = 12;
constexpr char kParameters[] = "0123456789abcdef";
constexpr uint32_t kNodesPerSwitch = 40;
constexpr char kModel[] = "NVIDIA GeForce RTX 2080 Ti";

constexpr checks::MetricSpec kMetrics[] = {
    {"tflops_median", "TFLOPS", "gpu", checks::Better::kHigher, ""},
    {"temperature_celsius", "celsius", "gpu", checks::Better::kLower, ""},
};
constexpr checks::CheckSpec kGemm = {
    "gpu-gemm", checks::Scope::kNode, checks::Load::kGpu, {}, kMetrics, ""};

void AddMetric(v1::CheckResult& result, const char* name, const char* variant,
               const std::string& subject, const char* unit, double value) {
  v1::Metric& metric = *result.add_metrics();
  metric.set_name(name);
  metric.set_variant(variant);
  metric.set_subject(subject);
  metric.set_unit(unit);
  metric.set_value(value);
}

// As a node of four GPUs reports: three data types, a temperature and a digest each.
v1::CheckResult Result(uint32_t node) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  result.set_outcome(v1::OUTCOME_PASS);
  for (int i = 0; i < kGpus; ++i) {
    v1::Subject& gpu = *result.add_subjects();
    gpu.set_id(absl::StrFormat("GPU-%08x-%d", node, i));
    gpu.set_kind("gpu");
    gpu.set_model(kModel);
    (*gpu.mutable_attributes())["vbios_version"] = "90.02.0b.00.c7";
    (*gpu.mutable_attributes())["driver_version"] = "535.247.01";
    const double noise = 1 + 0.001 * ((node * 7 + i * 13) % 31);
    for (const char* type : {"fp16", "fp32", "int8"}) {
      AddMetric(result, "tflops_median", type, gpu.id(), "TFLOPS", 45 * noise);
    }
    AddMetric(result, "temperature_celsius", "", gpu.id(), "celsius", 70 + i);
    v1::Digest& digest = *result.add_digests();
    digest.set_name("gemm fp16 8192 seed 1");
    digest.set_subject(gpu.id());
    digest.set_value("0123456789abcdef");
  }
  return result;
}

std::vector<PairPlace> Places(uint32_t count) {
  std::vector<PairPlace> places;
  for (uint32_t i = 0; i < count; ++i) places.push_back({i / kNodesPerSwitch, i / 10});
  return places;
}

// What the nodes measured in earlier validations.
absl::StatusOr<std::unique_ptr<Store>> StoreOf(const std::vector<v1::CheckResult>& results,
                                               const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, OpenStore(":memory:"));
  for (int i = 0; i < kEarlier; ++i) {
    RETURN_IF_ERROR(store->Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord validation;
      validation.validation_id = absl::StrCat("v-", i);
      validation.state = ValidationRecord::kDone;
      validation.created_at = absl::FromUnixSeconds(i);
      RETURN_IF_ERROR(txn.validations().Put(validation));
      for (size_t node = 0; node < names.size(); ++node) {
        ValidationCheckRecord check;
        check.check_id = absl::StrCat(validation.validation_id, "/", names[node]);
        check.validation_id = validation.validation_id;
        check.node = names[node];
        check.name = std::string(kGemm.name);
        check.outcome = v1::OUTCOME_PASS;
        check.parameters_digest = kParameters;
        RETURN_IF_ERROR(txn.validation_checks().Put(check));
        RETURN_IF_ERROR(txn.validation_checks().PutResult(
            {check.check_id, validation.created_at, PackResult(results[node])}));
      }
      return absl::OkStatus();
    }));
  }
  return store;
}

void JudgeNodes(benchmark::State& state, bool with_history) {
  const auto count = static_cast<uint32_t>(state.range(0));
  const checks::CheckSpec* const catalog[] = {&kGemm};
  const auto library = ParseHardware(
      {{"h.yaml", absl::StrCat("kind: gpu\nmatch: [", kModel,
                               "]\nlimits: [{check: gpu-gemm, metric: tflops_median, unit: TFLOPS, "
                               "floor: 40, peak: 250, source: s}]\n")}},
      catalog);
  if (!library.ok()) return state.SkipWithError(std::string(library.status().message()).c_str());
  HardwareClass hardware;
  hardware.gpu_model = kModel;
  hardware.gpu_count = kGpus;
  const Expectation expectation = MakeExpectation(hardware, *library);
  std::vector<std::string> names;
  std::vector<v1::CheckResult> results;
  for (uint32_t i = 0; i < count; ++i) {
    names.push_back(absl::StrCat("c", i));
    results.push_back(Result(i));
  }
  const std::vector<PairPlace> places = Places(count);
  std::unique_ptr<Store> store;
  if (with_history) {
    auto filled = StoreOf(results, names);
    if (!filled.ok()) return state.SkipWithError(std::string(filled.status().message()).c_str());
    store = *std::move(filled);
  }
  for (auto _ : state) {
    std::vector<v1::CheckVerdict> verdicts(count);
    std::vector<JudgedResult> judged(count);
    for (uint32_t i = 0; i < count; ++i) {
      verdicts[i] = JudgeCheck(results[i], kGemm, expectation, {});
      judged[i] = {names[i], "burn", &kGemm, &results[i], &expectation, &verdicts[i], kParameters};
    }
    if (store == nullptr) {
      JudgeFleet(judged, nullptr);
    } else {
      EarlierResults earlier(*store, "v-now");
      size_t known = 0;
      JudgeFleet(judged, [&](const EarlierQuery& query) {
        std::vector<double> values = earlier.Values(query);
        if (!query.first) known += values.size();
        return values;
      });
      if (known != size_t{count} * kGpus * kMetricsOfGpu * kEarlier) {
        state.SkipWithError("earlier results are missing");
      }
    }
    JudgeDigests(judged);
    const std::vector<PairRound> rounds = SchedulePairs(places, kRounds);
    if (verdicts[0].outcome() != v1::OUTCOME_PASS ||
        rounds.size() != std::min(kRounds, FullRounds(count))) {
      state.SkipWithError("nodes are not judged as they should be");
    }
    benchmark::DoNotOptimize(verdicts);
  }
  state.SetComplexityN(count);
}
BENCHMARK_CAPTURE(JudgeNodes, beside_peers, false)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);
// A fixed number of times: filling the store takes longer.
BENCHMARK_CAPTURE(JudgeNodes, beside_peers_and_earlier, true)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

// Pairs of a few rounds, with one bad node in a thousand.
void BlameNodes(benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(0));
  PairMatrix matrix;
  const std::vector<PairPlace> places = Places(count);
  for (uint32_t i = 0; i < count; ++i) {
    matrix.nodes.push_back({absl::StrCat("c", i), absl::StrCat("s", places[i].switch_id), {}});
  }
  for (const PairRound& round : SchedulePairs(places, kRounds)) {
    for (const NodePair& pair : round) {
      const bool slow = pair.first % 1000 == 7 || pair.second % 1000 == 7;
      matrix.rates.push_back({pair.first, pair.second, slow ? 3.0 : 9.4, 10, 0, "eth0", "eth0"});
      matrix.rates.push_back({pair.second, pair.first, slow ? 3.0 : 9.4, 10, 0, "eth0", "eth0"});
    }
  }
  for (auto _ : state) {
    const std::vector<Blame> blames = FindBlame(matrix);
    if (blames.size() != (count + 992) / 1000) state.SkipWithError("others are blamed");
    benchmark::DoNotOptimize(blames);
  }
  state.SetComplexityN(count);
}
BENCHMARK(BlameNodes)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

// Says what docs/benchmarks.md and ./dev bench tell of, in lines that both can read.
class FigureReporter final : public benchmark::ConsoleReporter {
 public:
  // Without colours: their ends would come before the figures.
  FigureReporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const bool judges = run.benchmark_name().find("JudgeNodes") == 0;
      const auto nodes = static_cast<int>(run.complexity_n);
      const bool with_history = run.benchmark_name().find("earlier") != std::string::npos;
      absl::PrintF("FIGURE %s of %d nodes%s, CPU\t%.6g\tms\t%s\n",
                   judges ? "judging and pairing the results" : "blaming by the pairs", nodes,
                   with_history ? " beside twelve earlier ones" : "", run.GetAdjustedCPUTime(),
                   judges && nodes == 10000 ? "<= 2000" : "");
      std::fflush(stdout);
    }
  }
};

}  // namespace
}  // namespace muster::controller::validation

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  muster::controller::validation::FigureReporter reporter;
  return benchmark::RunSpecifiedBenchmarks(&reporter) == 0 ? 1 : 0;
}
