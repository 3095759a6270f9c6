#include "controller/validation/judge/comparisons.h"

#include "controller/validation/judge/measurement.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::controller::validation {
namespace {

// The part that the ids of all pairs of a round have in common.
absl::string_view RoundOf(const CheckPart& part) {
  const absl::string_view id = part.execution_id;
  return id.substr(0, id.rfind('/'));
}

}  // namespace

CheckPlace PlaceOf(const CheckPart& part) { return {part.stage, part.check}; }

Comparisons::Comparisons(std::vector<MatrixNode> nodes) : nodes_(std::move(nodes)) {}

void Comparisons::Add(const ComparedCheck& ended) {
  const CheckPart& part = *ended.part;
  const checks::CheckSpec& spec = *ended.check->spec;
  const auto number = static_cast<uint32_t>(parts_.size());
  parts_.push_back(&part);
  known_.insert(&part);
  const Measurement measurement = {part.node,    ended.stage,       &spec,
                                   ended.result, ended.expectation, ended.parameters_digest};
  fleet_.Add(number, measurement);
  digests_.Add(number, measurement);
  if (spec.scope == checks::Scope::kPair) {
    MakerOf(part).Add(
        {part.node, part.Partner(), &spec, ended.result, ended.verdict, RoundOf(part)});
    return;
  }
  port_faults_.Add(part.node, *ended.result);
  if (spec.scope != checks::Scope::kGroup) return;
  auto result = std::make_unique<v1::CheckResult>(*ended.result);
  DropSamples(*result);
  groups_[&part] = std::move(result);
}

void Comparisons::AddLostSide(const CheckPart& part, const checks::CheckSpec& spec) {
  MakerOf(part).Add({part.node, part.Partner(), &spec, nullptr, nullptr, RoundOf(part)});
}

std::vector<std::pair<const CheckPart*, v1::Finding>> Comparisons::Findings() const {
  std::vector<std::pair<const CheckPart*, v1::Finding>> findings;
  for (std::vector<ComparedFinding> found : {fleet_.Judge(), digests_.Judge()}) {
    for (ComparedFinding& each : found) {
      findings.emplace_back(parts_[each.check], std::move(each.finding));
    }
  }
  return findings;
}

std::map<CheckPlace, PairMatrix> Comparisons::TakeMatrices() {
  std::map<CheckPlace, PairMatrix> matrices;
  for (auto& [place, maker] : pairs_) matrices[place] = maker.Finish(port_faults_);
  pairs_.clear();
  return matrices;
}

const v1::CheckResult* Comparisons::GroupResult(const CheckPart* part) const {
  const auto found = groups_.find(part);
  return found == groups_.end() ? nullptr : found->second.get();
}

PairMatrixMaker& Comparisons::MakerOf(const CheckPart& part) {
  return pairs_.try_emplace(PlaceOf(part), nodes_).first->second;
}

}  // namespace muster::controller::validation
