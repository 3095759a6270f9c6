#include "bench/validation_fleet.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/checks/catalog.h"
#include "controller/validation/verdict/circumstances.h"

namespace muster::controller::validation {
namespace {

constexpr int kGpus = 4;
constexpr uint32_t kNodesPerSwitch = 40;
constexpr uint32_t kNodesPerRack = 10;
constexpr char kModel[] = "NVIDIA GeForce RTX 2080 Ti";
constexpr double kGbits = 10;
constexpr double kSlowGbits = 3;
constexpr double kUplinkGbits = kGbits * kNodesPerSwitch;
constexpr const char* kTypes[] = {"fp16", "fp32", "int8"};

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

absl::StatusOr<HardwareLibrary> ReadLibrary() {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("inventory/hardware", error)) {
    files[entry.path().string()] = ReadText(entry.path());
  }
  if (files.empty()) return absl::NotFoundError("no inventory/hardware here: run it in a checkout");
  return ParseHardware(files, checks::Checks());
}

std::string GpuId(uint32_t node, int gpu) { return absl::StrFormat("GPU-%08x-%d", node, gpu); }

// Adds the parts of a node for which a check has metrics.
void AddSubjects(const checks::CheckSpec& spec, uint32_t node, v1::CheckResult& result) {
  std::set<std::string> kinds;
  for (const checks::MetricSpec& metric : spec.metrics) {
    if (!metric.subject.empty()) kinds.insert(std::string(metric.subject));
  }
  for (const std::string& kind : kinds) {
    for (int i = 0; i < (kind == "gpu" ? kGpus : 1); ++i) {
      v1::Subject& subject = *result.add_subjects();
      subject.set_id(kind == "gpu" ? GpuId(node, i) : absl::StrCat(kind, i));
      subject.set_kind(kind);
      if (kind != "gpu") continue;
      subject.set_model(kModel);
      subject.set_index(i);
      subject.set_slot(absl::StrFormat("0000:%02x:00.0", 0x3b + i));
      (*subject.mutable_attributes())["vbios_version"] = "90.02.0b.00.c7";
      (*subject.mutable_attributes())["driver_version"] = "535.261.03";
      (*subject.mutable_attributes())["power_limit_watts"] = "250";
      (*subject.mutable_attributes())["serial"] = absl::StrFormat("%010d%d", node, i);
    }
  }
}

std::vector<std::string> VariantsOf(const checks::CheckSpec& spec, const checks::MetricSpec& metric,
                                    uint32_t node, const std::string& subject) {
  if (spec.name == "gpu-gemm" && metric.name.find("power") == absl::string_view::npos &&
      metric.unit != "celsius") {
    return {std::begin(kTypes), std::end(kTypes)};
  }
  std::vector<std::string> variants;
  if (metric.name.find("gpu_to_gpu_g") == 0) {
    for (int i = 0; i < kGpus; ++i) {
      if (GpuId(node, i) != subject) variants.push_back(GpuId(node, i));
    }
  } else {
    variants.emplace_back();
  }
  return variants;
}

// Within all limits, and with some noise.
double ValueOf(const Fleet& fleet, const checks::CheckSpec& spec, const checks::MetricSpec& metric,
               double noise) {
  for (const HardwareModel* model : {fleet.expectation.gpu, fleet.expectation.nic}) {
    for (const HardwareLimit& limit : model->limits) {
      if (limit.check != spec.name || limit.metric != metric.name) continue;
      if (limit.floor.has_value()) return *limit.floor * (1.05 + 0.001 * noise);
      if (limit.ceiling.has_value()) return *limit.ceiling * (0.5 + 0.001 * noise);
    }
  }
  if (metric.unit == "celsius") return 60 + 0.1 * noise;
  if (metric.better == checks::Better::kLower && metric.unit != "µs") return 0;
  return 45 * (1 + 0.001 * noise);
}

v1::CheckResult MakeResult(const Fleet& fleet, const checks::CheckSpec& spec, uint32_t node,
                           bool slow) {
  v1::CheckResult result;
  result.set_check(std::string(spec.name));
  result.set_outcome(v1::OUTCOME_PASS);
  result.set_seconds(60);
  result.add_tools(absl::StrCat(std::string(spec.name), " 1.0"));
  AddSubjects(spec, node, result);
  for (const checks::MetricSpec& metric : spec.metrics) {
    std::vector<std::string> subjects;
    if (metric.subject.empty()) subjects.emplace_back();
    for (const v1::Subject& subject : result.subjects()) {
      if (!metric.subject.empty() && subject.kind() == metric.subject) {
        subjects.push_back(subject.id());
      }
    }
    for (const std::string& subject : subjects) {
      for (const std::string& variant : VariantsOf(spec, metric, node, subject)) {
        v1::Metric& measured = *result.add_metrics();
        measured.set_name(std::string(metric.name));
        measured.set_variant(variant);
        measured.set_subject(subject);
        measured.set_unit(std::string(metric.unit));
        const double noise = (node * 7 + result.metrics_size() * 13) % 31;
        measured.set_value(slow && metric.unit == "Gbit/s" ? kSlowGbits
                                                           : ValueOf(fleet, spec, metric, noise));
      }
    }
  }
  if (spec.name != "gpu-gemm") return result;
  for (int i = 0; i < kGpus; ++i) {
    for (const char* type : kTypes) {
      v1::Digest& digest = *result.add_digests();
      digest.set_name(absl::StrCat("gemm ", type, " 8192 seed 1"));
      digest.set_subject(GpuId(node, i));
      digest.set_value("0123456789abcdef");
    }
  }
  return result;
}

// The part of `nodes`, by rank, in an execution of a round.
CheckPart MakePart(const Fleet& fleet, const SuiteStage& stage, const SuiteCheck& check, int round,
                   const std::vector<uint32_t>& nodes, uint32_t rank) {
  CheckPart part;
  std::vector<std::string> members;
  for (const uint32_t node : nodes) members.push_back(fleet.nodes[node].name);
  part.node = members[rank];
  part.stage = static_cast<size_t>(&stage - fleet.suite.stages.data());
  part.check = static_cast<size_t>(&check - stage.checks.data());
  part.execution_id =
      absl::StrCat("v-now/", part.stage, ".", part.check, ".", round, ".0/", members[0]);
  part.check_id = absl::StrCat(part.execution_id, "/", part.node);
  part.members = std::make_shared<const std::vector<std::string>>(std::move(members));
  part.rank = rank;
  part.phase = PartPhase::kEnded;
  part.started_at = absl::UnixEpoch();
  return part;
}

void AddRows(const SuiteStage& stage, const SuiteCheck& check, Fleet& fleet) {
  const std::string digest = ParametersDigest(*check.spec, check.parameters);
  const auto add = [&](uint32_t node, CheckPart part, bool slow) {
    fleet.rows.push_back({node, std::move(part), &stage, &check, digest,
                          MakeResult(fleet, *check.spec, node, slow)});
  };
  if (check.spec->scope == checks::Scope::kNode) {
    for (uint32_t node = 0; node < fleet.nodes.size(); ++node) {
      add(node, MakePart(fleet, stage, check, 0, {node}, 0), /*slow=*/false);
    }
    return;
  }
  fleet.rounds = check.max_rounds;
  int rounds = 0;
  for (const PairRound& round : SchedulePairs(fleet.places, check.max_rounds)) {
    for (const NodePair& pair : round) {
      const std::vector<uint32_t> nodes = {pair.first, pair.second};
      const bool slow = IsSlow(pair.first) || IsSlow(pair.second);
      for (const uint32_t rank : {0u, 1u}) {
        add(nodes[rank], MakePart(fleet, stage, check, rounds, nodes, rank), slow);
      }
    }
    ++rounds;
  }
}

}  // namespace

bool IsSlow(uint32_t node) { return node % 1000 == 7; }

absl::StatusOr<std::unique_ptr<Fleet>> MakeFleet(uint32_t nodes) {
  auto fleet = std::make_unique<Fleet>();
  constexpr char kSuite[] = "playbooks/suites/acceptance.yaml";
  ASSIGN_OR_RETURN(fleet->suite, ParseSuite(kSuite, ReadText(kSuite), checks::Checks()));
  ASSIGN_OR_RETURN(fleet->library, ReadLibrary());
  HardwareClass hardware;
  hardware.gpu_model = kModel;
  hardware.gpu_count = kGpus;
  hardware.network_gbits_per_s = kGbits;
  fleet->expectation = MakeExpectation(hardware, fleet->library);
  if (fleet->expectation.gpu == nullptr || fleet->expectation.nic == nullptr) {
    return absl::NotFoundError("inventory/hardware does not know the GPU or the port");
  }
  for (uint32_t i = 0; i < nodes; ++i) {
    fleet->nodes.push_back({absl::StrFormat("c%05d", i), absl::StrCat("s", i / kNodesPerSwitch),
                            kGbits, kUplinkGbits});
    fleet->places.push_back({i / kNodesPerSwitch, i / kNodesPerRack});
  }
  for (const SuiteStage& stage : fleet->suite.stages) {
    for (const SuiteCheck& check : stage.checks) AddRows(stage, check, *fleet);
  }
  return fleet;
}

}  // namespace muster::controller::validation
