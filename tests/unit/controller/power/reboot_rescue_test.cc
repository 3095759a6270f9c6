#include "controller/power/reboot_rescue.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/inventory/inventory.h"
#include "controller/power/power_control.h"
#include "controller/run/collaborators.h"
#include "controller/store/soci/store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_bmc.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::FakeAgentSessions;
using ::muster::testing::FakeBmc;
using ::muster::testing::FakeClock;
using ::muster::testing::FakeMachinePower;
using ::muster::testing::FakeSecretSource;
using ::muster::testing::FakeSlurmControl;
using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kRebooting[] = R"(
cluster: x
nodes:
  "c[1-3]": {role: compute, bmc_address: "10.1.0.[1-3]"}
  d1: {role: compute, bmc_address: 10.1.0.9}
vars: {bmc_protocol: redfish, bmc_user: muster, bmc_password_secret: bmc}
groups:
  workers: {nodes: "c[1-3]", vars: {bmc_cycle_after: 15m}}
)";

RebootRecord Reboot(const std::string& node, absl::Time granted_at) {
  RebootRecord reboot;
  reboot.permit_id = absl::StrCat("permit-", node);
  reboot.run_id = "r-1";
  reboot.node = node;
  reboot.node_uuid = absl::StrCat("u-", node);
  reboot.boot_id = "b1";
  reboot.granted_at = granted_at;
  reboot.expires_at = granted_at + absl::Minutes(1);
  reboot.back_by = granted_at + absl::Minutes(30);
  return reboot;
}

std::vector<std::string> NamesOf(const std::vector<RebootRecord>& reboots) {
  std::vector<std::string> names;
  for (const RebootRecord& reboot : reboots) names.push_back(reboot.node);
  return names;
}

TEST(PlanRescuesTest, IsForThoseThatAreAwayForTooLong) {
  const auto inventory = ParseInventory({{"f", kRebooting}});
  ASSERT_OK(inventory);
  const absl::Time now = absl::FromUnixSeconds(1'900'000'000);
  const absl::Time long_ago = now - absl::Hours(5);
  RebootRecord ended = Reboot("c1", now - absl::Minutes(20));
  ended.ended_at = now;
  const std::vector<RebootRecord> open = {
      Reboot("c1", now - absl::Minutes(16)),  // due
      Reboot("c2", now - absl::Minutes(16)),  // its agent is there
      Reboot("c3", now - absl::Minutes(14)),  // not yet
      Reboot("d1", now - absl::Hours(4)),     // the inventory does not want it
      Reboot("gone", now - absl::Hours(4)),   // the inventory does not know it
      ended};
  const auto is_up = [](const std::string& uuid) { return uuid == "u-c2"; };
  EXPECT_THAT(NamesOf(PlanRescues(open, *inventory, {}, is_up, {}, long_ago, now)),
              ElementsAre("c1"));
  // An earlier process may have cycled it.
  EXPECT_THAT(PlanRescues(open, *inventory, {}, is_up, {}, now, now), IsEmpty());
}

TEST(PlanRescuesTest, NeverTheMachineOfTheControllerItself) {
  const auto inventory = ParseInventory({{"f", kRebooting}});
  ASSERT_OK(inventory);
  const absl::Time now = absl::FromUnixSeconds(1'900'000'000);
  std::vector<RebootRecord> open = {Reboot("c1", now - absl::Minutes(16)),
                                    Reboot("c2", now - absl::Minutes(16))};
  open[1].boot_id = "0f7e4d6c-1c5a";
  const auto plan = [&](const OwnMachine& own) {
    return NamesOf(PlanRescues(
        open, *inventory, own, [](const std::string&) { return false; }, {}, now - absl::Hours(5),
        now));
  };
  EXPECT_THAT(plan({.boot_id = "0f7e4d6c1c5a", .names = {}}), ElementsAre("c1"));
  // The agent has not come back in the boot that the controller is in.
  EXPECT_THAT(plan({.boot_id = "b3", .names = {"c2"}}), ElementsAre("c1"));
}

// An image is written to the disk by a boot from the network, and a second start of the firmware
// comes after that.
TEST(PlanRescuesTest, ANodeThatWasSeenToBootHasItsTimeFromThereOn) {
  const auto inventory = ParseInventory({{"f", kRebooting}});
  ASSERT_OK(inventory);
  const absl::Time now = absl::FromUnixSeconds(1'900'000'000);
  const absl::Time granted_at = now - absl::Minutes(20);
  const std::vector<RebootRecord> open = {Reboot("c1", granted_at), Reboot("c2", granted_at),
                                          Reboot("c3", granted_at)};
  const std::map<std::string, absl::Time> last_steps = {
      {"c1", now - absl::Minutes(14)},           // the disk was written
      {"c2", now - absl::Minutes(15)},           // and nothing since then
      {"c3", granted_at - absl::Minutes(100)}};  // a boot before
  const auto plan = [&](absl::Time since) {
    return NamesOf(PlanRescues(
        open, *inventory, {}, [](const std::string&) { return false; }, last_steps, since, now));
  };
  EXPECT_THAT(plan(granted_at), ElementsAre("c2", "c3"));
  // An earlier process may have cycled it, and what was seen then is the boot after that.
  EXPECT_THAT(plan(now - absl::Minutes(4)), IsEmpty());
}

class RebootRescueTest : public ::testing::Test, public InventorySource {
 protected:
  RebootRescueTest() : store_(*OpenStore(":memory:")) {
    inventory_ = std::make_shared<const Inventory>(*ParseInventory({{"f", kRebooting}}));
    secrets_.secrets["bmc"] = "hunter2";
    machine_.Set(PowerState::kOn);
    // The run has the node, and its permit has it drained.
    EXPECT_OK(claims_.Claim({"r-1", "run r-1 works on", "wait", clock_.Now()}, {"c1"}));
    slurm_.DrainBy("root", "c1", "muster:r-1 reboots");
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      RunRecord run;
      run.run_id = "r-1";
      run.state = RunRecord::kRunning;
      run.created_at = clock_.Now();
      RETURN_IF_ERROR(txn.runs().Put(run));
      return txn.reboots().Put(Reboot("c1", clock_.Now()));
    }));
  }
  // Its thread asks this object for the inventory, so that it has to be whole.
  void SetUp() override {
    control_.Start();
    rescue_.Start();
  }
  void TearDown() override {
    rescue_.Stop();
    control_.Stop();
  }

  absl::StatusOr<InventoryVersion> Latest() override {
    InventoryVersion version;
    version.inventory = inventory_;
    return version;
  }
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t) override { return inventory_; }

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
  // So that it looks, and had time for what would be wrong.
  void LookAndSettle(absl::Duration later) {
    clock_.Advance(later);
    absl::SleepFor(absl::Milliseconds(200));
  }
  // The entries of the audit log, once there are so many.
  std::vector<std::string> AwaitAudited(size_t count) {
    std::vector<std::string> entries;
    for (int i = 0; i < 1000 && entries.size() < count; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      entries = Audited();
    }
    return entries;
  }

  FakeClock clock_;
  std::shared_ptr<const Inventory> inventory_;
  std::unique_ptr<Store> store_;
  FakeSecretSource secrets_;
  NodeClaims claims_;
  FakeSlurmControl slurm_;
  FakeAgentSessions sessions_;
  FakeMachinePower machine_;
  PowerControl control_{{
      .store = *store_,
      .clock = clock_,
      .secrets = secrets_,
      .claims = claims_,
      .slurm = slurm_,
      .open_bmc = [this](const BmcAccess&, SecretBuffer,
                         Cancelled) { return std::make_unique<FakeBmc>(machine_); },
      .warn = [](absl::string_view) {},
      .threads = 2,
  }};
  absl::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> reboots_ ABSL_GUARDED_BY(mutex_);  // as told at the last look
  RebootRescue rescue_{*store_,
                       sessions_,
                       *this,
                       clock_,
                       control_,
                       OwnMachine(),
                       [this](const std::string& node) {
                         absl::MutexLock lock(&mutex_);
                         reboots_ = {node};
                       },
                       [this](absl::string_view line) {
                         absl::MutexLock lock(&mutex_);
                         log_.emplace_back(line);
                       }};
};

TEST_F(RebootRescueTest, CyclesOnceThoughARunHasTheNode) {
  LookAndSettle(absl::Minutes(14));
  EXPECT_THAT(machine_.Orders(), IsEmpty());
  {
    absl::MutexLock lock(&mutex_);
    EXPECT_THAT(reboots_, ElementsAre("c1"));
  }
  clock_.Advance(absl::Minutes(1));
  const std::vector<std::string> entries = AwaitAudited(2);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_THAT(entries[1], Said());
  EXPECT_THAT(entries[0], Said());
  // It still does not come back, and is a person's from now on.
  LookAndSettle(absl::Minutes(30));
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  EXPECT_THAT(claims_.HeldOf({"c1"}), ElementsAre("c1")) << "the run's claim stays";
}

TEST_F(RebootRescueTest, CountsFromTheLastStepOfABoot) {
  clock_.Advance(absl::Minutes(14));
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.boots().Append(
        {.boot_id = "b2", .node = "c1", .what = "worker", .began_at = clock_.Now()}, 10));
    return txn.boots().AppendStep({.boot_id = "b2", .node = "c1", .time = clock_.Now()});
  }));
  LookAndSettle(absl::Minutes(14));
  EXPECT_THAT(machine_.Orders(), IsEmpty());
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(AwaitAudited(2).size(), 2u);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
}

TEST_F(RebootRescueTest, NeverUnderAJob) {
  SlurmJob job;
  job.id = "17";
  job.user = "eve";
  slurm_.jobs["c1"] = {job};
  clock_.Advance(absl::Minutes(16));
  EXPECT_EQ(AwaitAudited(2).size(), 2u) << "the attempt is on record";
  EXPECT_THAT(machine_.Orders(), IsEmpty());
}

TEST_F(RebootRescueTest, TriesAgainWhereNothingWasDone) {
  slurm_.status = absl::UnavailableError("slurmctld restarts");
  clock_.Advance(absl::Minutes(15));
  ASSERT_EQ(AwaitAudited(2).size(), 2u);
  LookAndSettle(absl::Seconds(50));
  EXPECT_EQ(Audited().size(), 2u) << "not at each look";
  slurm_.status = absl::OkStatus();
  machine_.FailWith(absl::UnavailableError("it does not answer"));
  clock_.Advance(absl::Seconds(10));
  ASSERT_EQ(AwaitAudited(4).size(), 4u);
  LookAndSettle(absl::Minutes(1));
  EXPECT_EQ(Audited().size(), 4u) << "less and less often";
  EXPECT_THAT(machine_.Orders(), IsEmpty());
  machine_.FailWith(absl::OkStatus());
  clock_.Advance(absl::Minutes(1));
  ASSERT_EQ(AwaitAudited(6).size(), 6u);
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  LookAndSettle(absl::Minutes(30));
  EXPECT_THAT(machine_.Orders(), ElementsAre("off", "on"));
  EXPECT_EQ(Audited().size(), 6u);
  rescue_.Stop();
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(
      log_,
      ElementsAre("c1 is not back from its reboot after 15m 00s (bmc_cycle_after); it is power "
                  "cycled once",
                  AllOf(StartsWith("c1 was not power cycled: nothing was done: which jobs run"),
                        HasSubstr("slurmctld restarts")),
                  HasSubstr("after 16m 00s"),
                  "c1 was not power cycled: BMC 10.1.0.1: it does not answer; it is tried again "
                  "while its run waits for it",
                  HasSubstr("after 18m 00s")));
}

TEST_F(RebootRescueTest, NeverRepeatsAnOrderThatReachedTheMachine) {
  {
    absl::MutexLock lock(&machine_.mutex);
    machine_.lies = true;
  }
  clock_.Advance(absl::Minutes(15));
  ASSERT_EQ(AwaitAudited(2).size(), 2u);
  LookAndSettle(absl::Minutes(30));
  EXPECT_THAT(machine_.Orders(), ElementsAre("off"));
  EXPECT_EQ(Audited().size(), 2u);
}

TEST_F(RebootRescueTest, LeavesAloneWhoIsBack) {
  sessions_.Connect("u-c1");
  LookAndSettle(absl::Minutes(16));
  EXPECT_THAT(machine_.Orders(), IsEmpty());
  EXPECT_THAT(Audited(), IsEmpty());
}

}  // namespace
}  // namespace muster::controller::power
