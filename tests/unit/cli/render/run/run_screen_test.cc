#include "cli/render/run/run_screen.h"

#include <deque>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/render/output.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const absl::Time kScreenStart = absl::FromUnixSeconds(1'700'000'000);

v1::Run ScreenRun(std::initializer_list<const char*> nodes, int plays = 1) {
  v1::Run run;
  run.set_run_id("r-1");
  run.mutable_created_at()->set_seconds(absl::ToUnixSeconds(kScreenStart));
  for (int play = 0; play < plays; ++play) run.add_plays("workers");
  run.set_state(v1::RUN_STATE_RUNNING);
  for (const char* node : nodes) run.add_nodes()->set_node(node);
  return run;
}

v1::RunEvent PlayStarted(uint64_t sequence, uint32_t play,
                         std::initializer_list<const char*> nodes) {
  v1::RunEvent event;
  event.set_sequence(sequence);
  event.mutable_play_started()->set_play_index(play);
  event.mutable_play_started()->set_name("workers");
  for (const char* node : nodes) event.mutable_play_started()->add_nodes(node);
  return event;
}

v1::RunEvent Progress(const char* node, const std::string& step, uint32_t done, uint32_t total) {
  v1::RunEvent event;
  event.set_node(node);
  event.mutable_progress()->set_role("slurm_worker");
  event.mutable_progress()->set_step_id(step);
  event.mutable_progress()->set_name(step);
  event.mutable_progress()->set_steps_done(done);
  event.mutable_progress()->set_steps_total(total);
  return event;
}

v1::RunEvent ResultEvent(const char* node, uint64_t sequence, const std::string& step,
                         bool handler = false) {
  v1::RunEvent event;
  event.set_node(node);
  event.set_sequence(sequence);
  event.mutable_step()->set_step_id(step);
  event.mutable_step()->set_status(v1::STEP_STATUS_CHANGED);
  event.mutable_step()->set_handler(handler);
  return event;
}

// The numbers on the screen: "5/31" in the node's line.
std::pair<uint32_t, uint32_t> ShownSteps(const RunView& view, const char* node) {
  for (const std::string& line : RenderScreen(view, {.columns = 120, .rows = 24}, kScreenStart)) {
    if (line.rfind(node, 0) != 0) continue;
    for (const absl::string_view word : absl::StrSplit(line, ' ')) {
      const std::vector<absl::string_view> parts = absl::StrSplit(word, '/');
      uint32_t done = 0, total = 0;
      if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &done)) {
        (void)absl::SimpleAtoi(parts[1], &total);
        return {done, total};
      }
    }
  }
  return {0, 0};
}

TEST(RunScreen, ShowsWhatEachNodeIsDoing) {
  RunView view(ScreenRun({"c001", "c002"}), kScreenStart);
  v1::RunEvent event = Progress("c001", "worker packages", 5, 10);
  event.mutable_progress()->set_activity("unpacking slurmd");
  event.mutable_progress()->set_percent(45);
  view.Apply(event, kScreenStart + absl::Seconds(3));
  const auto lines =
      RenderScreen(view, {.columns = 120, .rows = 24}, kScreenStart + absl::Seconds(15));
  EXPECT_THAT(lines,
              ElementsAre("run r-1  play 1/1 workers  15s",
                          "c001  [##########..........]   5/10      12s  45% slurm_worker: worker "
                          "packages - unpacking slurmd",
                          "c002  waiting      ok=0 changed=0 failed=0 skipped=0"));
}

TEST(RunScreen, FitsTheTerminal) {
  v1::Run run = ScreenRun({});
  for (int i = 0; i < 100; ++i) run.add_nodes()->set_node("node" + std::to_string(100 + i));
  RunView view(run, kScreenStart);
  view.Apply(Progress("node199", "x", 1, 10), kScreenStart);
  const auto lines = RenderScreen(view, {.columns = 40, .rows = 10}, kScreenStart);
  EXPECT_THAT(lines, SizeIs(9));
  EXPECT_THAT(lines[1], HasSubstr("node199"));  // running nodes come first
  EXPECT_THAT(lines.back(), HasSubstr("93 waiting"));
  for (const std::string& line : lines) EXPECT_LT(DisplayWidth(line), 40u) << line;
}

TEST(RunScreen, NoWidthCutsANumber) {
  RunView view(ScreenRun({"c001", "c002"}), kScreenStart);
  v1::RunEvent event = Progress("c001", "worker packages", 27, 31);
  event.mutable_progress()->set_activity("downloading 15 of 32 packages, 204 of 1024 MB");
  event.mutable_progress()->set_percent(45);
  view.Apply(event, kScreenStart);
  // Every number is shown completely or not at all.
  const std::set<std::string> whole = {"1/1", "001", "002", "0", "15",  "27/31",
                                       "32",  "45",  "204", "1", "1024"};
  for (int columns = 1; columns <= 160; ++columns) {
    for (const std::string& line :
         RenderScreen(view, {.columns = columns, .rows = 24}, kScreenStart)) {
      EXPECT_LT(DisplayWidth(line), static_cast<size_t>(std::max(2, columns)));
      if (columns < 40) continue;  // only names
      std::string number;
      for (const char c : line + " ") {
        if (absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c == '/' && !number.empty())) {
          number += c;
        } else if (!number.empty()) {
          EXPECT_EQ(whole.count(number), 1u) << columns << " columns: " << line;
          number.clear();
        }
      }
    }
  }
}

TEST(RunScreen, AtSixtyColumnsTheStepHasItsName) {
  RunView view(ScreenRun({"c001"}), kScreenStart);
  v1::RunEvent event = Progress("c001", "worker packages", 27, 31);
  event.mutable_progress()->set_activity("downloading 15 of 32 packages");
  event.mutable_progress()->set_percent(45);
  view.Apply(event, kScreenStart);
  EXPECT_THAT(RenderScreen(view, {.columns = 60, .rows = 24}, kScreenStart)[1],
              HasSubstr("worker packages"));
}

TEST(RunScreen, TheSecondStepIsNotDoneWhileItRuns) {
  RunView view(ScreenRun({"c001"}), kScreenStart);
  view.Apply(PlayStarted(1, 0, {"c001"}), kScreenStart);
  view.Apply(Progress("c001", "first", 0, 2), kScreenStart);
  view.Apply(Progress("c001", "second", 1, 2), kScreenStart);
  // The result is stored before it is reported, and so comes late.
  view.Apply(ResultEvent("c001", 2, "first"), kScreenStart);
  EXPECT_EQ(ShownSteps(view, "c001"), std::make_pair(1u, 2u));
}

TEST(RunScreen, HandlersAreNoSteps) {
  RunView view(ScreenRun({"c001"}), kScreenStart);
  view.Apply(PlayStarted(1, 0, {"c001"}), kScreenStart);
  view.Apply(Progress("c001", "restart", 27, 31), kScreenStart);
  for (uint64_t i = 0; i < 4; ++i)
    view.Apply(ResultEvent("c001", 2 + i, "handler " + std::to_string(i), /*handler=*/true),
               kScreenStart);
  EXPECT_EQ(ShownSteps(view, "c001"), std::make_pair(27u, 31u));
}

TEST(RunScreen, ARunThatEndedCountsNoFurther) {
  v1::Run run = ScreenRun({"c001"});
  run.set_state(v1::RUN_STATE_SUCCEEDED);
  run.mutable_finished_at()->set_seconds(absl::ToUnixSeconds(kScreenStart) + 40);
  RunView view(run, kScreenStart + absl::Hours(70));
  EXPECT_THAT(RenderScreen(view, {}, kScreenStart + absl::Hours(71))[0], HasSubstr("  40s"));
}

TEST(RunScreen, AClockThatIsBehindShowsNoNegativeTime) {
  RunView view(ScreenRun({"c001"}), kScreenStart);
  EXPECT_THAT(RenderScreen(view, {}, kScreenStart - absl::Minutes(1))[0], HasSubstr("  0s"));
}

TEST(RunScreen, ACheckSaysWhatWouldChange) {
  v1::Run run = ScreenRun({"c001"});
  run.set_check_only(true);
  RunView view(run, kScreenStart);
  EXPECT_THAT(RenderScreen(view, {}, kScreenStart)[1], HasSubstr("would change=0"));
}

// A node that works through plays, and the ways in which its progress and its results reach a
// watcher: in order, but one before or after the other, repeated after the stream broke or the
// controller was restarted, and with numbers that decrease when its agent was killed.
class Node {
 public:
  Node(RunView& view, uint32_t seed) : view_(view), random_(seed) {}

  void Play(uint32_t play) {
    steps_ = Pick(1, 12);
    handlers_ = Pick(0, 3);
    Start(play);
    std::deque<v1::RunEvent> results;
    uint32_t done = 0;
    for (uint32_t step = 0; step < steps_ + handlers_; ++step) {
      const bool is_handler = step >= steps_;
      const std::string name = absl::StrCat(play, ".", step);
      for (int i = Pick(0, 2); i > 0; --i) Say(Progress("c001", name, done, steps_), is_handler);
      results.push_back(ResultEvent("c001", 0, name, is_handler));
      if (!is_handler) ++done;
      // Work lost in a crash is repeated.
      if (!is_handler && Pick(0, 9) == 0) Say(Progress("c001", name, done - 1, steps_), is_handler);
      while (!results.empty() && Pick(0, 2) > 0) {
        Tell(results.front());
        results.pop_front();
      }
      if (Pick(0, 9) == 0) Start(play);  // a restarted controller repeats it
    }
    for (v1::RunEvent& event : results) Tell(event);
  }

 private:
  uint32_t Pick(uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random_);
  }
  void Start(uint32_t play) {
    if (play_ != play) shown_ = {0, 0};
    play_ = play;
    view_.Apply(PlayStarted(++sequence_, play, {"c001"}), kScreenStart);
    Look();
  }
  void Tell(v1::RunEvent& event) {
    event.set_sequence(++sequence_);
    view_.Apply(event, kScreenStart);
    if (Pick(0, 4) == 0) view_.Apply(event, kScreenStart);  // the stream broke
    Look();
  }
  void Say(const v1::RunEvent& event, bool is_handler) {
    view_.Apply(event, kScreenStart);
    Look();
    if (is_handler) return;
    EXPECT_LT(shown_.first, shown_.second) << "all is done while a step runs";
  }
  void Look() {
    const auto now = ShownSteps(view_, "c001");
    EXPECT_GE(now.first, shown_.first) << "the bar runs backwards";
    EXPECT_GE(now.second, shown_.second);
    if (now.second > 0) {
      EXPECT_LE(now.first, now.second);
    }
    shown_ = now;
  }

  RunView& view_;
  std::mt19937 random_;
  uint64_t sequence_ = 0;
  std::optional<uint32_t> play_;
  uint32_t steps_ = 0, handlers_ = 0;
  std::pair<uint32_t, uint32_t> shown_;
};

TEST(RunScreen, ProgressNeverRunsBackwards) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RunView view(ScreenRun({"c001"}, /*plays=*/3), kScreenStart);
    Node node(view, seed);
    for (uint32_t play = 0; play < 3; ++play) {
      node.Play(play);
      EXPECT_EQ(view.play_index(), play);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster::cli
