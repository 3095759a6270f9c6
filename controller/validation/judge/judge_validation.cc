#include "controller/validation/judge/judge_validation.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "controller/validation/verdict/blame.h"
#include "controller/validation/verdict/group_loss.h"
#include "controller/validation/verdict/ring_outlook.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {
namespace {

bool Has(const EndedCheck& ended, checks::Scope scope) {
  return ended.check != nullptr && ended.check->spec->scope == scope;
}

// Adds what fleets and digests show.
void CompareEqualParts(const Comparisons& comparisons, std::vector<EndedCheck>& ended) {
  absl::flat_hash_map<const CheckPart*, v1::CheckVerdict*> verdicts;
  for (EndedCheck& check : ended) verdicts[check.part] = &check.verdict;
  for (auto& [part, finding] : comparisons.Findings()) {
    const auto verdict = verdicts.find(part);
    if (verdict != verdicts.end()) AddFinding(std::move(finding), verdict->second);
  }
}

// Finds what is to blame for slow pairs in each check between two nodes. Returns the measurements
// by TCP.
std::map<CheckPlace, PairMatrix> JudgePairs(Comparisons& comparisons,
                                            std::vector<EndedCheck>& ended,
                                            v1::Validation& blames) {
  std::map<CheckPlace, std::vector<EndedCheck*>> pairs;
  for (EndedCheck& check : ended) {
    if (!Has(check, checks::Scope::kPair)) continue;
    pairs[PlaceOf(*check.part)].push_back(&check);
    if (!comparisons.Has(check.part)) comparisons.AddLostSide(*check.part, *check.check->spec);
  }
  std::map<CheckPlace, PairMatrix> by_tcp;
  for (auto& [place, matrix] : comparisons.TakeMatrices()) {
    const std::vector<EndedCheck*>& sides = pairs[place];
    if (sides.empty()) continue;
    std::vector<PairVerdict> verdicts;
    for (EndedCheck* side : sides) {
      verdicts.push_back({side->part->node, side->part->Partner(), &side->verdict});
    }
    const std::vector<Blame> found = FindBlame(matrix);
    ApplyBlame(matrix, found, verdicts);
    for (const Blame& blame : found) *blames.add_blames() = ToProto(blame);
    if (MeasuresTcp(*sides[0]->check->spec)) by_tcp[place] = std::move(matrix);
  }
  return by_tcp;
}

// Compares each ring with the pairs that were measured by TCP before it.
void CompareRings(const Comparisons& comparisons, const std::vector<EndedCheck>& ended,
                  const std::map<CheckPlace, PairMatrix>& matrices, v1::Validation& told) {
  std::set<std::string> seen;  // one rank reports for all
  for (const EndedCheck& each : ended) {
    const CheckPart& part = *each.part;
    if (!Has(each, checks::Scope::kGroup) || seen.count(part.execution_id) > 0) continue;
    const v1::CheckResult* result = comparisons.GroupResult(&part);
    if (result == nullptr) continue;
    std::vector<const PairMatrix*> before;
    for (const auto& [place, matrix] : matrices) {
      if (place < PlaceOf(part)) before.push_back(&matrix);
    }
    auto outlook = CompareWithPairs(
        {each.stage, each.check->spec, &each.check->parameters, result, part.members.get()},
        before);
    if (!outlook.has_value()) continue;
    seen.insert(part.execution_id);
    *told.add_rings() = *std::move(outlook);
  }
}

// Judges each check of a group by itself: a lost one says nothing about the others.
void JudgeGroups(const Comparisons& comparisons, std::vector<EndedCheck>& ended) {
  std::map<std::string, std::vector<GroupMember>> groups;
  for (EndedCheck& each : ended) {
    const CheckPart& part = *each.part;
    if (!Has(each, checks::Scope::kGroup)) continue;
    if (part.started_at == absl::InfinitePast()) continue;  // the others continued without it
    groups[part.execution_id].push_back(
        {part.node, part.rank, comparisons.GroupResult(&part), &each.verdict});
  }
  for (auto& [execution, members] : groups) {
    std::sort(members.begin(), members.end(),
              [](const GroupMember& a, const GroupMember& b) { return a.rank < b.rank; });
    SuspectRing(members);
    ExcuseSurvivors(members);
  }
}

// A node that was excused because of the witness can do nothing about it: says what has to be done.
void NameWitness(const EndedValidation& ended, std::vector<EndedCheck>& checks) {
  for (const EndedNode& node : ended.nodes) {
    if (!node.is_witness) continue;
    for (EndedCheck& each : checks) {
      const std::vector<std::string>& members = *each.part->members;
      if (!each.verdict.excused() || each.part->node == node.name ||
          std::find(members.begin(), members.end(), node.name) == members.end()) {
        continue;
      }
      each.verdict.set_reason(absl::StrCat(
          each.verdict.reason(), "; ", node.name,
          " was borrowed as its witness and keeps its pass; to test it: muster validate ",
          node.name, " --suite ", ended.suite));
    }
  }
}

bool Requires(const SuiteCheck& check, Condition condition) {
  return std::find(check.when.begin(), check.when.end(), condition) != check.when.end();
}

// The worker found no RDMA device on a node that had a port when the check was chosen for it.
v1::Finding GoneRdma(const v1::CheckResult& skipped) {
  v1::Finding finding;
  finding.set_outcome(v1::OUTCOME_UNKNOWN);
  finding.set_metric("device_gone");
  finding.set_source("when: rdma");
  finding.set_message(absl::StrCat(
      "skipped, but the node had an RDMA port when its validation was created: ", skipped.reason(),
      ": look for the card in lspci and in the kernel's log"));
  return finding;
}

// Why a node that has passed may not be the one that was tested; "": it is.
std::string WhyNotTheSame(const EndedNode& node) {
  if (!node.at_end.has_value()) {
    return "it did not report its facts after its checks had ended: check the agent (`systemctl "
           "status muster-agent` on the node), and validate it again";
  }
  const std::string change =
      node.at_start.has_value() ? DescribeChange(*node.at_start, *node.at_end) : "";
  if (change.empty()) return "";
  return absl::StrCat("its hardware or software changed while it was validated: ", change,
                      "; validate it again");
}

// Sets the outcome from the verdicts on the node's checks.
void JudgeNode(const EndedNode& node, bool complete, v1::NodeVerdict& verdict) {
  std::vector<const v1::CheckVerdict*> checks;
  for (const v1::CheckVerdict& check : verdict.checks()) checks.push_back(&check);
  verdict.set_outcome(OutcomeOf(checks, complete));
  // A pass applies to what was tested.
  const std::string why_not = verdict.outcome() == v1::OUTCOME_PASS ? WhyNotTheSame(node) : "";
  if (why_not.empty()) return;
  v1::CheckVerdict& same = *verdict.add_checks();
  same = VerdictWithoutResult("same-machine", v1::OUTCOME_UNKNOWN, why_not);
  same.set_stage("end");
  verdict.set_outcome(v1::OUTCOME_UNKNOWN);
}

}  // namespace

v1::CheckVerdict JudgeResult(const Measurement& measurement, const SuiteCheck& check,
                             const History* history) {
  v1::CheckVerdict verdict = JudgeCheck(*measurement.result, *measurement.spec,
                                        *measurement.expectation, check.parameters);
  if (verdict.outcome() == v1::OUTCOME_SKIPPED && measurement.spec->name == kRdmaPair &&
      Requires(check, Condition::kRdma)) {
    AddFinding(GoneRdma(*measurement.result), &verdict);
  }
  if (history != nullptr) JudgeHistory(measurement, *history, verdict);
  return verdict;
}

ValidationVerdicts JudgeValidation(const EndedValidation& ended, std::vector<EndedCheck> checks,
                                   Comparisons& comparisons) {
  // By id: the order in which results came must not change what is said about them. Most callers
  // have them in this order, and there are hundreds of thousands.
  const auto by_id = [](const EndedCheck& a, const EndedCheck& b) {
    return a.part->check_id < b.part->check_id;
  };
  if (!std::is_sorted(checks.begin(), checks.end(), by_id)) {
    std::sort(checks.begin(), checks.end(), by_id);
  }
  ValidationVerdicts verdicts;
  CompareEqualParts(comparisons, checks);
  const auto matrices = JudgePairs(comparisons, checks, verdicts.blames);
  CompareRings(comparisons, checks, matrices, verdicts.blames);
  JudgeGroups(comparisons, checks);
  NameWitness(ended, checks);

  absl::flat_hash_map<absl::string_view, v1::NodeVerdict*> by_name;
  verdicts.nodes.resize(ended.nodes.size());
  for (size_t i = 0; i < ended.nodes.size(); ++i) {
    verdicts.nodes[i].set_node(ended.nodes[i].name);
    verdicts.nodes[i].set_is_witness(ended.nodes[i].is_witness);
    by_name[ended.nodes[i].name] = &verdicts.nodes[i];
  }
  for (EndedCheck& check : checks) {
    const v1::Outcome outcome = check.verdict.outcome();
    if (outcome != ToOutcome(check.part->outcome)) {
      verdicts.rejudged.emplace_back(check.part, outcome);
    }
    const auto node = by_name.find(check.part->node);
    if (node != by_name.end()) *node->second->add_checks() = std::move(check.verdict);
  }
  for (size_t i = 0; i < ended.nodes.size(); ++i) {
    v1::NodeVerdict& verdict = verdicts.nodes[i];
    if (!ended.nodes[i].is_witness) {
      JudgeNode(ended.nodes[i], ended.complete, verdict);
      (verdict.outcome() == v1::OUTCOME_PASS   ? verdicts.passed
       : verdict.outcome() == v1::OUTCOME_FAIL ? verdicts.failed
                                               : verdicts.unknown) += 1;
    }
    LeaveOutPassedPairs(verdict);
  }
  return verdicts;
}

PartOutcome ToPartOutcome(v1::Outcome outcome) { return static_cast<PartOutcome>(outcome); }
v1::Outcome ToOutcome(PartOutcome outcome) { return static_cast<v1::Outcome>(outcome); }

void LeaveOutPassedPairs(v1::NodeVerdict& node) {
  int passed = 0, kept = 0;
  for (int i = 0; i < node.checks_size(); ++i) {
    const v1::CheckVerdict& check = node.checks(i);
    if (check.outcome() == v1::OUTCOME_PASS && !check.partner().empty() &&
        ++passed > kMaxPassedPairs) {
      continue;
    }
    if (kept != i) node.mutable_checks()->SwapElements(kept, i);
    ++kept;
  }
  node.mutable_checks()->DeleteSubrange(kept, node.checks_size() - kept);
}

}  // namespace muster::controller::validation
