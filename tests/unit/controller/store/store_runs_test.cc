#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kRunsNow = absl::FromUnixSeconds(1700000000);

std::unique_ptr<Store> Memory() {
  auto store = OpenStore(":memory:");
  EXPECT_OK(store);
  return *std::move(store);
}

RunRecord SampleRun(const std::string& id, RunRecord::State state, absl::Time created) {
  RunRecord run;
  run.run_id = id;
  run.state = state;
  run.request = std::string("\x0a\x00\xfe", 3);
  run.created_by = "alice";
  run.created_at = created;
  run.inventory_revision = 4;
  run.current_play = 1;
  run.plays = {"slurm controller", "workers, all"};
  return run;
}

TEST(StoreRuns, ComeBackNewestFirst) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(SampleRun("r-1", RunRecord::kRunning, kRunsNow)));
    RETURN_IF_ERROR(
        txn.runs().Put(SampleRun("r-2", RunRecord::kRunning, kRunsNow + absl::Seconds(1))));
    RunRecord done = SampleRun("r-1", RunRecord::kSucceeded, kRunsNow);
    done.finished_at = kRunsNow + absl::Seconds(5);
    done.plays.clear();
    return txn.runs().Put(done);
  }));
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto all, txn.runs().List(10));
    EXPECT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].run_id, "r-2");
    EXPECT_THAT(all[0].plays, ElementsAre("slurm controller", "workers, all"));
    EXPECT_THAT(all[1].plays, IsEmpty());
    EXPECT_EQ(all[1].finished_at, kRunsNow + absl::Seconds(5));
    EXPECT_EQ(all[1].mandate.asked_at, kRunsNow);
    EXPECT_EQ(all[0].request.size(), 3u);
    EXPECT_EQ(txn.runs().List(1)->size(), 1u);
    ASSIGN_OR_RETURN(const auto running, txn.runs().ListRunning());
    EXPECT_EQ(running.size(), 1u);
    EXPECT_EQ(running[0].run_id, "r-2");
    EXPECT_THAT(txn.runs().Get("r-9"), StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, TellWhatAppliedAPlaybook) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    const auto put = [&](const char* id, RunRecord::State state,
                         std::optional<std::string> applies) {
      static int count = 0;
      RunRecord run = SampleRun(id, state, kRunsNow + absl::Seconds(++count));
      run.applies = std::move(applies);
      return txn.runs().Put(run);
    };
    RETURN_IF_ERROR(put("r-site", RunRecord::kRunning, "site.yaml"));
    RETURN_IF_ERROR(put("r-other", RunRecord::kSucceeded, "other.yaml"));
    RETURN_IF_ERROR(put("r-check", RunRecord::kSucceeded, ""));
    RETURN_IF_ERROR(put("r-failed", RunRecord::kFailed, "site.yaml"));
    RETURN_IF_ERROR(put("r-old", RunRecord::kSucceeded, std::nullopt));
    // It stays known however the run ends.
    return put("r-site", RunRecord::kSucceeded, std::nullopt);
  }));
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto applied, txn.runs().ListApplied("site.yaml", 10));
    EXPECT_EQ(applied.size(), 2u);
    EXPECT_EQ(applied[0].run_id, "r-site");
    EXPECT_EQ(applied[0].applies, "site.yaml");
    EXPECT_EQ(applied[1].run_id, "r-old");
    EXPECT_EQ(applied[1].applies, std::nullopt);
    ASSIGN_OR_RETURN(const auto newest, txn.runs().ListApplied("site.yaml", 1));
    EXPECT_EQ(newest.size(), 1u);
    EXPECT_EQ(newest[0].run_id, "r-site");
    EXPECT_EQ(txn.runs().Get("r-check")->applies, "");
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, AreGoneThroughFromTheLastOneAsLongAsWanted) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    // The clock was set back between the second and the third, and the first ends last.
    RETURN_IF_ERROR(txn.runs().Put(SampleRun("r-1", RunRecord::kRunning, kRunsNow)));
    RETURN_IF_ERROR(
        txn.runs().Put(SampleRun("r-2", RunRecord::kFailed, kRunsNow + absl::Hours(1))));
    RETURN_IF_ERROR(
        txn.runs().Put(SampleRun("r-3", RunRecord::kFailed, kRunsNow - absl::Hours(1))));
    return txn.runs().Put(SampleRun("r-1", RunRecord::kFailed, kRunsNow));
  }));
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    std::vector<std::string> all, some;
    RETURN_IF_ERROR(txn.runs().ForEachFromNewest([&](const RunRecord& run) -> absl::StatusOr<bool> {
      all.push_back(run.run_id);
      EXPECT_THAT(run.plays, ElementsAre("slurm controller", "workers, all"));
      // Others may be read meanwhile.
      EXPECT_OK(txn.runs().Get("r-2"));
      return true;
    }));
    EXPECT_THAT(all, ElementsAre("r-3", "r-2", "r-1"));
    RETURN_IF_ERROR(txn.runs().ForEachFromNewest([&](const RunRecord& run) -> absl::StatusOr<bool> {
      some.push_back(run.run_id);
      return run.run_id != "r-2";
    }));
    EXPECT_THAT(some, ElementsAre("r-3", "r-2"));
    EXPECT_EQ(txn.runs()
                  .ForEachFromNewest([](const RunRecord&) -> absl::StatusOr<bool> {
                    return absl::AbortedError("enough");
                  })
                  .code(),
              absl::StatusCode::kAborted);
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, PuttingARunAgainKeepsItsNodesAndResults) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(SampleRun("r-1", RunRecord::kRunning, kRunsNow)));
    RunNodeRecord node = {.run_id = "r-1", .node = "c002", .node_uuid = "u", .state = "waiting"};
    RETURN_IF_ERROR(txn.runs().PutNode(node));
    node.node = "c001";
    RETURN_IF_ERROR(txn.runs().PutNode(node));
    node.node = "c002";
    node.state = "done";
    node.changed = 3;
    node.steps_digests = "0:d1 1:d2";
    node.result_bytes = uint64_t{5} << 30;
    RETURN_IF_ERROR(txn.runs().PutNode(node));
    StepResultRecord step = {.run_id = "r-1",
                             .node = "c002",
                             .sequence = 2,
                             .step_id = "munge/a",
                             .status = 1,
                             .result = "x",
                             .time = kRunsNow};
    RETURN_IF_ERROR(txn.step_results().Put(step));
    step.node = "c001";
    step.sequence = 1;
    RETURN_IF_ERROR(txn.step_results().Put(step));
    step.result = "y";
    step.sequence = 3;
    RETURN_IF_ERROR(txn.step_results().Put(step));
    return txn.runs().Put(SampleRun("r-1", RunRecord::kFailed, kRunsNow));
  }));
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto nodes, txn.runs().ListNodes("r-1"));
    EXPECT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].node, "c002");
    EXPECT_EQ(nodes[0].state, "done");
    EXPECT_EQ(nodes[0].changed, 3u);
    EXPECT_EQ(nodes[0].steps_digests, "0:d1 1:d2");
    EXPECT_EQ(nodes[0].result_bytes, uint64_t{5} << 30);
    EXPECT_EQ(nodes[1].steps_digests, "");
    EXPECT_EQ(nodes[1].result_bytes, 0u);
    ASSIGN_OR_RETURN(const auto results, txn.step_results().List("r-1", ""));
    EXPECT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].node, "c002");
    EXPECT_EQ(results[1].result, "y");
    EXPECT_EQ(txn.step_results().List("r-1", "c001")->size(), 1u);
    return absl::OkStatus();
  }));
}

StepResultRecord Result(const std::string& run_id, const std::string& step_id, uint64_t sequence) {
  return {.run_id = run_id,
          .node = "c001",
          .sequence = sequence,
          .step_id = step_id,
          .status = 2,
          .result = "x",
          .time = kRunsNow};
}

TEST(StoreRuns, ANewResultReplacesNone) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(SampleRun("r-1", RunRecord::kRunning, kRunsNow)));
    RETURN_IF_ERROR(txn.runs().PutNode({.run_id = "r-1", .node = "c001", .node_uuid = "u"}));
    EXPECT_EQ(txn.step_results().PutNew(Result("r-1", "s1", 1)).value(), true);
    EXPECT_EQ(txn.step_results().PutNew(Result("r-1", "s2", 2)).value(), true);
    EXPECT_EQ(txn.step_results().PutNew(Result("r-1", "s1", 3)).value(), false);
    EXPECT_EQ(txn.step_results().Get("r-1", "c001", 0, "s1")->sequence, 1u);
    EXPECT_EQ(txn.step_results().LastSequence("r-1").value(), 2u);
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, ResultsAreFoundByStepAndNewestFirst) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(SampleRun("r-1", RunRecord::kRunning, kRunsNow)));
    RETURN_IF_ERROR(txn.runs().PutNode({.run_id = "r-1", .node = "c001", .node_uuid = "u"}));
    for (uint64_t i = 1; i <= 5; ++i)
      RETURN_IF_ERROR(txn.step_results().Put(Result("r-1", absl::StrCat("s", i), i)));
    // Visible in the transaction that wrote it.
    EXPECT_EQ(txn.step_results().Status("r-1", "c001", 0, "s2").value(), 2);
    EXPECT_EQ(txn.step_results().Status("r-1", "c001", 1, "s2").value(), std::nullopt);
    EXPECT_EQ(txn.step_results().Status("r-1", "c001", 0, "s9").value(), std::nullopt);
    EXPECT_EQ(txn.step_results().LastSequence("r-1").value(), 5u);
    EXPECT_EQ(txn.step_results().LastSequence("r-2").value(), 0u);
    ASSIGN_OR_RETURN(const auto newest, txn.step_results().ListNewest("r-1", 2, 1 << 20));
    EXPECT_EQ(newest.size(), 2u);
    EXPECT_EQ(newest[0].sequence, 4u);
    EXPECT_EQ(newest[1].sequence, 5u);
    EXPECT_EQ(txn.runs().GetNode("r-1", "c001")->node_uuid, "u");
    EXPECT_THAT(txn.runs().GetNode("r-1", "c002"), StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, ResultsOfOldRunsGoAndTheRunsStay) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    for (int i = 1; i <= 4; ++i) {
      RunRecord run =
          SampleRun(absl::StrCat("r-", i), RunRecord::kSucceeded, kRunsNow + absl::Hours(24 * i));
      run.finished_at = run.created_at + absl::Minutes(1);
      if (i == 4) run.state = RunRecord::kRunning;
      RETURN_IF_ERROR(txn.runs().Put(run));
      RETURN_IF_ERROR(
          txn.runs().PutNode({.run_id = run.run_id, .node = "c001", .node_uuid = "u", .ok = 3}));
      for (uint64_t step = 1; step <= 3; ++step)
        RETURN_IF_ERROR(txn.step_results().Put(Result(run.run_id, absl::StrCat(step), step)));
    }
    return absl::OkStatus();
  }));
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    // By age: the first run, in two batches.
    const absl::Time bound = kRunsNow + absl::Hours(36);
    EXPECT_EQ(txn.step_results().RemoveOld(bound, 1000, 2).value(), 2u);
    EXPECT_EQ(txn.step_results().RemoveOld(bound, 1000, 2).value(), 1u);
    EXPECT_EQ(txn.step_results().RemoveOld(bound, 1000, 2).value(), 0u);
    // By number.
    EXPECT_EQ(txn.step_results().RemoveOld(bound, 6, 1000).value(), 3u);
    EXPECT_EQ(txn.step_results().List("r-2", "")->size(), 0u);
    EXPECT_EQ(txn.step_results().List("r-3", "")->size(), 3u);
    EXPECT_EQ(txn.step_results().List("r-4", "")->size(), 3u);
    EXPECT_EQ(txn.runs().List(10)->size(), 4u);
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, ResultsComeInPieces) {
  auto store = Memory();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(SampleRun("r-1", RunRecord::kRunning, kRunsNow)));
    EXPECT_EQ(*txn.step_results().LastSequence("r-1"), 0u);
    for (uint64_t i = 1; i <= 5; ++i) {
      RETURN_IF_ERROR(txn.step_results().Put({.run_id = "r-1",
                                              .node = i % 2 == 0 ? "even" : "odd",
                                              .sequence = i * 10,
                                              .step_id = absl::StrCat("s", i),
                                              .status = i > 3 ? 3 : 1,
                                              .result = "x",
                                              .time = kRunsNow}));
    }
    return absl::OkStatus();
  }));
  const auto sequences = [&](const StepResultQuery& query) {
    std::vector<uint64_t> found;
    EXPECT_OK(store->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto results, txn.step_results().List(query));
      for (const StepResultRecord& result : results) found.push_back(result.sequence);
      return absl::OkStatus();
    }));
    return found;
  };
  EXPECT_EQ(sequences({.run_id = "r-1", .limit = 2}), (std::vector<uint64_t>{10, 20}));
  EXPECT_EQ(sequences({.run_id = "r-1", .after_sequence = 20, .limit = 2}),
            (std::vector<uint64_t>{30, 40}));
  EXPECT_EQ(sequences({.run_id = "r-1", .statuses = {3}}), (std::vector<uint64_t>{40, 50}));
  EXPECT_EQ(sequences({.run_id = "r-1", .node = "even", .after_sequence = 20}),
            (std::vector<uint64_t>{40}));
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(*txn.step_results().LastSequence("r-1"), 50u);
    EXPECT_EQ(txn.step_results().Get("r-1", "odd", 0, "s3")->sequence, 30u);
    EXPECT_THAT(txn.step_results().Get("r-1", "odd", 1, "s3"),
                StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

TEST(StoreRuns, NodeOfNoRunIsRefused) {
  auto store = Memory();
  EXPECT_THAT(store->Update([](Transaction& txn) {
    return txn.runs().PutNode({.run_id = "r-9", .node = "c001", .state = "waiting"});
  }),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

EventRecord SampleEvent(const std::string& action) {
  return {.time = kRunsNow,
          .actor = "admin:alice",
          .peer = "10.0.0.1:1",
          .action = action,
          .subject = "c001"};
}

TEST(StoreEvents, AreChainedAndCounted) {
  auto store = Memory();
  for (const char* action : {"a", "b", "c"}) {
    ASSERT_OK(
        store->Update([&](Transaction& txn) { return txn.events().Append(SampleEvent(action)); }));
  }
  ASSERT_OK(store->View([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(*txn.events().Count(), 3u);
    EXPECT_EQ(*txn.events().FirstBroken(), std::nullopt);
    ASSIGN_OR_RETURN(const auto newest, txn.events().List(2, 0));
    EXPECT_EQ(newest.size(), 2u);
    EXPECT_EQ(newest[0].action, "c");
    EXPECT_EQ(newest[0].sequence, 3u);
    ASSIGN_OR_RETURN(const auto older, txn.events().List(10, 2));
    EXPECT_EQ(older.size(), 1u);
    EXPECT_EQ(older[0].action, "a");
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller
