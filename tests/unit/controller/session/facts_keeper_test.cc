#include "controller/session/facts_keeper.h"

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

class FactsKeeperTest : public ::testing::Test {
 protected:
  FactsKeeperTest() : store_(OpenStore(":memory:").value()) {
    EXPECT_OK(store_.Update([](Transaction& txn) -> absl::Status {
      NodeRecord node;
      node.uuid = "u1";
      node.name = "c001";
      return txn.nodes().Put(node);
    }));
  }

  // The requests whose facts are reported as stored.
  std::vector<std::string> Keep(const std::string& request_id) {
    std::vector<std::string> told;
    FactsKeeper keeper(store_, clock_);
    keeper.Attach(
        [&](const std::string& uuid, const FactsRequest& request, const absl::Status& refused) {
          told.push_back(uuid + " " + request.id + (refused.ok() ? "" : " refused"));
        });
    v1::FactsReport report;
    report.set_request_id(request_id);
    report.mutable_facts()->mutable_os()->set_kernel("6.1.0");
    keeper.OnFacts("u1", report);
    keeper.Stop();
    return told;
  }

  // Refuses facts by a keeper that ends then.
  void Refuse() {
    FactsKeeper keeper(store_, clock_);
    keeper.OnFactsRefused("u1", "after/r1", absl::FailedPreconditionError("refused: gpus[0].uuid"));
    keeper.Stop();
  }

  // Why u1's newest facts were refused; nullopt: they were not.
  std::optional<std::string> Refusal() {
    std::vector<FactsRefusal> refusals;
    EXPECT_OK(store_.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(refusals, txn.nodes().ListFactsRefusals());
      return absl::OkStatus();
    }));
    if (refusals.empty()) return std::nullopt;
    EXPECT_EQ(refusals[0].node_uuid, "u1");
    EXPECT_EQ(refusals[0].at, clock_.Now());
    return refusals[0].why;
  }

  // Whether it holds before long, in which the clock advances.
  bool Soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 3000 && !holds(); ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      clock_.Advance(absl::Seconds(1));
    }
    return holds();
  }

  std::string StoredKernel() { return Stored().os().kernel(); }

  v1::Facts Stored() {
    v1::Facts facts;
    EXPECT_OK(store_.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::string bytes, txn.nodes().Facts("u1"));
      facts.ParseFromString(bytes);
      return absl::OkStatus();
    }));
    return facts;
  }

  // Reports these facts by a keeper that ends then.
  void Report(const v1::Facts& facts) {
    FactsKeeper keeper(store_, clock_);
    v1::FactsReport report;
    *report.mutable_facts() = facts;
    keeper.OnFacts("u1", report);
    keeper.Stop();
  }

  int Audited() {
    int count = 0;
    EXPECT_OK(store_.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(100, 0));
      for (const EventRecord& event : events)
        count += event.action == "node.facts_refused" && event.subject == "c001";
      return absl::OkStatus();
    }));
    return count;
  }

  muster::testing::FailingStore store_;
  muster::testing::FakeClock clock_;
};

TEST_F(FactsKeeperTest, WhoAskedIsToldWhenTheyAreInTheStore) {
  EXPECT_THAT(Keep("after/r1"), ElementsAre("u1 r1"));
  EXPECT_THAT(Keep(""), IsEmpty()) << "nobody asked";
}

// Otherwise a node would be judged by its old facts.
TEST_F(FactsKeeperTest, NobodyIsToldOfWhatTheStoreRefused) {
  store_.refuse = true;
  EXPECT_THAT(Keep("after/r1"), IsEmpty());
}

// No node sends them again by itself.
TEST_F(FactsKeeperTest, WhatTheStoreRefusedIsWrittenLater) {
  FactsKeeper keeper(store_, clock_);
  store_.refuse = true;
  v1::FactsReport report;
  report.mutable_facts()->mutable_os()->set_kernel("6.1.0");
  keeper.OnFacts("u1", report);
  ASSERT_TRUE(Soon([&] { return store_.transactions() > 1; })) << "it is offered again";
  store_.refuse = false;
  EXPECT_TRUE(Soon([&] { return StoredKernel() == "6.1.0"; }));
}

// A run would wait for the answer until it gives up, and then continue with the old facts.
TEST_F(FactsKeeperTest, AnswersThatTheStoreRefusedAreGivenLater) {
  absl::Mutex mutex;
  std::vector<std::string> told;
  const auto count = [&] {
    absl::MutexLock lock(&mutex);
    return told.size();
  };
  FactsKeeper keeper(store_, clock_);
  keeper.Attach(
      [&](const std::string& uuid, const FactsRequest& request, const absl::Status& refused) {
        absl::MutexLock lock(&mutex);
        told.push_back(absl::StrCat(uuid, " ", request.id, refused.ok() ? "" : " refused"));
      });
  store_.refuse = true;
  v1::FactsReport report;
  report.set_request_id("after/r1");
  report.mutable_facts()->mutable_os()->set_kernel("6.1.0");
  keeper.OnFacts("u1", report);
  keeper.OnFactsRefused("u1", "after/r2", absl::FailedPreconditionError("refused: gpus[0].uuid"));
  const int offered = store_.transactions();
  ASSERT_TRUE(Soon([&] { return store_.transactions() > offered + 1; }));
  EXPECT_EQ(count(), 0u);
  store_.refuse = false;
  EXPECT_TRUE(Soon([&] { return count() == 2; }));
  keeper.Stop();
  EXPECT_THAT(told, ElementsAre("u1 r1", "u1 r2 refused"));
  EXPECT_EQ(StoredKernel(), "6.1.0");
  EXPECT_EQ(Audited(), 1) << "the refusal is kept, too";
}

// Slurm would lose a worker that is under load.
TEST_F(FactsKeeperTest, AProbeWithoutAnAnswerCostsNoHardwareWithinABoot) {
  v1::Facts whole;
  whole.mutable_os()->set_boot_id("b1");
  whole.mutable_cpu()->set_cpus(64);
  whole.mutable_memory()->set_total_mib(192000);
  Report(whole);
  v1::Facts partial;
  partial.mutable_os()->set_boot_id("b1");
  partial.mutable_os()->set_kernel("6.1.1");
  partial.add_unknown()->set_probe("cpu");
  partial.add_unknown()->set_probe("memory");
  Report(partial);
  v1::Facts stored = Stored();
  EXPECT_EQ(stored.cpu().cpus(), 64u);
  EXPECT_EQ(stored.memory().total_mib(), 192000u);
  EXPECT_EQ(stored.os().kernel(), "6.1.1");
  EXPECT_EQ(stored.unknown_size(), 2) << "what was not answered is to be seen";
  // One of the two is told anew.
  partial.mutable_memory()->set_total_mib(96000);
  Report(partial);
  EXPECT_EQ(Stored().cpu().cpus(), 64u);
  EXPECT_EQ(Stored().memory().total_mib(), 96000u);
  // Another machine, it may be.
  partial.mutable_os()->set_boot_id("b2");
  partial.clear_memory();
  Report(partial);
  EXPECT_FALSE(Stored().has_cpu());
  EXPECT_FALSE(Stored().has_memory());
  // Nor is anything known where no boot is.
  whole.clear_os();
  Report(whole);
  partial.clear_os();
  Report(partial);
  EXPECT_FALSE(Stored().has_cpu());
}

TEST_F(FactsKeeperTest, FactsThatTheStoreRefusedAreCompletedWhenItTakesThem) {
  v1::Facts whole;
  whole.mutable_os()->set_boot_id("b1");
  whole.mutable_cpu()->set_cpus(64);
  whole.mutable_memory()->set_total_mib(192000);
  Report(whole);
  {
    FactsKeeper keeper(store_, clock_);
    store_.refuse = true;
    v1::FactsReport report;
    report.mutable_facts()->mutable_os()->set_boot_id("b1");
    report.mutable_facts()->mutable_os()->set_kernel("6.1.1");
    keeper.OnFacts("u1", report);
    keeper.Stop();
    EXPECT_EQ(StoredKernel(), "");
    store_.refuse = false;
  }
  EXPECT_EQ(Stored().os().kernel(), "6.1.1");
  EXPECT_EQ(Stored().cpu().cpus(), 64u);
  EXPECT_EQ(Stored().memory().total_mib(), 192000u);
}

// A driver that initializes its GPUs anew is slower than the probe's patience.
TEST_F(FactsKeeperTest, GpusThatTookTooLongStayWithinABoot) {
  v1::Facts whole;
  whole.mutable_os()->set_boot_id("b1");
  whole.mutable_cpu()->set_cpus(64);
  whole.mutable_memory()->set_total_mib(192000);
  v1::Facts partial = whole;
  whole.add_gpus()->set_uuid("GPU-1");
  whole.set_nvidia_driver_version("580.95.05");
  v1::UnknownFact& unknown = *partial.add_unknown();
  unknown.set_probe("gpus");
  unknown.set_reason("no answer in 5s");
  Report(whole);
  // One after the other: what was kept is kept again.
  for (int i = 0; i < 2; ++i) {
    Report(partial);
    ASSERT_EQ(Stored().gpus_size(), 1);
    EXPECT_EQ(Stored().gpus(0).uuid(), "GPU-1");
    EXPECT_EQ(Stored().nvidia_driver_version(), "580.95.05");
    EXPECT_EQ(Stored().unknown_size(), 1);
  }
  partial.mutable_os()->set_boot_id("b2");
  Report(partial);
  EXPECT_EQ(Stored().gpus_size(), 0);
  // A driver that answers with an error is a change.
  Report(whole);
  partial.mutable_os()->set_boot_id("b1");
  partial.mutable_unknown(0)->set_reason("nvmlInit_v2: Driver/library version mismatch");
  Report(partial);
  EXPECT_EQ(Stored().gpus_size(), 0);
  EXPECT_EQ(Stored().nvidia_driver_version(), "");
}

TEST_F(FactsKeeperTest, RefusedFactsLeaveTheLastGoodOnesAndAreShownUntilTheNext) {
  Keep("after/r1");
  EXPECT_EQ(Refusal(), std::nullopt);
  Refuse();
  EXPECT_EQ(Refusal(), "refused: gpus[0].uuid");
  EXPECT_EQ(StoredKernel(), "6.1.0");
  Keep("r2");
  EXPECT_EQ(Refusal(), std::nullopt);
}

TEST_F(FactsKeeperTest, ANodeWithoutAnyGoodFactsHasNone) {
  Refuse();
  EXPECT_EQ(Refusal(), "refused: gpus[0].uuid");
  int nodes = 0;
  EXPECT_OK(store_.View([&](Transaction& txn) {
    return txn.nodes().ForEachFacts([&](const std::string&, const std::string&) { ++nodes; });
  }));
  EXPECT_EQ(nodes, 0);
}

// The audit log never shrinks.
TEST_F(FactsKeeperTest, RefusalsAreAuditedOnceAnHour) {
  absl::Mutex mutex;
  int answered = 0;
  FactsKeeper keeper(store_, clock_);
  keeper.Attach([&](const std::string&, const FactsRequest&, const absl::Status& refused) {
    absl::MutexLock lock(&mutex);
    answered += !refused.ok();
  });
  // Each of them in a separate transaction.
  const auto refuse = [&](int count) {
    keeper.OnFactsRefused("u1", "after/r1", absl::FailedPreconditionError("refused: gpus[0].uuid"));
    const auto is_there = [&] { return answered == count; };
    absl::MutexLock lock(&mutex);
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&is_there), absl::Seconds(20)));
  };
  refuse(1);
  refuse(2);
  EXPECT_EQ(Audited(), 1);
  clock_.Advance(FactsKeeper::kAuditInterval);
  refuse(3);
  refuse(4);
  EXPECT_EQ(Audited(), 2);
  clock_.Advance(-absl::Hours(24));  // set back
  refuse(5);
  refuse(6);
  EXPECT_EQ(Audited(), 3);
}

TEST_F(FactsKeeperTest, WhatAnEarlierVersionStoredMustKeepTheRulesToo) {
  v1::Facts facts;
  facts.mutable_os()->set_kernel("6.1.0");
  facts.add_gpus()->set_slurm_type("a100\nProlog=/tmp/x");
  EXPECT_OK(store_.Update(
      [&](Transaction& txn) { return txn.nodes().PutFacts("u1", facts.SerializeAsString()); }));
  FactsKeeper keeper(store_, clock_);
  ASSERT_OK(keeper.RefuseBadFacts());
  EXPECT_EQ(StoredKernel(), "");
  EXPECT_THAT(Refusal(),
              Optional(HasSubstr("gpus[0].slurm_type: not only letters, digits and '_.-'")));
  EXPECT_EQ(Audited(), 1);
}

// Every waiting call holds one of musterd's threads for half a minute if a node does not answer.
TEST_F(FactsKeeperTest, OnePersonWaitsForFewNodesAtOnce) {
  constexpr absl::Duration kLong = absl::Seconds(60);
  RealClock clock;
  muster::testing::FakeAgentSessions sessions;
  sessions.Connect("u1");
  FactsKeeper keeper(store_, clock);
  std::vector<std::thread> waiting;
  const auto begin = [&](const std::string& person) {
    waiting.emplace_back([&, person] {
      EXPECT_TRUE(absl::IsUnavailable(keeper.Refresh(sessions, "u1", person, kLong)));
    });
    while (sessions.TakeFactsRequests("u1").empty()) absl::SleepFor(absl::Milliseconds(1));
  };
  for (size_t i = 0; i < FactsKeeper::kMaxRefreshesOfPerson; ++i) begin("eve");
  EXPECT_THAT(keeper.Refresh(sessions, "u1", "eve", kLong),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  for (size_t i = waiting.size(); i < FactsKeeper::kMaxRefreshes; ++i)
    begin(absl::StrCat("person", i / FactsKeeper::kMaxRefreshesOfPerson));
  EXPECT_THAT(keeper.Refresh(sessions, "u1", "vera", kLong),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  keeper.OnDisconnected("u1");
  for (std::thread& each : waiting) each.join();
  // Nobody waits any longer: there is room again.
  waiting.clear();
  begin("eve");
  keeper.OnDisconnected("u1");
  waiting[0].join();
}

}  // namespace
}  // namespace muster::controller
