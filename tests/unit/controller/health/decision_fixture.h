// Decisions about workers whose reports the test makes.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/text/hostlist.h"
#include "controller/health/decision.h"
#include "controller/health/fleet.h"
#include "tests/unit/controller/health/health_fixture.h"

namespace muster::controller::health {

// Workers in service whose reports the test makes; what is decided is carried out in memory.
class HealthDecisionTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(6); }

  void Begin(int workers, const std::string& policy = "") {
    inventory_ = Workers(workers, policy);
    nodes_.clear();
    for (int i = 0; i < workers; ++i) {
      nodes_.emplace_back();
      nodes_.back().Take(Report(), sets_, now_);
    }
    views_.clear();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      NodeView view;
      view.name = view.uuid = inventory_.nodes()[i].name;
      view.can_drain = view.in_service = true;
      view.health = &nodes_[i];
      views_.push_back(view);
    }
    SetPolicy(workers, policy);
  }
  void SetPolicy(int workers, const std::string& policy) {
    inventory_ = Workers(workers, policy);
    for (NodeView& view : views_) view.rules = inventory_.health().RulesOf(view.name);
  }
  // Nodes from 1.
  void Turn(int node, const std::vector<v1::Condition>& conditions) {
    nodes_[node - 1].Take(Report(conditions), sets_, now_);
  }
  NodeView& View(int node) { return views_[node - 1]; }

  // Decides and carries out; the nodes that are drained now.
  std::string Decide(absl::Duration later = absl::ZeroDuration()) {
    now_ += later;
    Situation situation;
    situation.now = now_;
    situation.nodes = views_;
    situation.drains = drains_;
    situation.holds = holds_;
    situation.quarantines = quarantines_;
    for (const auto& [key, row] : drains_) {
      if (row.reboot == HealthDrainRecord::kRunning)
        situation.reboots[key] = RebootProgress{progress_};
    }
    situation.silences = Silences(silences_, now_);
    situation.breakers = breakers_;
    situation.limits = &inventory_.health().breakers();
    situation.rules_of = [&](const std::string& uuid) { return inventory_.health().RulesOf(uuid); };
    decision_ = health::Decide(situation);
    for (const NodeCondition& key : decision_.forgotten) drains_.erase(key);
    for (const HealthDrainRecord& row : decision_.drains)
      drains_[{row.node_uuid, row.condition}] = row;
    for (const HoldChange& hold : decision_.holds) {
      holds_.emplace(views_[hold.node].uuid, hold.condition);
      if (hold.is_quarantine) quarantines_.emplace(views_[hold.node].uuid, hold.condition);
    }
    for (const HoldChange& end : decision_.ends) Resume(end.node + 1, end.condition);
    for (const auto* records : {&decision_.opened, &decision_.denied}) {
      for (const HealthBreakerRecord& record : *records) breakers_[record.group] = record;
    }
    for (const std::string& group : decision_.closed) breakers_.erase(group);
    std::vector<std::string> names;
    for (NodeView& view : views_) {
      const auto hold = holds_.lower_bound({view.uuid, ""});
      view.in_service = hold == holds_.end() || hold->first != view.uuid;
      if (!view.in_service) names.push_back(view.name);
    }
    return FoldHostlist(names);
  }
  // As `muster node resume` does.
  void Resume(size_t node, const std::string& condition) {
    holds_.erase({views_[node - 1].uuid, condition});
    quarantines_.erase({views_[node - 1].uuid, condition});
  }
  v1::HealthResponse ResponseOf(int node, const std::string& condition = "gpu_lost") const {
    for (const Answer& answer : decision_.answers) {
      if (answer.node == static_cast<size_t>(node - 1) && answer.condition == condition)
        return answer.response;
    }
    return v1::HEALTH_RESPONSE_UNSPECIFIED;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'900'000'000);
  Inventory inventory_ = Workers(1);
  WatchedSets sets_;
  std::deque<NodeHealth> nodes_;
  std::vector<NodeView> views_;
  std::map<NodeCondition, HealthDrainRecord> drains_;
  std::set<NodeCondition> holds_, quarantines_;
  RebootProgress::Kind progress_ = RebootProgress::kOpen;  // of every reboot that is running
  std::vector<HealthSilenceRecord> silences_;
  std::map<std::string, HealthBreakerRecord> breakers_;
  Decision decision_;
};

}  // namespace muster::controller::health
