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
#include "controller/validation/engine/prepared_suite.h"
#include "controller/validation/engine/validation_feed.h"
#include "controller/validation/schedule/node_watts.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/verdict/circumstances.h"
#include "controller/validation/verdict/verdict.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// How long nodes may take to come back and to answer.
inline constexpr absl::Duration kFactsWait = absl::Seconds(60);

struct ActiveValidation {
  ActiveValidation(ValidationRecord record_in, v1::CreateValidationRequest request_in,
                   PreparedSuite prepared_in, std::vector<CheckPart> stored)
      : record(std::move(record_in)),
        request(std::move(request_in)),
        prepared(std::move(prepared_in)),
        state(record.validation_id, prepared.suite, prepared.nodes, request.max_rounds(),
              prepared.racks, std::move(stored)),
        events(std::make_shared<ValidationFeed>(kValidationRetention)) {
    for (const ValidationNode& node : state.nodes()) {
      by_name[node.name] = &node;
      watts.emplace(node.name, NodeWatts(node.power.idle));
    }
    for (const SuiteStage& stage : state.suite().stages) {
      for (const SuiteCheck& check : stage.checks) {
        parameters_digests[&check] = ParametersDigest(*check.spec, check.parameters);
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
  // The verdict on each ended check by itself.
  std::map<std::string, v1::CheckVerdict> verdicts;
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
