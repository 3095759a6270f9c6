// A validation in progress, in memory.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/session/facts_round.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/earlier_results.h"
#include "controller/validation/engine/prepared_suite.h"
#include "controller/validation/engine/validation_end.h"
#include "controller/validation/engine/validation_feed.h"
#include "controller/validation/judge/comparisons.h"
#include "controller/validation/judge/judge_validation.h"
#include "controller/validation/schedule/node_watts.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/verdict/circumstances.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// How long nodes may take to come back and to answer.
inline constexpr absl::Duration kFactsWait = absl::Seconds(60);

struct ActiveValidation {
  // `store` must outlive the object.
  ActiveValidation(ValidationRecord record_in, v1::CreateValidationRequest request_in,
                   PreparedSuite prepared_in, std::vector<CheckPart> stored, Store& store)
      : record(std::move(record_in)),
        request(std::move(request_in)),
        prepared(std::move(prepared_in)),
        state(record.validation_id, prepared.suite, prepared.nodes, request.max_rounds(),
              prepared.racks, std::move(stored)),
        events(std::make_shared<ValidationFeed>(kValidationRetention)),
        earlier(store, record.validation_id),
        comparisons(MatrixNodesOf(prepared)) {
    for (const ValidationNode& node : state.nodes()) {
      by_name[node.name] = &node;
      watts.emplace(node.name, NodeWatts(node.power.idle));
    }
    for (const SuiteStage& stage : state.suite().stages) {
      for (const SuiteCheck& check : stage.checks) {
        parameters_digests[&check] = ParametersDigest(stage, check);
      }
    }
  }
  ActiveValidation(const ActiveValidation&) = delete;
  ActiveValidation& operator=(const ActiveValidation&) = delete;

  const ValidationNode& NodeOf(const CheckPart& part) const { return *by_name.at(part.node); }
  // For a pair: what the slower of the two can reach.
  Expectation ExpectationOf(const CheckPart& part) const {
    const Expectation& own = prepared.expectations.at(part.node);
    const auto partner = prepared.expectations.find(std::string(part.Partner()));
    return partner == prepared.expectations.end() ? own : OfPair(own, partner->second);
  }

  // The verdict on the part's result by itself.
  v1::CheckVerdict Judge(const CheckPart& part, const v1::CheckResult& result) {
    const Expectation expectation = ExpectationOf(part);
    const History history = {
        [&](const EarlierQuery& query) { return earlier.Values(query); },
        [&](const Measurement& measurement) { return earlier.Newest(measurement); }};
    const SuiteCheck& check = state.CheckOf(part);
    return JudgeResult({part.node, state.StageOf(part).name, check.spec, &result, &expectation,
                        ParametersDigestOf(part)},
                       check, &history);
  }
  // Keeps what is compared at the end. Call when the part has ended by its result, which `verdicts`
  // then knows.
  void Compare(const CheckPart& part, const v1::CheckResult& result) {
    if (part.phase != PartPhase::kEnded || part.put_back || !part.reason.empty()) return;
    const Expectation expectation = ExpectationOf(part);
    comparisons.Add({&part, state.StageOf(part).name, &state.CheckOf(part),
                     ParametersDigestOf(part), &expectation, &verdicts.at(part.check_id), &result});
  }

  // Valid as long as the validation.
  const std::string& ParametersDigestOf(const CheckPart& part) const {
    return parameters_digests.at(&state.CheckOf(part));
  }

  ValidationRecord record;
  v1::CreateValidationRequest request;
  PreparedSuite prepared;
  ValidationState state;
  std::map<std::string, const ValidationNode*> by_name;
  std::map<std::string, NodeWatts> watts;  // by node
  std::map<const SuiteCheck*, std::string> parameters_digests;
  std::shared_ptr<ValidationFeed> events;
  EarlierResults earlier;
  // The verdict on each ended check by itself.
  std::map<std::string, v1::CheckVerdict> verdicts;
  Comparisons comparisons;
  std::unique_ptr<ValidationEnd> end;  // judged, but not stored yet; nullptr: not judged
  // Changes that the store does not have yet.
  ValidationActions pending;
  std::vector<CheckResultRecord> results;
  std::vector<std::pair<std::string, std::string>> acknowledgements;  // node uuid, check id
  // All checks have ended.
  bool finish_pending = false;
  FactsRound start_facts, final_facts;
  // Nodes that have answered at the start, whose answers the store does not have yet.
  std::set<std::string> told_at_start;
};

}  // namespace muster::controller::validation
