// ValidationState with racks that have limits, and nodes with arbitrary power draw.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/validation/schedule/validation_state.h"

namespace muster::controller::validation {
namespace {

using checks::Load;
using Kind = ValidationAction::Kind;

const absl::Time kPowerStart = absl::FromUnixSeconds(1700000000);
constexpr double kRounding = 1e-3;
constexpr checks::CheckSpec kLook = {"look", checks::Scope::kNode, Load::kIdle, {}, {}, ""};
constexpr checks::CheckSpec kPowerGemm = {"gemm", checks::Scope::kNode, Load::kGpu, {}, {}, ""};
constexpr checks::CheckSpec kStress = {"stress", checks::Scope::kNode, Load::kCpu, {}, {}, ""};

Suite OneStage(const std::vector<const checks::CheckSpec*>& specs) {
  SuiteStage stage;
  stage.name = "all";
  for (const checks::CheckSpec* spec : specs) {
    SuiteCheck& check = stage.checks.emplace_back();
    check.spec = spec;
    check.time_limit = absl::Hours(10);
  }
  return {"s", "", {stage}};
}

// An outside observer's knowledge of the racks: predictions, and measurements.
class Ledger {
 public:
  struct Running {
    std::string node;
    Load load;
    absl::Time started_at;
    bool stopping = false;
  };

  Ledger(std::vector<RackPower> racks, std::vector<ValidationNode> nodes)
      : racks_(std::move(racks)), nodes_(std::move(nodes)) {}

  double Known(const ValidationNode& node, Load load) const {
    const auto found = measured_.find({node.name, load});
    return std::max(node.power.Of(load), found == measured_.end() ? 0 : found->second);
  }
  void Measure(const ValidationNode& node, Load load, double watts) {
    double& known = measured_[{node.name, load}];
    known = std::max(known, watts);
  }
  // Measured or predicted; `all`: including the checks that are being stopped.
  double Sum(const RackPower& rack, bool all) const {
    double sum = rack.others_watts;
    for (const ValidationNode& node : nodes_) {
      if (node.rack != rack.name) continue;
      double watts = node.power.idle;
      for (const auto& [id, check] : running) {
        if (check.node == node.name && (all || !check.stopping)) {
          watts = std::max(watts, Known(node, check.load));
        }
      }
      sum += watts;
    }
    return sum;
  }
  // The checks that load it, without those that are being stopped.
  std::ptrdiff_t Loads(const RackPower& rack) const {
    return std::count_if(running.begin(), running.end(), [&](const auto& entry) {
      return !entry.second.stopping && entry.second.load != Load::kIdle &&
             NodeOf(entry.second).rack == rack.name;
    });
  }
  const ValidationNode& NodeOf(const Running& check) const {
    return *std::find_if(nodes_.begin(), nodes_.end(),
                         [&](const ValidationNode& node) { return node.name == check.node; });
  }
  const std::vector<RackPower>& racks() const { return racks_; }
  const std::vector<ValidationNode>& nodes() const { return nodes_; }

  std::map<std::string, Running> running;  // by check id

 private:
  const std::vector<RackPower> racks_;
  const std::vector<ValidationNode> nodes_;
  std::map<std::pair<std::string, Load>, double> measured_;
};

class Racks {
 public:
  Racks(std::vector<RackPower> racks, const std::vector<ValidationNode>& nodes, const Suite& suite)
      : ledger_(racks, nodes), state_("v", suite, nodes, 0, std::move(racks)) {
    std::set<std::string> uuids;
    for (const ValidationNode& node : nodes) uuids.insert(node.uuid);
    Note(state_.Begin(uuids, now_));
  }

  ValidationState& state() { return state_; }
  Ledger& ledger() { return ledger_; }
  absl::Time now() const { return now_; }
  // When load was added to that rack, and how much.
  const std::vector<std::pair<absl::Time, double>>& added(const std::string& rack) {
    return added_[rack];
  }

  void Measure(const std::string& id, double watts) {
    const Ledger::Running check = ledger_.running.at(id);
    const ValidationNode& node = ledger_.NodeOf(check);
    // For a node with one check at a time.
    ledger_.Measure(node, check.load, watts);
    Note(state_.OnPower(node.name, watts, now_));
  }
  void Report(const std::string& id, PartOutcome outcome) {
    ledger_.running.erase(id);
    Note(state_.OnReport(id, outcome, now_));
  }
  void Tick(absl::Duration time) {
    now_ += time;
    Note(state_.Tick(now_));
  }

 private:
  void Note(const ValidationActions& actions) {
    for (const ValidationAction& action : actions) {
      if (action.kind == Kind::kStopCheck) NoteStop(action);
      if (action.kind != Kind::kStartCheck) continue;
      const Load load = state_.CheckOf(*state_.Find(action.check_id)).spec->load;
      const Ledger::Running check = {action.node, load, now_};
      const ValidationNode& node = ledger_.NodeOf(check);
      ledger_.running[action.check_id] = check;
      const double more = ledger_.Known(node, load) - node.power.idle;
      if (more > 0) added_[node.rack].emplace_back(now_, more);
    }
    state_.TakeChanged();
  }
  // The stopped check must be the one that began last among those that load the rack.
  void NoteStop(const ValidationAction& action) {
    Ledger::Running& stopped = ledger_.running.at(action.check_id);
    EXPECT_FALSE(stopped.stopping);
    EXPECT_NE(stopped.load, Load::kIdle);
    stopped.stopping = true;
    for (const auto& [id, check] : ledger_.running) {
      if (check.stopping || check.load == Load::kIdle) continue;
      if (ledger_.NodeOf(check).rack != ledger_.NodeOf(stopped).rack) continue;
      EXPECT_LE(check.started_at, stopped.started_at) << id << " is newer than " << action.check_id;
    }
  }

  absl::Time now_ = kPowerStart;
  Ledger ledger_;
  std::map<std::string, std::vector<std::pair<absl::Time, double>>> added_;
  ValidationState state_;
};

std::vector<ValidationNode> UniversityNodes() {
  std::vector<ValidationNode> nodes;
  for (int i = 1; i <= 6; ++i) {
    ValidationNode& node = nodes.emplace_back();
    node.name = absl::StrCat("c", i);
    node.uuid = absl::StrCat("u", i);
    node.rack = i <= 3 ? "r1" : "r2";
    node.power = PredictPower({1600, std::nullopt, {250, 250, 250, 250}});
  }
  return nodes;
}

// Six nodes of 1.6 kW, two racks of 6 kW: three of each burn at once, one more every five seconds.
TEST(ValidationPower, SixNodesInTwoRacksOfSixKilowatts) {
  Racks racks({{"r1", 6000, 250}, {"r2", 6000, 0}}, UniversityNodes(), OneStage({&kPowerGemm}));
  std::vector<size_t> running;
  for (int second = 0; second < 12; ++second) {
    running.push_back(racks.ledger().running.size());
    for (const RackPower& rack : racks.ledger().racks()) {
      EXPECT_LE(racks.ledger().Sum(rack, true), rack.limit_watts);
    }
    racks.Tick(absl::Seconds(1));
  }
  EXPECT_THAT(running, ::testing::ElementsAre(2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6));
  EXPECT_DOUBLE_EQ(racks.ledger().Sum(racks.ledger().racks()[0], true), 3 * 1600 + 250);
}

// One feed of 6 kW for six such nodes. Four run jobs, the other two are repaired.
TEST(ValidationPower, NodesOfARackThatJobsFillAreTestedOneAfterTheOther) {
  std::vector<ValidationNode> nodes = UniversityNodes();
  nodes.resize(2);
  Racks racks({{"r1", 6000, 4 * 1600}}, nodes, OneStage({&kStress, &kPowerGemm}));
  int checks = 0;
  for (int second = 0; second < 60 && !racks.state().finished(); ++second) {
    ASSERT_LE(racks.ledger().running.size(), 1u);
    if (!racks.ledger().running.empty()) {
      ++checks;
      const std::string id = racks.ledger().running.begin()->first;
      racks.Report(id, PartOutcome::kPass);
    }
    racks.Tick(absl::Seconds(1));
  }
  EXPECT_TRUE(racks.state().finished());
  EXPECT_EQ(checks, 4);
}

TEST(ValidationPower, MoreThanPredictedStopsTheNewestWhichRunsLater) {
  Racks racks({{"r1", 5500, 0}, {"r2", 6000, 0}}, UniversityNodes(), OneStage({&kPowerGemm}));
  for (int second = 0; second < 12; ++second) racks.Tick(absl::Seconds(1));
  ASSERT_EQ(racks.ledger().running.size(), 6u);
  racks.Measure("v/0.0.0.0/c1", 2400);
  EXPECT_TRUE(racks.ledger().running.at("v/0.0.0.0/c3").stopping);
  EXPECT_FALSE(racks.ledger().running.at("v/0.0.0.0/c2").stopping);
  racks.Report("v/0.0.0.0/c3", PartOutcome::kUnknown);
  for (int second = 0; second < 12; ++second) racks.Tick(absl::Seconds(1));
  EXPECT_EQ(racks.ledger().running.size(), 5u);  // there is no room for it yet
  racks.Report("v/0.0.0.0/c1", PartOutcome::kPass);
  racks.Tick(absl::Seconds(5));
  EXPECT_EQ(racks.ledger().running.count("v/0.0.0.1/c3"), 1u);
}

// Whatever the nodes draw: after every second the sum of the measured or predicted draw is below
// the limit, without the nodes that are not tested where only one check runs; load is added in
// steps, the newest check is stopped first, and all checks end.
TEST(ValidationPower, AnyTraceKeepsTheLimits) {
  int stopped = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto uniform = [&](double from, double to) {
      return std::uniform_real_distribution<double>(from, to)(random);
    };
    std::vector<RackPower> limits;
    for (int i = 0; i < 3; ++i) {
      limits.push_back({absl::StrCat("r", i), uniform(3000, 9000), uniform(0, 500)});
    }
    std::vector<ValidationNode> nodes;
    for (int i = 0; i < 12; ++i) {
      ValidationNode& node = nodes.emplace_back();
      node.name = absl::StrCat("c", i);
      node.uuid = absl::StrCat("u", i);
      node.rack = limits[i % 3].name;
      node.power = PredictPower({uniform(500, 1800), uniform(100, 200), {250}});
    }
    Racks racks(limits, nodes, OneStage({&kLook, &kStress, &kPowerGemm, &kLook, &kPowerGemm}));
    Ledger& ledger = racks.ledger();
    for (int second = 0; second < 3000 && !racks.state().finished(); ++second) {
      // Stopped checks need some seconds; the others end at any time.
      const auto running = ledger.running;
      for (const auto& [id, check] : running) {
        if (ledger.running.count(id) == 0) continue;
        const bool stopping = ledger.running.at(id).stopping;
        if (random() % (stopping ? 3 : 30) == 0) {
          stopped += stopping;
          racks.Report(id, stopping ? PartOutcome::kUnknown : PartOutcome::kPass);
        } else if (random() % 2 == 0) {
          racks.Measure(id, ledger.NodeOf(check).power.Of(check.load) * uniform(0.4, 1.4));
        }
      }
      racks.Tick(absl::Seconds(1));
      for (const RackPower& rack : ledger.racks()) {
        const std::ptrdiff_t loads = ledger.Loads(rack);
        if (loads == 0) continue;  // the rest is not caused by a test
        ASSERT_LE(ledger.Sum(rack, false) - (loads == 1 ? rack.others_watts : 0),
                  rack.limit_watts + kRounding)
            << "seed " << seed << ", second " << second << ", rack " << rack.name;
      }
    }
    EXPECT_TRUE(racks.state().finished()) << "seed " << seed;
    for (const RackPower& rack : limits) {
      const auto& added = racks.added(rack.name);
      for (size_t first = 0; first < added.size(); ++first) {
        double sum = 0;
        size_t i = first;
        for (; i < added.size() && added[i].first < added[first].first + absl::Seconds(5); ++i) {
          sum += added[i].second;
        }
        EXPECT_TRUE(i == first + 1 || sum <= rack.limit_watts / 3 + kRounding)
            << "seed " << seed << ", rack " << rack.name << ": " << sum << " W in five seconds";
      }
    }
  }
  EXPECT_GT(stopped, 20);  // the traces are meaningful
}

}  // namespace
}  // namespace muster::controller::validation
