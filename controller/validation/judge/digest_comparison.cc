#include "controller/validation/judge/digest_comparison.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::controller::validation {
namespace {

bool HasGolden(const HardwareModel* model, absl::string_view name) {
  if (model == nullptr) return false;
  return std::any_of(model->digests.begin(), model->digests.end(),
                     [&](const GoldenDigest& golden) { return golden.name == name; });
}

}  // namespace

void DigestComparison::Add(uint32_t check, const Measurement& measurement) {
  std::map<absl::string_view, const v1::Subject*> subjects;
  for (const v1::Subject& subject : measurement.result->subjects()) {
    subjects[subject.id()] = &subject;
  }
  for (const v1::Digest& digest : measurement.result->digests()) {
    const auto subject = subjects.find(digest.subject());
    const bool is_known = subject != subjects.end();
    const Expectation& expected = *measurement.expectation;
    if (HasGolden(is_known ? ModelOf(expected, *subject->second) : expected.gpu, digest.name())) {
      continue;
    }
    const std::string model =
        is_known ? subject->second->model() : measurement.expectation->hardware.Name();
    groups_[{digest.name(), model}].push_back(
        {check, std::string(measurement.node), digest.subject(),
         is_known ? subject->second->slot() : std::string(), digest.value()});
  }
}

// Judges all digests of one name on one model.
void DigestComparison::JudgeEqual(const std::string& name, const std::vector<Computed>& all,
                                  std::vector<ComparedFinding>& found) {
  std::map<std::string, size_t> count;
  std::map<absl::string_view, std::vector<const std::string*>> by_node;
  for (const Computed& computed : all) {
    ++count[computed.value];
    by_node[computed.node].push_back(&computed.value);
  }
  if (count.size() < 2) return;
  // Each node has one vote, however many GPUs it reports.
  std::map<absl::string_view, double> voices;
  for (const auto& [node, values] : by_node) {
    for (const std::string* value : values) voices[*value] += 1.0 / values.size();
  }
  std::optional<absl::string_view> usual;
  for (const auto& [value, voice] : voices) {
    if (2 * voice > static_cast<double>(by_node.size()) + 1e-9) usual = value;
  }
  const auto share = [&](absl::string_view value) {
    const std::string gpus =
        absl::StrCat(count.at(std::string(value)), " of ", all.size(), " equal GPUs");
    if (by_node.size() == 1) return gpus;
    const auto holders = std::count_if(by_node.begin(), by_node.end(), [&](const auto& node) {
      return std::any_of(node.second.begin(), node.second.end(),
                         [&](const std::string* own) { return *own == value; });
    });
    return absl::StrCat(gpus, ", on ", holders, " of ", by_node.size(), " nodes,");
  };
  for (const Computed& computed : all) {
    if (usual.has_value() && computed.value == *usual) continue;
    const std::string differs = absl::StrCat("'", name, "' has digest ", computed.value);
    ComparedFinding& compared = found.emplace_back();
    compared.check = computed.check;
    v1::Finding& finding = compared.finding;
    finding.set_metric("digest");
    finding.set_variant(name);
    finding.set_subject(computed.subject);
    finding.set_slot(computed.slot);
    finding.set_source(absl::StrCat("digests of ", all.size(), " GPUs"));
    if (usual.has_value()) {
      finding.set_outcome(v1::OUTCOME_FAIL);
      finding.set_message(absl::StrCat(differs, ", ", share(*usual), " have ", *usual,
                                       ": it computes incorrectly"));
    } else {
      finding.set_outcome(v1::OUTCOME_UNKNOWN);
      finding.set_message(absl::StrCat(differs, " as ", share(computed.value),
                                       "; the others differ, and it is unknown which are wrong: "
                                       "compare with more GPUs of this model"));
    }
  }
}

std::vector<ComparedFinding> DigestComparison::Judge() const {
  std::vector<ComparedFinding> found;
  for (const auto& [key, computed] : groups_) JudgeEqual(key.first, computed, found);
  return found;
}

}  // namespace muster::controller::validation
