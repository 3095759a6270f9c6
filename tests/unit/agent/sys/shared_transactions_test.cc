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
    JoinOthers();
    EXPECT_OK(first_.outcome);
  }
  void JoinOthers() {
    for (Role& role : others_)
      if (role.thread.joinable()) role.thread.join();
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

TEST_F(SharedTransactionsTest, GathersThoseThatComeAtAboutTheSameTime) {
  int sleeps = 0;
  clock_.on_sleep = [&] {
    if (++sleeps == 1) Wait({.install = {"munge"}});
    if (sleeps == 2) Wait({.install = {"podman"}});
  };
  ASSERT_OK(packages_.Apply({.install = {"chrony"}}, PackageObserver{}));
  JoinOthers();
  EXPECT_THAT(inner_.log(), ElementsAre("install chrony munge podman"));
  EXPECT_EQ(sleeps, 3);  // nobody came in the last
}

TEST_F(SharedTransactionsTest, GathersForASecondAtMost) {
  const absl::Time began = clock_.Now();
  clock_.on_sleep = [this] {
    if (inner_.log().empty()) Wait({.install = {"munge"}});
  };
  ASSERT_OK(packages_.Apply({.install = {"chrony"}}, PackageObserver{}));
  EXPECT_LE(clock_.Now() - began, absl::Seconds(1));
  JoinOthers();
  EXPECT_THAT(inner_.log(), ElementsAre("install chrony munge"));
}

TEST_F(SharedTransactionsTest, WhatIsNotPlainWaitsForNobody) {
  const absl::Time began = clock_.Now();
  ASSERT_OK(packages_.Apply({.install = {"chrony=1"}}, PackageObserver{}));
  EXPECT_EQ(clock_.Now(), began);
}

TEST_F(SharedTransactionsTest, FetchesMissingListsFirst) {
  inner_.has_lists = false;
  inner_.update_error = absl::UnavailableError("no route to host");
  EXPECT_THAT(packages_.Apply({.install = {"chrony"}}, PackageObserver{}),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(inner_.log(), ElementsAre("update"));
  inner_.update_error = absl::OkStatus();
  EXPECT_OK(packages_.Apply({.install = {"chrony"}}, PackageObserver{}));
  EXPECT_THAT(inner_.log(), ElementsAre("update", "update", "install chrony"));
}

TEST_F(SharedTransactionsTest, OneAfterTheOtherStaySo) {
  for (const char* name : {"munge", "chrony"})
    ASSERT_OK(packages_.Apply({.install = {name}}, PackageObserver{}));
  EXPECT_THAT(inner_.log(), ElementsAre("install munge", "install chrony"));
}

}  // namespace
}  // namespace muster::agent
