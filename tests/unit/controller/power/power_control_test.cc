#include "controller/power/power_control.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/power.pb.h"
#include "tests/fakes/fake_bmc.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::FakeBmc;
using ::muster::testing::FakeMachinePower;
using ::muster::testing::FakeSecretSource;
using ::muster::testing::FakeSlurmControl;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Actor kAnn = {"admin:ann", "ipv4:10.0.0.1:1"};

class PowerControlTest : public ::testing::Test {
 protected:
  PowerControlTest() : store_(*OpenStore(":memory:")) {
    secrets_.secrets["bmc"] = "hunter2\n";
    control_.Start();
  }

  PowerAction Action(PowerVerb verb, const std::vector<std::string>& nodes) {
    PowerAction action;
    action.order.verb = verb;
    for (const std::string& node : nodes) {
      BmcAccess access;
      access.address = node;
      access.password_secret = "bmc";
      action.targets.push_back({node, access, {}});
    }
    return action;
  }
  std::shared_ptr<PowerWatch> Begin(PowerAction action) {
    const auto watch = control_.Begin(std::move(action), kAnn, [this] {
      absl::MutexLock lock(&mutex_);
      is_ready_ = true;
    });
    EXPECT_OK(watch);
    return watch.ok() ? *watch : nullptr;
  }
  // The last word about each node, once all is over: "done on: note", "failed unknown: why".
  std::map<std::string, std::string> Await(PowerWatch& watch) {
    std::map<std::string, std::string> last;
    for (int i = 0; i < 3000 && !watch.AtEnd() && !watch.IsBroken(); ++i) {
      while (const auto event = watch.Next()) {
        if (!event->has_node()) continue;
        const v1::NodePower& node = event->node();
        constexpr const char* kSteps[] = {"?", "waiting", "asked", "done", "failed"};
        constexpr const char* kStates[] = {"unknown", "off", "on"};
        std::string word = absl::StrCat(kSteps[node.step()], " ", kStates[node.state()],
                                        node.message().empty() ? "" : ": ", node.message());
        steps_.push_back(absl::StrCat(node.node(), " ", word));
        last[node.node()] = std::move(word);
      }
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&is_ready_), absl::Milliseconds(10));
      is_ready_ = false;
    }
    EXPECT_TRUE(watch.AtEnd() || watch.IsBroken());
    return last;
  }
  std::map<std::string, std::string> Do(PowerAction action) {
    return Await(*Begin(std::move(action)));
  }
  // The newest first, without the id of the order.
  std::vector<std::string> Audited() {
    std::vector<std::string> entries;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(100, 0));
      for (const EventRecord& event : events)
        entries.push_back(absl::StrCat(event.actor, " ", event.action, " ", event.subject, " ",
                                       event.detail.substr(event.detail.find(": ") + 2)));
      return absl::OkStatus();
    }));
    return entries;
  }
  FakeMachinePower& Machine(const std::string& node) {
    absl::MutexLock lock(&mutex_);
    return machines_[node];
  }

  RealClock clock_;
  std::unique_ptr<Store> store_;
  FakeSecretSource secrets_;
  NodeClaims claims_;
  FakeSlurmControl slurm_;
  std::map<std::string, FakeMachinePower> machines_;
  std::vector<std::string> steps_;
  absl::Mutex mutex_;
  bool is_ready_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> passwords_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> boots_ ABSL_GUARDED_BY(mutex_);  // as told
  PowerControl control_{{
      .store = *store_,
      .clock = clock_,
      .secrets = secrets_,
      .claims = claims_,
      .slurm = slurm_,
      .open_bmc =
          [this](const BmcAccess& access, const SecretBuffer& password, Cancelled) {
            absl::MutexLock lock(&mutex_);
            passwords_.emplace_back(password.Reveal());
            return std::make_unique<FakeBmc>(machines_[access.address]);
          },
      .on_boot =
          [this](const std::string& node) {
            absl::MutexLock lock(&mutex_);
            boots_.push_back(node);
          },
      .warn = [](absl::string_view) {},
      .threads = 2,
      .patience = {.change = absl::Milliseconds(100),
                   .soft = absl::Milliseconds(100),
                   .look = absl::Milliseconds(5),
                   .off = absl::Milliseconds(10)},
  }};
};

TEST_F(PowerControlTest, CarriesOutAndAudits) {
  PowerAction action = Action(PowerVerb::kOn, {"c1", "c2", "c3"});
  action.reason = "back from repair";
  EXPECT_THAT(Do(std::move(action)),
              ElementsAre(std::pair("c1", "done on"), std::pair("c2", "done on"),
                          std::pair("c3", "done on")));
  EXPECT_THAT(Audited(), ElementsAre("admin:ann power.end c[1-3] 3 nodes done",
                                     "admin:ann power.start c[1-3] on; reason: back from repair"));
  EXPECT_THAT(secrets_.readers, Each("power"));
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(passwords_, ElementsAre("hunter2", "hunter2", "hunter2"));
  EXPECT_THAT(boots_, UnorderedElementsAre("c1", "c2", "c3"));
}

TEST_F(PowerControlTest, AQuestionLeavesNoTrace) {
  Machine("c1").Set(PowerState::kOn);
  EXPECT_THAT(Do(Action(PowerVerb::kStatus, {"c1", "c2"})),
              ElementsAre(std::pair("c1", "done on"), std::pair("c2", "done off")));
  EXPECT_THAT(Audited(), IsEmpty());
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(boots_, IsEmpty());
}

TEST_F(PowerControlTest, OneThatFailsKeepsNothingFromTheOthers) {
  Machine("c1").FailWith(absl::UnauthenticatedError("the password is wrong"));
  PowerAction action = Action(PowerVerb::kOn, {"c1", "c2", "c3"});
  action.targets[2].access = absl::FailedPreconditionError("no bmc_address");
  EXPECT_THAT(
      Do(std::move(action)),
      ElementsAre(std::pair("c1", "failed unknown: BMC c1: the password is wrong"),
                  std::pair("c2", "done on"), std::pair("c3", "failed unknown: no bmc_address")));
  EXPECT_THAT(Audited()[0], AllOf(HasSubstr("1 node done"), HasSubstr("c1 failed: BMC c1: the"),
                                  HasSubstr("c3 failed: no bmc_address")));
}

TEST_F(PowerControlTest, APasswordThatMayNotBeReadIsNamed) {
  secrets_.may_read = [](absl::string_view, const SecretReader&) {
    return absl::PermissionDeniedError("its roles are: slurm");
  };
  EXPECT_THAT(Do(Action(PowerVerb::kStatus, {"c1"})),
              ElementsAre(std::pair("c1", "failed unknown: secret bmc: its roles are: slurm")));
}

TEST_F(PowerControlTest, JobsKeepTheirMachine) {
  Machine("c1").Set(PowerState::kOn);
  Machine("c2").Set(PowerState::kOn);
  slurm_.DrainBy("root", "c1", "disk");
  slurm_.DrainBy("root", "c2", "disk");
  SlurmJob job;
  job.id = "17";
  job.user = "eve";
  slurm_.jobs["c2"] = {job};
  for (const PowerVerb verb : {PowerVerb::kOff, PowerVerb::kCycle, PowerVerb::kReset}) {
    const auto last = Do(Action(verb, {"c1", "c2"}));
    EXPECT_THAT(last.at("c1"), Said());
    EXPECT_EQ(last.at("c1"), last.at("c2")) << "all or nothing";
  }
  EXPECT_THAT(Machine("c1").Orders(), IsEmpty());
  EXPECT_THAT(Machine("c2").Orders(), IsEmpty());
  // What changes nothing for a job is done all the same.
  EXPECT_EQ(Do(Action(PowerVerb::kOn, {"c2"})).at("c2"), "done on: it was on already");
  PowerAction forced = Action(PowerVerb::kOff, {"c2"});
  forced.force = true;
  EXPECT_EQ(Do(std::move(forced)).at("c2"), "done off");
}

TEST_F(PowerControlTest, SoDoesWhatMayGetJobsOrIsNotKnown) {
  slurm_.Add("c1");
  EXPECT_THAT(Do(Action(PowerVerb::kOff, {"c1"})).at("c1"), Said());
  slurm_.is_silent = true;  // slurmctld does not reach it, and starts nothing there
  EXPECT_EQ(Do(Action(PowerVerb::kOff, {"c1"})).at("c1"), "done off: it was off already");
  slurm_.status = absl::UnavailableError("slurmctld does not answer");
  EXPECT_THAT(Do(Action(PowerVerb::kOff, {"c1"})).at("c1"), Said());
  slurm_.status = absl::NotFoundError("there is no Slurm yet");
  EXPECT_EQ(Do(Action(PowerVerb::kOff, {"c1"})).at("c1"), "done off: it was off already");
}

TEST_F(PowerControlTest, WhoWorksOnANodeKeepsItsPower) {
  ASSERT_OK(
      claims_.Claim({"r-1", "run r-1 of ann works on", "wait for it", absl::UnixEpoch()}, {"c2"}));
  EXPECT_THAT(control_.Begin(Action(PowerVerb::kReset, {"c1", "c2"}), kAnn, [] {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(claims_.HeldOf({"c1"}), IsEmpty());
  EXPECT_THAT(Audited(), IsEmpty());
  claims_.Release("r-1");
  // And the other way round, for as long as it takes.
  Machine("c1").Set(PowerState::kOn);
  {
    FakeMachinePower& machine = Machine("c1");
    absl::MutexLock lock(&machine.mutex);
    machine.lies = true;
  }
  slurm_.status = absl::NotFoundError("there is no Slurm yet");
  const auto watch = Begin(Action(PowerVerb::kOff, {"c1"}));
  EXPECT_THAT(claims_.Claim({"r-2", "run r-2 works on", "wait", absl::UnixEpoch()}, {"c1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("admin:ann (power off)")));
  EXPECT_TRUE(absl::StartsWith(Await(*watch).at("c1"), "failed on: BMC c1"));
  EXPECT_THAT(claims_.HeldOf({"c1"}), IsEmpty());
}

TEST_F(PowerControlTest, MachinesOfARackComeOnOneAfterTheOther) {
  PowerAction action = Action(PowerVerb::kOn, {"c1", "c2", "d1"});
  for (PowerTarget& target : action.targets)
    target.need = {.rack = target.node == "d1" ? "r2" : "r1", .gap = absl::Seconds(3)};
  const absl::Time began = clock_.Now();
  const auto last = Do(std::move(action));
  EXPECT_GE(clock_.Now() - began, absl::Seconds(3));
  for (const char* node : {"c1", "c2", "d1"}) EXPECT_EQ(last.at(node), "done on") << node;
  const auto at = [&](absl::string_view text) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (absl::StartsWith(steps_[i], text)) return static_cast<int>(i);
    }
    return -1;
  };
  // Which of the two comes first is up to the threads.
  const std::string second = at("c1 done") < at("c2 done") ? "c2" : "c1";
  EXPECT_GE(at(absl::StrCat(second, " waiting off: the last machine of rack r1")), 0)
      << "it says why it waits";
  EXPECT_LT(at("d1 done"), at(absl::StrCat(second, " done"))) << "another rack does not wait";
}

// Two threads, and an order for hundreds of BMCs that hang: some twenty seconds.
TEST_F(PowerControlTest, ALargeOrderHoldsUpNoOther) {
  PowerAction large = Action(PowerVerb::kOff, {});
  large.force = true;
  for (int i = 0; i < 400; ++i) {
    const std::string node = absl::StrCat("x", i);
    large.targets.push_back(Action(PowerVerb::kOff, {node}).targets[0]);
    FakeMachinePower& machine = Machine(node);
    machine.Set(PowerState::kOn);
    absl::MutexLock lock(&machine.mutex);
    machine.lies = true;
  }
  const auto watch = Begin(std::move(large));
  const absl::Time began = clock_.Now();
  EXPECT_THAT(Do(Action(PowerVerb::kStatus, {"c1", "c2", "c3"})),
              ElementsAre(std::pair("c1", "done off"), std::pair("c2", "done off"),
                          std::pair("c3", "done off")));
  EXPECT_LT(clock_.Now() - began, absl::Seconds(10));
  watch->Cancel();
}

TEST_F(PowerControlTest, AMachineThatItsRackCannotCarryStaysOff) {
  PowerAction action = Action(PowerVerb::kOn, {"c1"});
  action.targets[0].need = {.rack = "r1", .limit_watts = 500, .start_watts = 1000};
  EXPECT_THAT(Do(std::move(action)).at("c1"), Said());
  EXPECT_THAT(Machine("c1").Orders(), IsEmpty());
}

TEST_F(PowerControlTest, WhoLeavesHasTheRestLeftAlone) {
  const std::vector<std::string> nodes = {"c1", "c2", "c3", "c4"};
  PowerAction action = Action(PowerVerb::kOn, nodes);
  for (PowerTarget& target : action.targets) target.need = {.rack = "r1", .gap = absl::Hours(1)};
  const auto watch = Begin(std::move(action));
  // Which one comes first is up to the threads.
  const auto count_on = [&] {
    return std::count_if(nodes.begin(), nodes.end(),
                         [&](const std::string& node) { return !Machine(node).Orders().empty(); });
  };
  for (int i = 0; i < 6000 && count_on() == 0; ++i) clock_.Sleep(absl::Milliseconds(10));
  watch->Cancel();
  for (int i = 0; i < 6000 && Audited().size() < 2; ++i) clock_.Sleep(absl::Milliseconds(10));
  EXPECT_THAT(Audited()[0], AllOf(HasSubstr("1 node done"), HasSubstr("not begun")));
  EXPECT_EQ(count_on(), 1);
}

TEST_F(PowerControlTest, AStoppingControllerEndsWatchesAndFinishesACycle) {
  Machine("c1").Set(PowerState::kOn);
  slurm_.status = absl::NotFoundError("there is no Slurm yet");
  const auto watch = Begin(Action(PowerVerb::kCycle, {"c1"}));
  for (int i = 0; i < 60'000 && Machine("c1").Orders().empty(); ++i)
    clock_.Sleep(absl::Milliseconds(1));
  control_.Stop();
  EXPECT_TRUE(watch->IsBroken());
  EXPECT_THAT(Machine("c1").Orders(), ElementsAre("off", "on"));
  EXPECT_EQ(control_.Begin(Action(PowerVerb::kOn, {"c1"}), kAnn, [] {}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::controller::power
