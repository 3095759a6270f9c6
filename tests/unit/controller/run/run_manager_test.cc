#include "controller/run/run_manager.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

class RunManagerTest : public RunFixture {
 protected:
  // Waits for the run's last event, watching it as a client would.
  v1::Run AwaitEnd(RunManager& manager, const std::string& run_id) {
    absl::Mutex mutex;
    bool ready = true;
    auto watch = manager.Watch(run_id, 0, [&] {
      absl::MutexLock lock(&mutex);
      ready = true;
    });
    EXPECT_OK(watch);
    v1::Run end;
    while (watch.ok() && !(*watch)->AtEnd()) {
      {
        absl::MutexLock lock(&mutex);
        if (!mutex.AwaitWithTimeout(absl::Condition(&ready), absl::Seconds(20))) break;
        ready = false;
      }
      while (RunEventPtr event = (*watch)->Next()) {
        if (event->has_run_finished()) end = event->run_finished();
      }
    }
    if (watch.ok()) (*watch)->Cancel();
    return end;
  }

  // The nodes that a run over b asks for their facts, when c has told a run over a its own and then
  // something is done on it.
  std::vector<std::string> AskedAfter(const std::function<void(RunManager&)>& work) {
    for (const char* uuid : {"ua", "ub", "uc"}) sessions_.Connect(uuid);
    RunManager manager(Collaborators());
    const auto begin = [&](const std::string& node) {
      v1::CreateRunRequest request;
      request.set_bundle_sha256("site");
      request.set_playbook("one.yaml");
      request.set_limit(node);
      const auto run = manager.Create(request, {{"admin:alice", ""}});
      EXPECT_OK(run);
      return run.ok() ? run->run_id() + "/0" : "";
    };
    const std::string first = begin("a");
    for (const char* uuid : {"ua", "ub", "uc"})
      manager.OnFactsAnswered(uuid, first, absl::OkStatus());
    manager.Step();
    AskedForFacts();
    work(manager);
    manager.Step();
    begin("b");
    return AskedForFacts();
  }
};

TEST_F(RunManagerTest, CarriesARunFromThreads) {
  sessions_.Connect("ua");
  sessions_.Connect("ub");
  RunManager manager(Collaborators());
  ASSERT_OK(manager.Start());
  v1::CreateRunRequest request;
  request.set_bundle_sha256("site");
  request.set_playbook("one.yaml");
  const auto run = manager.Create(request, {{"admin:alice", ""}});
  ASSERT_OK(run);
  std::vector<std::thread> agents;
  for (const char* uuid : {"ua", "ub", "uc"}) {
    agents.emplace_back([&, uuid] {
      manager.OnFactsAnswered(uuid, run->run_id() + "/0", absl::OkStatus());
      for (uint64_t i = 1; i <= 20; ++i) {
        v1::StepProgress progress;
        progress.set_plan_id(run->run_id() + "/0");
        manager.OnProgress(uuid, progress);
        v1::Report report;
        report.set_plan_id(run->run_id() + "/0");
        report.set_report_sequence(i);
        if (i < 20) {
          report.mutable_step()->set_step_id("s" + std::to_string(i));
          report.mutable_step()->set_status(v1::STEP_STATUS_OK);
        } else {
          report.mutable_outcome()->set_succeeded(true);
        }
        manager.OnReports(uuid, InOneMessage(report));
      }
    });
  }
  for (std::thread& agent : agents) agent.join();
  const v1::Run end = AwaitEnd(manager, run->run_id());
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_EQ(end.nodes_size(), 2);
  EXPECT_EQ(end.nodes(0).ok(), 19u);
  manager.Stop();
  // A later process shows the same from the store.
  RunManager next(Collaborators());
  ASSERT_OK(next.Start());
  EXPECT_EQ(AwaitEnd(next, run->run_id()).nodes(1).ok(), 19u);
}

TEST_F(RunManagerTest, FactsStayFreshWhileNothingIsDoneOnTheNode) {
  EXPECT_THAT(AskedAfter([](RunManager&) {}), ElementsAre("b"));
}

TEST_F(RunManagerTest, ANodeIsAskedAgainAfterACommand) {
  EXPECT_THAT(AskedAfter([](RunManager& m) { m.OnCommandResult("uc", v1::CommandResult()); }),
              ElementsAre("b", "c"));
}

TEST_F(RunManagerTest, ANodeIsAskedAgainAfterACheck) {
  EXPECT_THAT(AskedAfter([](RunManager& m) { m.OnCheckReport("uc", v1::CheckReport()); }),
              ElementsAre("b", "c"));
}

TEST_F(RunManagerTest, ANodeMayFetchTheBlobsOfItsPlanAlsoAfterARestart) {
  Connect("a");
  compiler_.blob_bytes = 4 << 20;
  MustCreate("one.yaml", "a");
  const std::string sha256 = MustTakePlan("a").roles(0).steps(1).file().blob_sha256();
  engine_.reset();
  RunManager manager(Collaborators());  // nothing is compiled again yet
  EXPECT_TRUE(manager.MayFetchBlob("ua", sha256));
  EXPECT_FALSE(manager.MayFetchBlob("ub", sha256));
  EXPECT_FALSE(manager.MayFetchBlob("ua", ""));
}

TEST_F(RunManagerTest, AClockThatIsSetBackDoesNotStopTheRuns) {
  RunManager manager(Collaborators());
  EXPECT_GT(manager.Step(), clock_.Now());
  clock_.Advance(-absl::Hours(1));
  const absl::Time next = manager.Step();
  EXPECT_GT(next, clock_.Now());
  EXPECT_LE(next, clock_.Now() + absl::Seconds(1));
}

TEST_F(RunManagerTest, UnknownRunCannotBeWatched) {
  RunManager manager(Collaborators());
  ASSERT_OK(manager.Start());
  EXPECT_THAT(manager.Watch("r-none", 0, [] {}), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::controller
