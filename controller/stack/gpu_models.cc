#include "controller/stack/gpu_models.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "controller/inventory/errors.h"

namespace muster::controller::stack {
namespace {

constexpr yaml::Limits kModelLimits = {/*max_bytes=*/256 << 10, /*max_depth=*/8,
                                       /*max_nodes=*/20'000};

}  // namespace

size_t MatchLength(absl::string_view pattern, absl::string_view name) {
  if (absl::ConsumeSuffix(&pattern, "*")) {
    return absl::StartsWithIgnoreCase(name, pattern) ? pattern.size() : 0;
  }
  return absl::EqualsIgnoreCase(pattern, name) ? pattern.size() + 1 : 0;
}

absl::StatusOr<GpuModels> GpuModels::Read(const std::map<std::string, std::string>& files) {
  GpuModels models;
  Errors errors;
  for (const auto& [path, text] : files) {
    if (!absl::EndsWith(path, ".yaml")) continue;
    const absl::StatusOr<yaml::Document> document = yaml::Document::Parse(path, text, kModelLimits);
    if (!errors.Add(document.status())) continue;
    const yaml::Node* const generation = document->root().Find("generation");
    const yaml::Node* const match = document->root().Find("match");
    if (generation == nullptr || match == nullptr) continue;
    const std::string wrong = CheckGeneration(generation->text());
    std::vector<std::string> patterns;
    if (!wrong.empty()) {
      errors.Add(document->Error(*generation, wrong));
    } else if (errors.Add(yaml::Read(*document, *match, &patterns))) {
      for (std::string& pattern : patterns) {
        models.patterns_.emplace_back(std::move(pattern), FindGeneration(generation->text()));
      }
    }
  }
  RETURN_IF_ERROR(errors.ToStatus());
  return models;
}

const GpuGeneration* GpuModels::Find(absl::string_view model) const {
  const GpuGeneration* best = nullptr;
  size_t most = 0;
  for (const auto& [pattern, generation] : patterns_) {
    const size_t length = MatchLength(pattern, model);
    if (length > most) {
      most = length;
      best = generation;
    }
  }
  return best;
}

}  // namespace muster::controller::stack
