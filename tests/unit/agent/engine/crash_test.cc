// The power fails at every instant of a plan; after the restart the node and the reports must end
// up as if nothing had happened.
#include "absl/strings/str_cat.h"
#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

constexpr char kRestartHandler[] = "munge/handler/restart";

v1::Plan WholePlan() {
  return MakePlan(
      1,
      {Role("munge",
            {Package("munge/p1", {"munge"}, {kRestartHandler}), Package("munge/p2", {"libmunge"}),
             File("munge/key", "/key", "k", {kRestartHandler}), File("munge/same", "/same", "s")},
            {}, {Command(kRestartHandler, "restart")}),
       Role("worker", {File("worker/conf", "/conf", "c", {kRestartHandler})}, {"munge"})});
}

// A separate machine with an agent on it.
class World final : public EngineTest {
 public:
  World() { node_.Set("/same", "s"); }
  void TestBody() override {}

  // Runs the plan to its end; the power fails at that act, and returns at once.
  void RunWithCut(int instant) {
    node_.dies_at = instant;
    Start();
    engine_->Submit(WholePlan());
    for (int i = 0; i < 60'000 && !node_.dead(); ++i) clock_.Sleep(absl::Milliseconds(1));
    EXPECT_TRUE(node_.dead());
    Shutdown();
    node_.dies_at = 1 << 30;
    // The controller sends the plan again: it does not know whether it had arrived.
    EXPECT_TRUE(Run(WholePlan()).succeeded());
  }
  // Runs it undisturbed; returns the number of acts.
  int RunClean() {
    Start();
    EXPECT_TRUE(Run(WholePlan()).succeeded());
    return node_.deeds;
  }
  const FakeMachine& node() const { return node_; }
  std::map<std::string, v1::StepResult> results() { return Results("r-1/0"); }
};

TEST(CrashTest, ConvergesFromEveryInstant) {
  World clean;
  const int deeds = clean.RunClean();
  ASSERT_GT(deeds, 15);
  const auto clean_results = clean.results();
  ASSERT_EQ(clean_results.size(), 6u);
  for (int instant = 0; instant < deeds; ++instant) {
    SCOPED_TRACE(absl::StrCat("power cut at deed ", instant));
    World world;
    world.RunWithCut(instant);
    EXPECT_EQ(world.node().state(), clean.node().state());
    EXPECT_GE(world.node().CommandRuns("restart"), 1);
    const auto results = world.results();
    ASSERT_EQ(results.size(), clean_results.size());
    for (const auto& [id, expected] : clean_results) {
      SCOPED_TRACE(id);
      ASSERT_EQ(results.count(id), 1u);
      EXPECT_EQ(results.at(id).status(), expected.status());
      EXPECT_EQ(results.at(id).changes_size(), expected.changes_size());
    }
  }
}

}  // namespace
}  // namespace muster::agent
