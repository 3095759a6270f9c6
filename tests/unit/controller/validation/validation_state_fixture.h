// ValidationState with suites of checks that do nothing, and a memory of its answers.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/schedule/validation_state.h"

namespace muster::controller::validation {

inline const absl::Time kPlainStart = absl::FromUnixSeconds(1700000000);
inline constexpr checks::CheckSpec kPlainLook = {
    "look", checks::Scope::kNode, checks::Load::kIdle, {}, {}, ""};
inline constexpr checks::CheckSpec kPlainGemm = {
    "gemm", checks::Scope::kNode, checks::Load::kGpu, {}, {}, ""};
inline constexpr checks::CheckSpec kPlainTcp = {
    "tcp", checks::Scope::kPair, checks::Load::kIdle, {}, {}, ""};
inline constexpr checks::CheckSpec kPlainRing = {
    "ring", checks::Scope::kGroup, checks::Load::kIdle, {}, {}, ""};

inline SuiteCheck Check(const checks::CheckSpec& spec, std::vector<Condition> when = {}) {
  SuiteCheck check;
  check.spec = &spec;
  check.when = std::move(when);
  check.time_limit = absl::Minutes(1);
  return check;
}

inline SuiteStage Stage(const std::string& name, std::vector<SuiteCheck> checks) {
  SuiteStage stage;
  stage.name = name;
  stage.checks = std::move(checks);
  return stage;
}

inline Suite MakeSuite(std::vector<SuiteStage> stages) { return {"s", "", std::move(stages)}; }

inline std::vector<ValidationNode> Nodes(int count, double watts = 500) {
  std::vector<ValidationNode> nodes;
  for (int i = 1; i <= count; ++i) {
    ValidationNode node;
    node.name = absl::StrCat("c", i);
    node.uuid = absl::StrCat("uc", i);
    node.rack = "r1";
    node.traits.gpus = 1;
    node.power = PredictPower({watts, 100, {}});
    nodes.push_back(node);
  }
  return nodes;
}

class ValidationStateTest : public ::testing::Test {
 protected:
  void Make(Suite suite, std::vector<ValidationNode> nodes, std::vector<RackPower> racks = {},
            std::vector<CheckPart> stored = {}) {
    state_ = std::make_unique<ValidationState>("v", std::move(suite), std::move(nodes), 0,
                                               std::move(racks), std::move(stored));
  }
  ValidationActions BeginAll() {
    std::set<std::string> connected;
    for (const ValidationNode& node : state_->nodes()) connected.insert(node.uuid);
    return Note(state_->Begin(connected, now_));
  }
  // Keeps the actions, and remembers which checks are running.
  ValidationActions Note(ValidationActions actions) {
    for (const ValidationAction& action : actions) {
      if (action.kind == ValidationAction::kVerdict) {
        const CheckPart& part = *state_->Find(action.check_id);
        verdicts_.push_back(absl::StrCat(part.node, " ", state_->CheckOf(part).spec->name, " ",
                                         kOutcomes[static_cast<int>(part.outcome)],
                                         part.Partner().empty() ? "" : " with ",
                                         std::string(part.Partner())));
        reasons_.push_back(part.reason);
      }
      EXPECT_TRUE(action.kind != ValidationAction::kFinish || state_->finished());
    }
    for (const CheckPart* part : state_->TakeChanged()) stored_[part->check_id] = *part;
    return actions;
  }
  ValidationActions Report(const std::string& check_id, PartOutcome outcome) {
    return Note(state_->OnReport(check_id, outcome, now_));
  }
  ValidationActions Later(absl::Duration time) {
    now_ += time;
    return Note(state_->Tick(now_));
  }
  // Lets all running checks pass until none is running; returns their number.
  int PassAll() {
    int count = 0;
    for (auto running = RunningIds(); !running.empty(); running = RunningIds()) {
      Report(running[0], PartOutcome::kPass);
      ++count;
    }
    return count;
  }
  std::vector<std::string> RunningIds() {
    std::vector<std::string> ids;
    for (const CheckPart* part : state_->Running()) ids.push_back(part->check_id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  std::vector<CheckPart> Stored() const {
    std::vector<CheckPart> parts;
    for (const auto& [id, part] : stored_) parts.push_back(part);
    return parts;
  }

  static constexpr const char* kOutcomes[] = {"none", "pass", "fail", "unknown", "skipped"};
  absl::Time now_ = kPlainStart;
  std::unique_ptr<ValidationState> state_;
  std::vector<std::string> verdicts_, reasons_;
  std::map<std::string, CheckPart> stored_;
};

inline std::vector<std::string> Words(const ValidationActions& actions) {
  static const char* const kNames[] = {"start", "connect", "stop", "verdict", "finish"};
  std::vector<std::string> words;
  for (const ValidationAction& action : actions) {
    words.push_back(
        absl::StrCat(kNames[action.kind], action.check_id.empty() ? "" : " ", action.check_id));
  }
  return words;
}

}  // namespace muster::controller::validation
