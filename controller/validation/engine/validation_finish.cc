// ValidationEngine: the end of a validation, when its results are compared with each other.
#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/gate/job_gate.h"
#include "controller/gate/node_pass.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/earlier_results.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/verdict/blame.h"
#include "controller/validation/verdict/gone_devices.h"
#include "controller/validation/verdict/group_loss.h"
#include "controller/validation/verdict/pair_matrix.h"
#include "controller/validation/verdict/result_blob.h"
#include "controller/validation/verdict/ring_outlook.h"
#include "controller/validation/verdict/verdict.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

// A check that has ended, with everything that is known about it.
struct EndedCheck {
  const CheckPart* part = nullptr;
  bool has_result = false;
  v1::CheckResult result;
  v1::CheckVerdict verdict;
};

// The part that the ids of all pairs of a round have in common.
absl::string_view RoundOf(const CheckPart& part) {
  const absl::string_view id = part.execution_id;
  return id.substr(0, id.rfind('/'));
}

// The place of a check in its suite: its stage, and its index in that.
using CheckPlace = std::pair<size_t, size_t>;
CheckPlace PlaceOf(const CheckPart& part) { return {part.stage, part.check}; }

// Judges each check between two nodes by itself: finds what is to blame for slow pairs. Returns the
// measurements by TCP.
std::map<CheckPlace, PairMatrix> JudgePairs(const ActiveValidation& validation,
                                            std::list<EndedCheck>& ended, v1::Validation& blames) {
  std::map<std::string, double> uplinks;  // by switch
  for (const Rack& rack : validation.prepared.inventory->racks()) {
    if (rack.uplink_gbits_per_s > 0) uplinks[rack.switch_name] = rack.uplink_gbits_per_s;
  }
  std::vector<MatrixNode> nodes;
  for (const ValidationNode& node : validation.state.nodes()) {
    const HardwareClass& hardware = validation.prepared.expectations.at(node.name).hardware;
    const auto uplink = uplinks.find(node.switch_name);
    nodes.push_back({node.name, node.switch_name, hardware.network_gbits_per_s.value_or(0),
                     uplink == uplinks.end() ? 0 : uplink->second});
  }
  // By stage and place in it: a suite may contain one check twice, with different parameters.
  std::map<CheckPlace, std::vector<EndedCheck*>> pairs;
  std::vector<NodeResultRef> others;
  for (EndedCheck& check : ended) {
    const checks::CheckSpec* spec = validation.state.CheckOf(*check.part).spec;
    if (spec->scope == checks::Scope::kPair) {
      pairs[PlaceOf(*check.part)].push_back(&check);
    } else if (check.has_result) {
      others.push_back({check.part->node, &check.result});
    }
  }
  std::map<CheckPlace, PairMatrix> matrices;
  for (auto& [place, sides] : pairs) {
    const checks::CheckSpec* spec = validation.state.CheckOf(*sides[0]->part).spec;
    std::vector<PairResult> results;
    std::vector<PairVerdict> verdicts;
    for (EndedCheck* side : sides) {
      results.push_back({side->part->node, side->part->Partner(), spec,
                         side->has_result ? &side->result : nullptr, &side->verdict,
                         RoundOf(*side->part)});
      verdicts.push_back({side->part->node, side->part->Partner(), &side->verdict});
    }
    PairMatrix matrix = MakePairMatrix(nodes, results, others);
    const std::vector<Blame> found = FindBlame(matrix);
    ApplyBlame(matrix, found, verdicts);
    for (const Blame& blame : found) *blames.add_blames() = ToProto(blame);
    if (MeasuresTcp(*spec)) matrices[place] = std::move(matrix);
  }
  return matrices;
}

// Compares each ring with the pairs that were measured by TCP before it.
void CompareRings(const ActiveValidation& validation, const std::list<EndedCheck>& ended,
                  const std::map<CheckPlace, PairMatrix>& matrices, v1::Validation& told) {
  std::set<std::string> seen;  // one rank reports for all
  for (const EndedCheck& check : ended) {
    const SuiteCheck& of_suite = validation.state.CheckOf(*check.part);
    if (of_suite.spec->scope != checks::Scope::kGroup || !check.has_result) continue;
    if (seen.count(check.part->execution_id) > 0) continue;
    std::vector<const PairMatrix*> before;
    for (const auto& [place, matrix] : matrices) {
      if (place < PlaceOf(*check.part)) before.push_back(&matrix);
    }
    auto outlook =
        CompareWithPairs({validation.state.StageOf(*check.part).name, of_suite.spec,
                          &of_suite.parameters, &check.result, check.part->members.get()},
                         before);
    if (!outlook.has_value()) continue;
    seen.insert(check.part->execution_id);
    *told.add_rings() = *std::move(outlook);
  }
}

// Judges each check of a group by itself: a lost one says nothing about the others.
void JudgeGroups(const ActiveValidation& validation, std::list<EndedCheck>& ended) {
  std::map<std::string, std::vector<GroupMember>> groups;
  for (EndedCheck& check : ended) {
    const CheckPart& part = *check.part;
    if (validation.state.CheckOf(part).spec->scope != checks::Scope::kGroup) continue;
    if (part.started_at == absl::InfinitePast()) continue;  // the others continued without it
    groups[part.execution_id].push_back(
        {part.node, part.rank, check.has_result ? &check.result : nullptr, &check.verdict});
  }
  for (auto& [execution, members] : groups) {
    // They are ordered by their ranks. After a restart of the controller, the numbers may have gaps
    // where the check continued without a node.
    std::sort(members.begin(), members.end(),
              [](const GroupMember& a, const GroupMember& b) { return a.rank < b.rank; });
    for (uint32_t rank = 0; rank < members.size(); ++rank) members[rank].rank = rank;
    SuspectRing(members);
    ExcuseSurvivors(members);
  }
}

// A node that was excused because of the witness can do nothing about it: says what has to be done.
void NameWitness(const ActiveValidation& validation, std::list<EndedCheck>& ended) {
  for (const ValidationNode& node : validation.state.nodes()) {
    if (!node.is_witness) continue;
    for (EndedCheck& check : ended) {
      const std::vector<std::string>& members = *check.part->members;
      if (!check.verdict.excused() || check.part->node == node.name ||
          std::find(members.begin(), members.end(), node.name) == members.end()) {
        continue;
      }
      check.verdict.set_reason(absl::StrCat(
          check.verdict.reason(), "; ", node.name,
          " was borrowed as its witness and keeps its pass; to test it: muster validate ",
          node.name, " --suite ", validation.record.suite));
    }
  }
}

// Checks whose outcome in comparison differs from their outcome by themselves: results that failed
// there are not a reference for later ones.
std::vector<ValidationCheckRecord> Rejudged(const ActiveValidation& validation,
                                            const std::list<EndedCheck>& ended) {
  std::vector<ValidationCheckRecord> rejudged;
  for (const EndedCheck& check : ended) {
    const PartOutcome outcome = ToPartOutcome(check.verdict.outcome());
    if (outcome == check.part->outcome) continue;
    rejudged.push_back(ToRecord(validation, *check.part));
    rejudged.back().outcome = static_cast<int>(outcome);
  }
  return rejudged;
}

// Why a node that has passed may not be the one that was tested; "": it is.
std::string WhyNotTheSame(const FoundHardware& before, const FoundHardware* now) {
  if (now == nullptr) {
    return "it did not report its facts after its checks had ended: check the agent (`systemctl "
           "status muster-agent` on the node), and validate it again";
  }
  const std::string change = DescribeChange(before, *now);
  if (change.empty()) return "";
  return absl::StrCat("its hardware or software changed while it was validated: ", change,
                      "; validate it again");
}

}  // namespace

absl::Status ValidationEngine::Finish(ActiveValidation& validation) {
  const std::string& id = validation.record.validation_id;
  // A list, because the judges hold addresses.
  std::list<EndedCheck> ended;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    for (const auto& [check_id, verdict] : validation.verdicts) {
      const CheckPart* part = validation.state.Find(check_id);
      if (part == nullptr || part->put_back || part->phase != PartPhase::kEnded) continue;
      EndedCheck& check = ended.emplace_back();
      check.part = part;
      check.verdict = VerdictOf(validation, *part);
      if (!part->reason.empty()) continue;
      const absl::StatusOr<CheckResultRecord> record = txn.validation_checks().GetResult(check_id);
      if (absl::IsNotFound(record.status())) continue;
      RETURN_IF_ERROR(record.status());
      absl::StatusOr<v1::CheckResult> result = UnpackResult(record->result);
      // Damaged: the verdict on it by itself stays.
      if (!result.ok()) continue;
      check.result = *std::move(result);
      DropSamples(check.result);
      check.has_result = true;
    }
    return absl::OkStatus();
  }));

  std::vector<JudgedResult> judged;
  for (EndedCheck& check : ended) {
    if (!check.has_result) continue;
    judged.push_back({check.part->node, validation.state.StageOf(*check.part).name,
                      validation.state.CheckOf(*check.part).spec, &check.result,
                      &validation.prepared.expectations.at(check.part->node), &check.verdict,
                      validation.ParametersDigestOf(*check.part)});
  }
  EarlierResults earlier(with_.store, id);
  JudgeFleet(judged, [&](const EarlierQuery& query) { return earlier.Values(query); });
  JudgeGoneDevices(judged, [&](const JudgedResult& each) { return earlier.Newest(each); });
  JudgeDigests(judged);
  v1::Validation blames;
  const auto matrices = JudgePairs(validation, ended, blames);
  CompareRings(validation, ended, matrices, blames);
  JudgeGroups(validation, ended);
  NameWitness(validation, ended);

  std::map<std::string, FoundHardware> facts;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    for (const ValidationNode& node : validation.state.nodes()) {
      if (!validation.final_facts.HasAnswered(node.uuid) || !txn.nodes().Get(node.uuid).ok()) {
        continue;
      }
      ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts(node.uuid));
      v1::Facts parsed;
      parsed.ParseFromString(bytes);
      facts[node.name] = FoundOn(parsed);
    }
    return absl::OkStatus();
  }));
  const absl::Time now = with_.clock.Now();
  const bool complete = !validation.state.cancelled();
  const std::vector<ValidationCheckRecord> rejudged = Rejudged(validation, ended);
  std::map<std::string, v1::NodeVerdict> nodes;
  for (EndedCheck& check : ended) {
    *nodes[check.part->node].add_checks() = std::move(check.verdict);
  }
  std::map<v1::Outcome, int> counts;
  int tested = 0;
  for (const ValidationNode& node : validation.state.nodes()) {
    v1::NodeVerdict& verdict = nodes[node.name];
    verdict.set_node(node.name);
    if (node.is_witness) {
      verdict.set_is_witness(true);
      LeaveOutPassedPairs(verdict);
      continue;
    }
    ++tested;
    std::vector<const v1::CheckVerdict*> checks;
    for (const v1::CheckVerdict& check : verdict.checks()) checks.push_back(&check);
    verdict.set_outcome(OutcomeOf(checks, complete));
    // A pass applies to what was tested.
    const auto found = facts.find(node.name);
    const std::string why_not =
        verdict.outcome() != v1::OUTCOME_PASS
            ? ""
            : WhyNotTheSame(validation.prepared.found.at(node.name),
                            found == facts.end() ? nullptr : &found->second);
    if (!why_not.empty()) {
      v1::CheckVerdict& same = *verdict.add_checks();
      same = VerdictWithoutResult("same-machine", v1::OUTCOME_UNKNOWN, why_not);
      same.set_stage("end");
      verdict.set_outcome(v1::OUTCOME_UNKNOWN);
    }
    LeaveOutPassedPairs(verdict);
    ++counts[verdict.outcome()];
  }

  ValidationRecord record = validation.record;
  record.state = complete ? ValidationRecord::kDone : ValidationRecord::kCancelled;
  record.finished_at = now;
  record.blames = blames.SerializeAsString();
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(record));
    for (const ValidationCheckRecord& check : rejudged) {
      RETURN_IF_ERROR(txn.validation_checks().Put(check));
    }
    for (const ValidationNode& node : validation.state.nodes()) {
      const v1::NodeVerdict& verdict = nodes.at(node.name);
      RETURN_IF_ERROR(txn.validations().PutNode(
          {id, node.name, node.uuid, verdict.outcome(), verdict.SerializeAsString()}));
      if (node.is_witness || node.uuid.empty() || !txn.nodes().Get(node.uuid).ok()) continue;
      if (verdict.outcome() == v1::OUTCOME_PASS && validation.prepared.suite.admits) {
        const auto found = facts.find(node.name);
        if (found == facts.end()) continue;  // enrolled again a moment ago
        NodePassRecord pass = {node.uuid, id, record.suite, record.suite_digest};
        pass.passed_at = now;
        SetPassKeys(found->second, pass);
        RETURN_IF_ERROR(txn.node_service().PutPass(pass));
      } else if (verdict.outcome() == v1::OUTCOME_FAIL) {
        RETURN_IF_ERROR(txn.node_service().RemovePass(node.uuid));
      }
    }
    return Audit(
        txn, now, ControllerActor(), "validation.finish", id,
        absl::StrCat(complete ? "" : record.message + "; ", counts[v1::OUTCOME_PASS], " passed, ",
                     counts[v1::OUTCOME_FAIL], " failed, ",
                     tested - counts[v1::OUTCOME_PASS] - counts[v1::OUTCOME_FAIL], " unknown"));
  }));
  validation.record = record;

  v1::ValidationEvent event;
  *event.mutable_time() = ToTimestamp(now);
  v1::Validation& finished = *event.mutable_finished();
  finished = ToProto(record);
  for (const ValidationNode& node : validation.state.nodes()) {
    if (!node.uuid.empty() && !node.is_witness)
      with_.gate.OnJudged(node.uuid, id, nodes.at(node.name).outcome());
    *finished.add_nodes() = std::move(nodes.at(node.name));
  }
  validation.events->Append(std::move(event));
  validation.events->End();
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
