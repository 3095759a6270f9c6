// A run of two plays on two nodes with a fault at every transaction in turn: it ends as if there
// had been none.
#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "controller/run/run_engine.h"
#include "controller/session/facts_round.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::FailingStore;
using ::testing::AllOf;
using ::testing::HasSubstr;

// An agent as the controller sees it: it takes each plan once, whatever its sequence, and repeats
// every report until it learns that it is stored.
struct Agent {
  std::string name;
  uint64_t highest_plan = 0;
  uint64_t next_report = 1;
  std::deque<v1::Plan> work;
  size_t steps_done = 0;  // of the first plan
  std::deque<v1::Report> unacknowledged;
  std::vector<std::string> taken;  // ids of plans, in order
};

class RunCrashTest : public RunFixture {
 protected:
  static constexpr int kMaxSeconds = 300;
  static constexpr int kSteps = 2;

  void TearDown() override { engine_.reset(); }

  // A fresh store, controller and agents, `fault`, and the whole life of a run.
  template <typename Fault>
  std::string LiveAnew(Fault fault) {
    engine_.reset();
    for (const char* uuid : {"ua", "ub"}) {
      sessions_.Cut(uuid);
      sessions_.Take(uuid);
    }
    RunFixture::SetUp();
    site_["pair.yaml"] = "first: a b\nsecond: a b\n";
    auto failing = std::make_unique<FailingStore>(std::move(store_));
    failing_ = failing.get();
    store_ = std::move(failing);
    agents_ = {{.name = "a"}, {.name = "b"}};
    next_death_ = refuse_after_ = 0;
    Begin();
    failing_->Refuse(0, 0);  // transactions count from here on
    failing_->Die(0, FailingStore::Death::kBeforeCommit, [] {});
    fault();
    return Live();
  }

  void Begin() {
    engine_ = std::make_unique<RunEngine>(Collaborators());
    // The service manager retries a start that fails.
    for (int tries = 0; !engine_->Resume().ok(); ++tries) {
      ASSERT_LT(tries, 10);
      engine_ = std::make_unique<RunEngine>(Collaborators());
    }
    for (Agent& agent : agents_) Join(agent);
  }

  void DieAt(int update, FailingStore::Death death) {
    failing_->Die(update, death, [this] {
      for (const Agent& agent : agents_) sessions_.Cut("u" + agent.name);
    });
  }
  // The messages of the dead controller have arrived.
  void ReviveIfDead() {
    if (!failing_->dead()) return;
    Hear();
    failing_->Revive();
    if (next_death_ > 0) DieAt(std::exchange(next_death_, 0), FailingStore::Death::kAfterCommit);
    if (refuse_after_ > 0) failing_->Refuse(std::exchange(refuse_after_, 0), 1);
    Begin();
  }

  void Join(Agent& agent) {
    sessions_.Connect("u" + agent.name);
    v1::Hello hello;
    hello.set_last_sequence(agent.highest_plan);
    if (!agent.work.empty()) hello.set_active_plan_id(agent.work.front().plan_id());
    engine_->OnConnected("u" + agent.name, hello);
    for (const v1::Report& report : std::deque<v1::Report>(agent.unacknowledged)) {
      Tell(agent, report);
    }
  }
  void Tell(const Agent& agent, const v1::Report& report) {
    engine_->OnReports({{"u" + agent.name, std::make_shared<const v1::Report>(report)}});
  }

  void Hear() {
    for (Agent& agent : agents_) {
      for (const v1::ControllerMessage& message : sessions_.Take("u" + agent.name)) {
        HearOne(agent, message);
      }
    }
  }
  void HearOne(Agent& agent, const v1::ControllerMessage& message) {
    const std::string uuid = "u" + agent.name;
    if (message.has_gather_facts())
      engine_->OnFacts(uuid, ParseFactsRequest(message.gather_facts().request_id())->id);
    if (message.has_reports_stored()) {
      while (!agent.unacknowledged.empty() && agent.unacknowledged.front().report_sequence() <=
                                                  message.reports_stored().up_to_sequence()) {
        agent.unacknowledged.pop_front();
      }
    }
    if (!message.has_plan()) return;
    const v1::Plan& plan = message.plan();
    v1::PlanReceipt receipt;
    receipt.set_plan_id(plan.plan_id());
    const bool is_known =
        std::find(agent.taken.begin(), agent.taken.end(), plan.plan_id()) != agent.taken.end();
    receipt.set_accepted(is_known || plan.sequence() > agent.highest_plan);
    if (!receipt.accepted()) receipt.set_reason("plan has an old sequence");
    if (!is_known && receipt.accepted()) {
      agent.highest_plan = plan.sequence();
      agent.taken.push_back(plan.plan_id());
      agent.work.push_back(plan);
    }
    engine_->OnPlanReceipt(uuid, receipt);
  }

  // One step of the agent's work, or the end of its plan.
  void Work(Agent& agent) {
    if (agent.work.empty()) return;
    v1::Report report;
    report.set_report_sequence(agent.next_report++);
    report.set_plan_id(agent.work.front().plan_id());
    if (agent.steps_done < kSteps) {
      v1::StepResult& step = *report.mutable_step();
      step.set_step_id(absl::StrCat("role/step", ++agent.steps_done));
      step.set_status(agent.name == "a" ? v1::STEP_STATUS_CHANGED : v1::STEP_STATUS_OK);
    } else {
      report.mutable_outcome()->set_succeeded(true);
      agent.work.pop_front();
      agent.steps_done = 0;
    }
    agent.unacknowledged.push_back(report);
    if (sessions_.IsConnected("u" + agent.name)) Tell(agent, report);
  }

  // Like an administrator: tries again after a failure, unless the run turns out to exist.
  void CreateRun() {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_playbook("pair.yaml");
    for (int tries = 0; tries < 10; ++tries) {
      if (engine_->Create(request, {{"admin:alice", ""}}).ok()) return;
      ReviveIfDead();
      if (!Stored().empty()) return;
    }
    FAIL() << "no run was created";
  }

  std::vector<RunRecord> Stored() {
    std::vector<RunRecord> runs;
    EXPECT_OK(failing_->below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(runs, txn.runs().List(10));
      return absl::OkStatus();
    }));
    return runs;
  }
  bool IsOver() {
    for (const Agent& agent : agents_) {
      if (!agent.unacknowledged.empty()) return false;
    }
    return Stored().at(0).state != RunRecord::kRunning;
  }

  // The whole life of the run; returns what it left, except for random parts (ids, times).
  std::string Live() {
    CreateRun();
    for (int second = 0; second < kMaxSeconds; ++second) {
      ReviveIfDead();
      Hear();
      for (Agent& agent : agents_) Work(agent);
      ReviveIfDead();
      if (IsOver()) return What();
      Pass(absl::Seconds(1));
    }
    return absl::StrCat("not over: ", What());
  }

  std::string What() {
    std::vector<std::string> lines;
    const std::string id = Stored().at(0).run_id;
    EXPECT_OK(failing_->below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto runs, txn.runs().List(10));
      for (const RunRecord& run : runs)
        lines.push_back(absl::StrCat("run ", run.state, " play ", run.current_play, run.message));
      ASSIGN_OR_RETURN(const auto nodes, txn.runs().ListNodes(id));
      for (const RunNodeRecord& row : nodes) {
        lines.push_back(absl::StrCat(row.node, " ", row.state, " play ", row.play_index,
                                     " ok=", row.ok, " changed=", row.changed,
                                     " failed=", row.failed, row.message));
        ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(row.node_uuid));
        lines.push_back(absl::StrCat(node.last_run_result, " ", node.state, " reports up to ",
                                     node.report_sequence));
      }
      std::set<uint64_t> sequences;
      for (const char* name : {"a", "b"}) {
        ASSIGN_OR_RETURN(const auto stored, txn.step_results().List(id, name));
        for (const StepResultRecord& each : stored) {
          EXPECT_TRUE(sequences.insert(each.sequence).second) << "two results share a sequence";
          lines.push_back(absl::StrCat("result ", each.node, " ", each.play_index, " ",
                                       each.step_id, " ", each.status));
        }
      }
      ASSIGN_OR_RETURN(const auto events, txn.events().List(100, 0));
      for (const EventRecord& event : events)
        lines.push_back(absl::StrCat("event ", event.action, " ", event.actor));
      ASSIGN_OR_RETURN(const auto broken, txn.events().FirstBroken());
      EXPECT_FALSE(broken.has_value());
      return absl::OkStatus();
    }));
    for (const Agent& agent : agents_) {
      // Their plays, without the run's id.
      for (const std::string& plan : agent.taken)
        lines.push_back(absl::StrCat(agent.name, " ran ", plan.substr(id.size())));
    }
    return absl::StrJoin(lines, "\n");
  }

  FailingStore* failing_ = nullptr;
  std::vector<Agent> agents_;
  int next_death_ = 0;    // the Update after the first death
  int refuse_after_ = 0;  // the transaction after the first death
};

// The result of a run without faults, and its number of transactions.
TEST_F(RunCrashTest, UndisturbedRunEndsWell) {
  const std::string end = LiveAnew([] {});
  EXPECT_THAT(end, AllOf(HasSubstr("a done play 1 ok=0 changed=4 failed=0"),
                         HasSubstr("b done play 1 ok=4 changed=0 failed=0"),
                         HasSubstr("changed 3 reports up to 6"), HasSubstr("a ran /0\na ran /1")));
  EXPECT_GT(failing_->updates(), 15);
}

TEST_F(RunCrashTest, RefusedTransactionsOnlyDelay) {
  const std::string end = LiveAnew([] {});
  const int transactions = failing_->transactions();
  for (const int count : {1, 4}) {
    for (int first = 1; first <= transactions; ++first) {
      SCOPED_TRACE(absl::StrCat(count, " refused from ", first));
      EXPECT_EQ(LiveAnew([&] { failing_->Refuse(first, count); }), end);
    }
  }
}

TEST_F(RunCrashTest, DeathAtAnyUpdateChangesNothing) {
  const std::string end = LiveAnew([] {});
  const int updates = failing_->updates();
  for (const auto death : {FailingStore::Death::kBeforeCommit, FailingStore::Death::kAfterCommit}) {
    for (int number = 1; number <= updates; ++number) {
      SCOPED_TRACE(absl::StrCat(death == FailingStore::Death::kAfterCommit ? "after " : "before ",
                                "update ", number));
      EXPECT_EQ(LiveAnew([&] { DieAt(number, death); }), end);
    }
  }
}

// While the new process starts, the store refuses once, or the process dies again.
TEST_F(RunCrashTest, FaultsAfterADeathChangeNothing) {
  const std::string end = LiveAnew([] {});
  const int updates = failing_->updates();
  std::mt19937 random(20260101);
  for (int i = 0; i < 60; ++i) {
    const int first = 1 + static_cast<int>(random() % updates);
    const int second = 1 + static_cast<int>(random() % 12);
    SCOPED_TRACE(absl::StrCat("death at ", first, ", then ", i % 2 == 0 ? "death" : "refusal",
                              " at ", second));
    EXPECT_EQ(LiveAnew([&] {
                (i % 2 == 0 ? next_death_ : refuse_after_) = second;
                DieAt(first, FailingStore::Death::kBeforeCommit);
              }),
              end);
  }
}

}  // namespace
}  // namespace muster::controller
