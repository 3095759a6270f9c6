#include "agent/sys/shared_transactions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_package_manager.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::FakePackageManager;
using ::muster::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;

// A call of Apply() in a thread of its own.
struct Role {
  PackageTransaction transaction;
  std::vector<std::string> activities;  // to be read when it has ended
  absl::Status outcome;
  absl::Notification has_spoken;
  std::atomic<bool> is_stopping = false;
  std::thread thread;
};

class SharedTransactionsTest : public ::testing::Test {
 protected:
  SharedTransactionsTest() {
    for (const char* name : {"first", "munge", "chrony", "podman"}) inner_.available[name] = "1";
  }

  // Begins the first transaction, which ends when the test says so.
  void Begin() {
    Start(first_, [this] { may_end_.WaitForNotification(); });
  }
  // Returns when the call waits.
  Role& Wait(PackageTransaction transaction) {
    Role& role = others_.emplace_back();
    role.transaction = std::move(transaction);
    Start(role, [] {});
    return role;
  }
  void End() {
    may_end_.Notify();
    first_.thread.join();
    for (Role& role : others_)
      if (role.thread.joinable()) role.thread.join();
    EXPECT_OK(first_.outcome);
  }

  FakeClock clock_;
  FakePackageManager& inner_ = *new FakePackageManager;
  SharedTransactions packages_{std::unique_ptr<PackageManager>(&inner_), clock_};

 private:
  void Start(Role& role, std::function<void()> when_spoken) {
    role.thread = std::thread([this, &role, when_spoken = std::move(when_spoken)] {
      const PackageObserver observer = {.on_activity =
                                            [&](absl::string_view activity, std::optional<float>) {
                                              role.activities.emplace_back(activity);
                                              if (!role.has_spoken.HasBeenNotified())
                                                role.has_spoken.Notify();
                                              when_spoken();
                                            },
                                        .is_stopping = [&role] { return role.is_stopping.load(); }};
      role.outcome = packages_.Apply(role.transaction, observer);
    });
    role.has_spoken.WaitForNotification();
  }

  Role first_{.transaction = {.install = {"first"}}};
  std::list<Role> others_;
  absl::Notification may_end_;
};

TEST_F(SharedTransactionsTest, TakesAlongWhatWaits) {
  Begin();
  const Role& munge = Wait({.install = {"munge"}});
  const Role& chrony = Wait({.install = {"chrony", "munge"}});
  End();
  EXPECT_THAT(inner_.log(), ElementsAre("install first", "install munge chrony"));
  EXPECT_OK(munge.outcome);
  EXPECT_OK(chrony.outcome);
  EXPECT_THAT(chrony.activities, Contains("unpacking munge"));
}

TEST_F(SharedTransactionsTest, WhatIsNotPlainStaysAlone) {
  Begin();
  Wait({.install = {"munge"}});
  Wait({.install = {"chrony=1"}});
  Wait({.remove = {"podman"}});
  Wait({.install = {"podman"}, .install_recommends = true});
  Wait({.install = {"podman"}});
  Wait({.install = {"podman"}, .hold = {"podman"}});
  End();
  EXPECT_THAT(inner_.log(),
              ElementsAre("install first", "install munge podman", "install chrony=1",
                          "remove podman", "install podman", "install podman hold podman"));
}

TEST_F(SharedTransactionsTest, EveryCallerGetsItsOwnError) {
  Begin();
  const Role& munge = Wait({.install = {"munge"}});
  const Role& typo = Wait({.install = {"chronny"}});
  const Role& podman = Wait({.install = {"podman"}});
  End();
  EXPECT_OK(munge.outcome);
  EXPECT_THAT(typo.outcome, StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_OK(podman.outcome);
  EXPECT_THAT(inner_.log(), ElementsAre("install first", "install munge chronny podman",
                                        "install chronny", "install podman"));
}

TEST_F(SharedTransactionsTest, WhoWaitsMayStop) {
  Begin();
  Role& munge = Wait({.install = {"munge"}});
  munge.is_stopping = true;
  munge.thread.join();
  EXPECT_THAT(munge.outcome, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  End();
  EXPECT_THAT(inner_.log(), ElementsAre("install first"));
}

TEST_F(SharedTransactionsTest, OneAfterTheOtherStaySo) {
  for (const char* name : {"munge", "chrony"})
    ASSERT_OK(packages_.Apply({.install = {name}}, PackageObserver{}));
  EXPECT_THAT(inner_.log(), ElementsAre("install munge", "install chrony"));
}

}  // namespace
}  // namespace muster::agent
