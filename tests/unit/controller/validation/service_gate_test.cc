#include "controller/validation/service_gate.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci_store.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::FakeSlurmControl;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ServiceState kStates[] = {ServiceState::kKnown,       ServiceState::kEnrolled,
                                    ServiceState::kConfigured,  ServiceState::kInService,
                                    ServiceState::kQuarantined, ServiceState::kRetired};
constexpr ServiceEvent kEvents[] = {ServiceEvent::kEnrolled, ServiceEvent::kApplied,
                                    ServiceEvent::kPassed,   ServiceEvent::kFailed,
                                    ServiceEvent::kChanged,  ServiceEvent::kRemoved};

TEST(ServiceState, EveryCellOfTheGridIsARowOrAnError) {
  std::set<std::pair<ServiceState, ServiceEvent>> rows;
  for (const ServiceTransition& row : ServiceTransitions()) {
    EXPECT_TRUE(rows.insert({row.state, row.event}).second) << "twice in the table";
  }
  for (const ServiceState state : kStates) {
    for (const ServiceEvent event : kEvents) {
      SCOPED_TRACE(absl::StrCat(ServiceStateName(state), " ", ServiceEventName(event)));
      const auto next = NextServiceState(state, event);
      EXPECT_EQ(next.ok(), rows.count({state, event}) > 0);
      if (!next.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(next.status()));
        continue;
      }
      // Into service leads nothing but a pass; out of quarantine neither.
      if (*next == ServiceState::kInService && state != ServiceState::kInService) {
        EXPECT_EQ(event, ServiceEvent::kPassed);
      }
      if (state == ServiceState::kQuarantined && *next != ServiceState::kQuarantined) {
        EXPECT_TRUE(event == ServiceEvent::kPassed || event == ServiceEvent::kRemoved);
      }
      if (event == ServiceEvent::kFailed) {
        EXPECT_EQ(*next, ServiceState::kQuarantined);
      }
      EXPECT_NE(state, ServiceState::kRetired) << "nothing leads back";
    }
  }
}

slurm::SlurmNode Node(bool drained, const std::string& reason = "") {
  return {.name = "c001",
          .state = drained ? "IDLE+DRAIN" : "IDLE",
          .takes_jobs = !drained,
          .is_drained = drained,
          .reason = reason,
          .reason_user = drained ? "root" : ""};
}

TEST(DecideService, NeverTouchesADrainOfOthers) {
  for (const ServiceState state : kStates) {
    for (const char* owner : {"", "v-1"}) {
      const ServiceAction action = DecideService(state, owner, Node(true, "bad disk"));
      EXPECT_EQ(action.kind, ServiceAction::kNone);
      EXPECT_EQ(action.service, "drained by root: bad disk");
      EXPECT_EQ(DecideService(state, owner, Node(true)).kind, ServiceAction::kNone);
    }
  }
}

TEST(DecideService, ResumesOnlyWhoPassedAndOnlyItsOwnDrain) {
  for (const ServiceState state : kStates) {
    const ServiceAction action = DecideService(state, "", Node(true, "muster:v-9 failed"));
    EXPECT_EQ(action.kind == ServiceAction::kResume, state == ServiceState::kInService)
        << ServiceStateName(state);
  }
}

TEST(DecideService, SaysWhyANodeIsDrained) {
  ServiceAction action = DecideService(ServiceState::kConfigured, "", Node(false));
  EXPECT_EQ(action.kind, ServiceAction::kDrain);
  EXPECT_EQ(action.reason, "muster:gate has not passed a validation as what it is now");
  action = DecideService(ServiceState::kQuarantined, "v-1", Node(true, action.reason));
  EXPECT_EQ(action.kind, ServiceAction::kDrain);
  EXPECT_EQ(action.reason, "muster:v-1 failed this validation");
  EXPECT_EQ(DecideService(ServiceState::kQuarantined, "v-1", Node(true, action.reason)).kind,
            ServiceAction::kNone);
}

class ServiceGateTest : public ::testing::Test {
 protected:
  ServiceGateTest()
      : store_(OpenStore(":memory:").value()),
        gate_(*store_, slurm_, clock_, [](absl::string_view) {}) {
    EXPECT_OK(store_->Update([](Transaction& txn) -> absl::Status {
      NodeRecord node;
      node.uuid = "u1";
      node.name = "c001";
      node.state = NodeRecord::kConfigured;
      return txn.nodes().Put(node);
    }));
    SetFacts("GPU-1", "6.1.0");
    slurm_.Add("c001");
    slurm_.Add("x999");  // none of ours
  }

  void SetFacts(const std::string& gpu, const std::string& kernel) {
    v1::Facts facts;
    facts.add_gpus()->set_uuid(gpu);
    facts.mutable_os()->set_kernel(kernel);
    facts_ = facts;
    EXPECT_OK(store_->Update(
        [&](Transaction& txn) { return txn.nodes().PutFacts("u1", facts.SerializeAsString()); }));
  }
  void Pass() {
    EXPECT_OK(store_->Update([&](Transaction& txn) {
      NodePassRecord pass = {"u1", "v-2", "quick", "d"};
      pass.passed_at = clock_.Now();
      SetPassKeys(facts_, pass);
      return txn.node_service().PutPass(pass);
    }));
    gate_.OnJudged("u1", "v-2", v1::OUTCOME_PASS);
  }
  void Fail(const std::string& id) {
    EXPECT_OK(store_->Update([](Transaction& txn) { return txn.node_service().RemovePass("u1"); }));
    gate_.OnJudged("u1", id, v1::OUTCOME_FAIL);
  }

  std::unique_ptr<Store> store_;
  FakeSlurmControl slurm_;
  FakeClock clock_;
  v1::Facts facts_;
  ServiceGate gate_;
};

TEST_F(ServiceGateTest, ANodeServesFromItsPassToItsFailAndAgainAfterRepair) {
  ASSERT_OK(gate_.Look());
  EXPECT_THAT(slurm_.calls, ElementsAre("drain c001: muster:gate has not passed a validation as "
                                        "what it is now"));
  EXPECT_EQ(gate_.ServiceOf("c001"), "drained by muster");
  ASSERT_OK(gate_.Look());  // nothing more to do
  EXPECT_EQ(slurm_.calls.size(), 1u);

  Pass();
  ASSERT_OK(gate_.Look());
  EXPECT_EQ(slurm_.calls.back(), "resume c001");
  EXPECT_EQ(gate_.ServiceOf("c001"), "in service");

  Fail("v-3");
  ASSERT_OK(gate_.Look());
  EXPECT_EQ(slurm_.calls.back(), "drain c001: muster:v-3 failed this validation");

  Pass();
  ASSERT_OK(gate_.Look());
  EXPECT_EQ(slurm_.calls.back(), "resume c001");
  EXPECT_EQ(slurm_.calls.size(), 4u);
  EXPECT_EQ(gate_.ServiceOf("x999"), "");
}

TEST_F(ServiceGateTest, AnotherGpuOrKernelNeedsANewPass) {
  Pass();
  ASSERT_OK(gate_.Look());
  EXPECT_THAT(slurm_.calls, IsEmpty());
  SetFacts("GPU-7", "6.1.0");
  ASSERT_OK(gate_.Look());
  EXPECT_THAT(slurm_.calls.back(), HasSubstr("has not passed"));
  SetFacts("GPU-1", "6.1.0");  // the old one is back, and what passed is there again
  ASSERT_OK(gate_.Look());
  EXPECT_EQ(slurm_.calls.back(), "resume c001");
  SetFacts("GPU-1", "6.12.0");
  ASSERT_OK(gate_.Look());
  EXPECT_THAT(slurm_.calls.back(), HasSubstr("has not passed"));
}

TEST_F(ServiceGateTest, AnAdministratorsDrainStays) {
  slurm_.DrainBy("root", "c001", "bad disk");
  Pass();
  ASSERT_OK(gate_.Look());
  Fail("v-3");
  ASSERT_OK(gate_.Look());
  Pass();
  ASSERT_OK(gate_.Look());
  EXPECT_THAT(slurm_.calls, IsEmpty());
  EXPECT_EQ(gate_.ServiceOf("c001"), "drained by root: bad disk");
}

TEST_F(ServiceGateTest, WhatSlurmCouldNotDoIsDoneLater) {
  slurm_.status = absl::UnavailableError("slurmctld is away");
  EXPECT_THAT(gate_.Look(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
  slurm_.status = absl::OkStatus();
  ASSERT_OK(gate_.Look());
  EXPECT_EQ(slurm_.calls.size(), 1u);
}

TEST_F(ServiceGateTest, ARestartedControllerKnowsTheQuarantine) {
  Fail("v-3");
  ASSERT_OK(gate_.Look());
  ServiceGate again(*store_, slurm_, clock_, [](absl::string_view) {});
  ASSERT_OK(again.Look());
  EXPECT_THAT(slurm_.calls, ElementsAre("drain c001: muster:v-3 failed this validation"));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_EQ(events.at(0).action, "slurm.drain");
    EXPECT_EQ(events.at(0).subject, "c001");
    return absl::OkStatus();
  }));
}

TEST_F(ServiceGateTest, SaysOnceWhatSlurmRefuses) {
  slurm_.status = absl::UnavailableError("Slurm does not answer: permission denied");
  absl::Mutex mutex;
  std::vector<std::string> warnings;
  int looks = 0;
  ServiceGate gate(*store_, slurm_, clock_, [&](absl::string_view text) {
    absl::MutexLock lock(&mutex);
    warnings.emplace_back(text);
    ++looks;
  });
  gate.Start();
  {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(
        +[](int* count) { return *count > 0; }, &looks));
  }
  EXPECT_THAT(gate.Look(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("permission")));
  gate.Stop();
  EXPECT_THAT(warnings, ::testing::ElementsAre(
                            "the gate to Slurm: Slurm does not answer: permission denied"));
}

}  // namespace
}  // namespace muster::controller::validation
