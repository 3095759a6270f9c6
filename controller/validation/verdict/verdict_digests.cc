// JudgeDigests: values that must be equal on equal hardware.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {
namespace {

struct Computed {
  const JudgedResult* of;
  const v1::Digest* digest;
  const v1::Subject* subject;  // nullptr: the node
};

bool HasGolden(const Computed& computed) {
  const HardwareModel* const model = computed.of->expectation->gpu;
  if (model == nullptr) return false;
  for (const GoldenDigest& golden : model->digests) {
    if (golden.name == computed.digest->name()) return true;
  }
  return false;
}

void AddDigest(const Computed& computed, v1::Outcome outcome, const std::string& source,
               const std::string& message) {
  v1::Finding finding;
  finding.set_outcome(outcome);
  finding.set_metric("digest");
  finding.set_variant(computed.digest->name());
  finding.set_subject(computed.digest->subject());
  if (computed.subject != nullptr) finding.set_slot(computed.subject->slot());
  finding.set_source(source);
  finding.set_message(message);
  AddFinding(std::move(finding), computed.of->verdict);
}

// Judges all digests of one name on one model.
void JudgeEqual(const std::vector<Computed>& all) {
  std::map<std::string, size_t> count;
  std::map<absl::string_view, std::vector<const std::string*>> by_node;
  for (const Computed& computed : all) {
    ++count[computed.digest->value()];
    by_node[computed.of->node].push_back(&computed.digest->value());
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
  const std::string source = absl::StrCat("digests of ", all.size(), " GPUs");
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
    const std::string& own = computed.digest->value();
    if (usual.has_value() && own == *usual) continue;
    const std::string name = absl::StrCat("'", computed.digest->name(), "' has digest ", own);
    if (usual.has_value()) {
      AddDigest(
          computed, v1::OUTCOME_FAIL, source,
          absl::StrCat(name, ", ", share(*usual), " have ", *usual, ": it computes incorrectly"));
    } else {
      AddDigest(computed, v1::OUTCOME_UNKNOWN, source,
                absl::StrCat(name, " as ", share(own),
                             "; the others differ, and it is unknown which are wrong: compare with "
                             "more GPUs of this model"));
    }
  }
}

}  // namespace

void JudgeDigests(absl::Span<const JudgedResult> results) {
  std::map<std::pair<std::string, std::string>, std::vector<Computed>> groups;
  for (const JudgedResult& result : results) {
    std::map<absl::string_view, const v1::Subject*> subjects;
    for (const v1::Subject& subject : result.result->subjects()) subjects[subject.id()] = &subject;
    for (const v1::Digest& digest : result.result->digests()) {
      const auto subject = subjects.find(digest.subject());
      const Computed computed{&result, &digest,
                              subject == subjects.end() ? nullptr : subject->second};
      if (HasGolden(computed)) continue;  // JudgeCheck() has compared it
      const std::string model = computed.subject == nullptr ? result.expectation->hardware.Name()
                                                            : computed.subject->model();
      groups[{digest.name(), model}].push_back(computed);
    }
  }
  for (const auto& [key, computed] : groups) JudgeEqual(computed);
}

}  // namespace muster::controller::validation
