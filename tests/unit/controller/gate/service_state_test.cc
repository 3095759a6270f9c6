#include "controller/gate/service_state.h"

#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

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
      // Only a pass leads into service; out of quarantine only a pass or a removal.
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

TEST(ServiceState, TellsWhatKeepsANodeOut) {
  const struct {
    const char* user;
    const char* reason;
    KeptOutBy by;
  } kRows[] = {
      {"root", "bad disk", KeptOutBy::kPerson},
      {"", "bad disk", KeptOutBy::kPerson},
      {"slurm", "Low RealMemory", KeptOutBy::kItself},
      {"root", "muster:admin:ann bad fan", KeptOutBy::kPerson},
      {"root", "muster:operator:bob bad fan", KeptOutBy::kPerson},
      {"root", "muster:v-7k3m9q2x being validated", KeptOutBy::kWork},
      {"root", "muster:r-7k3m9q2x rebooting", KeptOutBy::kWork},
      {"root", "muster:u-7k3m9q2x being updated", KeptOutBy::kWork},
      {"root", "muster:u-7k3m9q2x update failed; see muster rollout", KeptOutBy::kItself},
      {"root", "muster:v-7k3m9q2x failed this validation", KeptOutBy::kItself},
      {"root", "muster:health:gpu_lost quarantined: Xid 79", KeptOutBy::kItself},
      {"root", "muster:gate has not passed", KeptOutBy::kItself},
  };
  for (const auto& row : kRows) {
    const slurm::SlurmNode node = {.name = "c001",
                                   .state = "IDLE+DRAIN",
                                   .is_drained = true,
                                   .reason = row.reason,
                                   .reason_user = row.user,
                                   .is_held = true};
    EXPECT_EQ(WhatKeepsOut(node), row.by) << row.reason;
  }
  // Slurm keeps reasons of before.
  EXPECT_EQ(WhatKeepsOut({.name = "c001", .state = "DOWN*", .reason = "bad disk"}),
            KeptOutBy::kItself);
}

slurm::SlurmNode Node(bool drained, const std::string& reason = "") {
  return {.name = "c001",
          .state = drained ? "IDLE+DRAIN" : "IDLE",
          .takes_jobs = !drained,
          .is_drained = drained,
          .reason = reason,
          .reason_user = drained ? "root" : "",
          .is_held = drained};
}

TEST(HoldInSlurm, IsTheOneOfWhichTheReasonTells) {
  const auto hold = HoldInSlurm(Node(true, "muster:admin:ann bad disk"));
  ASSERT_TRUE(hold.has_value());
  EXPECT_EQ(hold->owner, "admin:ann");
  EXPECT_EQ(hold->reason, "bad disk");
  EXPECT_FALSE(hold->is_quarantine);
  slurm::SlurmNode down = Node(false, "muster:v-1 failed this validation");
  EXPECT_FALSE(HoldInSlurm(down).has_value()) << "it takes jobs again";
  down.is_down = true;
  ASSERT_TRUE(HoldInSlurm(down).has_value());
  EXPECT_EQ(HoldInSlurm(down)->owner, "v-1");
  for (const char* reason : {"", "bad disk", "muster:gate has not passed", "muster:r-1 rebooting",
                             "muster:v-1 being validated", "muster:u-1 being updated"})
    EXPECT_FALSE(HoldInSlurm(Node(true, reason)).has_value()) << reason;
}

TEST(DecideService, NeverTouchesADrainOfOthers) {
  for (const ServiceState state : kStates) {
    for (const char* failed : {"", "v-1"}) {
      for (const char* testing : {"", "v-2"}) {
        const ServiceAction action = DecideService(state, failed, testing, Node(true, "bad disk"));
        EXPECT_EQ(action.kind, ServiceAction::kNone);
        EXPECT_EQ(action.service, "drained by root: bad disk");
        EXPECT_EQ(DecideService(state, failed, testing, Node(true)).kind, ServiceAction::kNone);
        slurm::SlurmNode down = Node(false, "fan");
        down.state = "DOWN";
        down.takes_jobs = false;
        down.is_held = true;
        down.reason_user = "alice";
        EXPECT_EQ(DecideService(state, failed, testing, down).kind, ServiceAction::kNone);
        EXPECT_EQ(DecideService(state, failed, testing, down).service, "taken down by alice: fan");
      }
    }
  }
}

TEST(DecideService, ResumesOnlyWhoPassedAndOnlyItsOwnDrain) {
  for (const ServiceState state : kStates) {
    const ServiceAction action = DecideService(state, "", "", Node(true, "muster:v-9 failed"));
    EXPECT_EQ(action.kind == ServiceAction::kResume, state == ServiceState::kInService)
        << ServiceStateName(state);
    EXPECT_NE(DecideService(state, "", "v-2", Node(true, "muster:v-9 failed")).kind,
              ServiceAction::kResume);
  }
}

TEST(DecideService, SaysWhyANodeIsDrained) {
  ServiceAction action = DecideService(ServiceState::kConfigured, "", "", Node(false));
  EXPECT_EQ(action.kind, ServiceAction::kDrain);
  EXPECT_EQ(action.reason,
            "muster:gate has not passed a validation with its present hardware and software");
  EXPECT_EQ(action.service, "not validated");
  action = DecideService(ServiceState::kConfigured, "", "v-1", Node(true, action.reason));
  EXPECT_EQ(action.kind, ServiceAction::kDrain);
  EXPECT_EQ(action.reason, "muster:v-1 being validated");
  EXPECT_EQ(action.service, "being validated: v-1");
  action = DecideService(ServiceState::kQuarantined, "v-1", "", Node(true, action.reason));
  EXPECT_EQ(action.kind, ServiceAction::kDrain);
  EXPECT_EQ(action.reason, "muster:v-1 failed this validation");
  EXPECT_EQ(action.service, "quarantined: failed v-1");
  EXPECT_EQ(DecideService(ServiceState::kQuarantined, "v-1", "", Node(true, action.reason)).kind,
            ServiceAction::kNone);
}

TEST(DecideService, AQuarantineKeepsOutWhoPassed) {
  ServiceHold hold = {"health:gpu_lost", "GPU-1: Xid 79"};
  ServiceAction action = DecideService(ServiceState::kInService, "", "", Node(false), &hold);
  EXPECT_EQ(action.reason, "muster:health:gpu_lost GPU-1: Xid 79");
  EXPECT_EQ(action.service, "drained by gpu_lost: GPU-1: Xid 79");
  hold.is_quarantine = true;
  action = DecideService(ServiceState::kInService, "", "", Node(true, action.reason), &hold);
  EXPECT_EQ(action.kind, ServiceAction::kDrain) << "the reason has changed";
  EXPECT_EQ(action.reason, "muster:health:gpu_lost quarantined: GPU-1: Xid 79");
  EXPECT_EQ(action.service, "quarantined by gpu_lost: GPU-1: Xid 79");
  EXPECT_EQ(DecideService(ServiceState::kInService, "", "", Node(true, action.reason), &hold).kind,
            ServiceAction::kNone);
}

TEST(DecideService, WhoseFactsAreAwaitedIsNeitherDrainedNorGivenBack) {
  const auto decide = [](const slurm::SlurmNode& node) {
    return DecideService(ServiceState::kInService, "", "", node, nullptr, /*awaits_facts=*/true);
  };
  EXPECT_EQ(decide(Node(false)).kind, ServiceAction::kNone);
  EXPECT_EQ(decide(Node(false)).service, "in service");
  const ServiceAction action = decide(Node(true, "muster:r-1 being rebooted"));
  EXPECT_EQ(action.kind, ServiceAction::kDrain) << "the reason has changed";
  EXPECT_EQ(decide(Node(true, action.reason)).kind, ServiceAction::kNone);
  EXPECT_EQ(decide(Node(true, "bad disk")).service, "drained by root: bad disk");
}

TEST(DecideService, ANodeThatPassedAndIsDownIsSaidToBe) {
  slurm::SlurmNode node = Node(false);
  node.state = "DOWN*";
  node.takes_jobs = false;
  const ServiceAction action = DecideService(ServiceState::kInService, "", "", node);
  EXPECT_EQ(action.kind, ServiceAction::kNone);
  EXPECT_EQ(action.service, "in service, but DOWN*");
}

// Back from a boot that Slurm did not order: it is down, with the reason of its drain.
TEST(DecideService, ANodeThatSlurmTookDownAtItsBootIsUpAgain) {
  const ServiceHold hold = {"r-1", "being rebooted"};
  slurm::SlurmNode node = Node(true, "muster:r-1 being rebooted");
  node.state = "DOWN+DRAIN";
  node.is_down = true;
  ServiceAction action = DecideService(ServiceState::kInService, "", "", node, &hold);
  EXPECT_EQ(action.kind, ServiceAction::kDrain) << "so that it can be validated";
  EXPECT_EQ(action.reason, node.reason);
  EXPECT_EQ(DecideService(ServiceState::kInService, "", "", node).kind, ServiceAction::kResume);
  // The drain was removed, by whatever way.
  node.state = "DOWN";
  node.is_drained = false;
  node.is_held = false;
  EXPECT_EQ(DecideService(ServiceState::kInService, "", "", node).kind, ServiceAction::kResume);
  node.reason = "Node unexpectedly rebooted";
  EXPECT_EQ(DecideService(ServiceState::kInService, "", "", node).kind, ServiceAction::kNone)
      << "a crash is somebody's to look at";
}

TEST(DecideService, ANodeThatDoesNotAnswerSlurmIsGivenBackOnceItDoes) {
  slurm::SlurmNode node = Node(true, "muster:r-1 being rebooted");
  node.state = "DOWN*+DRAIN";
  node.is_down = true;
  node.is_silent = true;
  ServiceAction action = DecideService(ServiceState::kInService, "", "", node);
  EXPECT_EQ(action.kind, ServiceAction::kNone);
  EXPECT_EQ(action.service, "in service, but DOWN*+DRAIN");
  node.state = "IDLE*+DRAIN";
  node.is_down = false;
  EXPECT_EQ(DecideService(ServiceState::kInService, "", "", node).kind, ServiceAction::kNone);
  node.is_silent = false;
  EXPECT_EQ(DecideService(ServiceState::kInService, "", "", node).kind, ServiceAction::kResume);
}

// What Slurm, people and validations are called would be a series of metrics each.
TEST(ServiceWord, IsOneOfFew) {
  for (const auto& [service, word] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""},
           {"in service", "in service"},
           {"in service; Slurm has not been told yet", "resuming"},
           {"in service, but DOWN*", "down"},
           {"in service, but DOWN*+POWERED_DOWN", "down"},
           {"not validated", "not validated"},
           {"not validated; Slurm has not been told yet", "not validated"},
           {"being validated: v-1", "being validated"},
           {"quarantined: failed v-1", "quarantined"},
           {"quarantined by gpu_lost: GPU-1: Xid 79", "quarantined"},
           {"drained by root: bad disk", "drained"},
           {"drained by root", "drained"},
           {"taken down by alice: fan", "taken down"},
           {"rebooted: its facts are not known yet", "rebooted"},
           {"Slurm does not know it", "other"}}) {
    EXPECT_EQ(ServiceWord(service), word) << service;
  }
}

TEST(ServiceWord, HasNothingOfTheTextsThatOthersWrite) {
  slurm::SlurmNode node = Node(false);
  node.takes_jobs = false;
  for (const char* const state : {"DOWN*", "DOWN*+NOT_RESPONDING", "MIXED+FAIL", "FUTURE"}) {
    node.state = state;
    EXPECT_EQ(ServiceWord(DecideService(ServiceState::kInService, "", "", node).service), "down");
    EXPECT_EQ(ServiceWord(DecideService(ServiceState::kKnown, "", "", node).service), "other");
  }
}

}  // namespace
}  // namespace muster::controller::validation
