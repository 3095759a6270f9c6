#include "agent/disk/settler.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "agent/disk/esp.h"
#include "common/base/clock.h"
#include "common/base/text/kernel_arguments.h"
#include "common/sys/file_system.h"
#include "common/value/disk_layout.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_disk_tools.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::Acts;
using ::muster::testing::CountedFiles;
using ::muster::testing::Death;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A clock by which the controller welcomes the agent at a moment.
class GreetingClock final : public Clock {
 public:
  explicit GreetingClock(std::string note) : note_(std::move(note)) {}
  absl::Time Now() override { return fake_.Now(); }
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return fake_.AwaitUntil(mutex, condition, deadline);
  }
  void Sleep(absl::Duration duration) override {
    fake_.Sleep(duration);
    slept += duration;
    if (slept == set_after) fake_.Advance(set_by);
    if (slept >= greeted_after) std::ofstream(note_) << "0.1.0\n";
  }
  absl::Duration slept;
  absl::Duration greeted_after = absl::Minutes(1);
  // When, and by how much, the time of day is set.
  absl::Duration set_after = absl::InfiniteDuration();
  absl::Duration set_by;

 private:
  const std::string note_;
  muster::testing::FakeClock fake_;
};

class Node {
 public:
  Node() {
    std::filesystem::create_directories(folder_.path() + "/disk/content/esp/loader/entries");
  }

  void Add(char slot, std::optional<int> tries, int generation) {
    BootEntry entry;
    entry.slot = slot;
    entry.tries_left = tries;
    entry.generation = static_cast<uint64_t>(generation);
    entry.image = absl::StrCat("worker-", std::string(1, slot));
    std::ofstream(absl::StrCat(EntryFolder(Esp()), "/", BootEntryName(slot, tries)))
        << RenderBootEntry(entry, {absl::StrCat("muster.image=", entry.image)});
  }
  std::vector<std::string> Names() {
    return sys::RealFileSystem().List(EntryFolder(Esp())).value();
  }
  std::string Esp() { return folder_.path() + "/disk/content/esp"; }

  absl::StatusOr<Settler::End> Settle(
      const std::string& words = "muster.slot=b muster.esp=/dev/esp") {
    Settler settler({.files = files,
                     .tools = tools,
                     .clock = clock,
                     .greeted = folder_.path() + "/greeted",
                     .work = folder_.path() + "/work",
                     .say = [](absl::string_view) {},
                     .report =
                         [this](const BootEntry& entry, absl::string_view phase) {
                           told.push_back(absl::StrCat(entry.image, " ", phase));
                           return report_fails;
                         }});
    return settler.Settle(ParseKernelArguments(words));
  }

  Acts acts;
  testing::TempDir folder_;
  muster::testing::FakeDiskTools tools{folder_.path() + "/disk", acts};
  CountedFiles files{acts};
  GreetingClock clock{folder_.path() + "/greeted"};
  std::vector<std::string> told;
  absl::Status report_fails;
};

TEST(SettlerTest, AnotherBootIsNotOurs) {
  Node node;
  EXPECT_EQ(node.Settle("root=/dev/sda1 quiet").value(), Settler::End::kNotFromDisk);
  EXPECT_EQ(node.acts.count, 0);
}

TEST(SettlerTest, ARootThatReachesTheControllerStays) {
  Node node;
  node.Add('a', std::nullopt, 1);
  node.Add('b', 2, 2);
  EXPECT_EQ(node.Settle().value(), Settler::End::kGood);
  EXPECT_THAT(node.Names(), ElementsAre("muster-a.conf", "muster-b.conf"));
  EXPECT_THAT(node.told, ElementsAre("worker-b healthy"));
  EXPECT_FALSE(node.tools.IsMounted());
  // The next boots have nothing to decide.
  node.told.clear();
  EXPECT_EQ(node.Settle().value(), Settler::End::kGood);
  EXPECT_THAT(node.told, IsEmpty());
}

TEST(SettlerTest, OneThatDoesNotIsLeftForTheOneBefore) {
  Node node;
  node.Add('a', std::nullopt, 1);
  node.Add('b', 2, 2);
  node.clock.greeted_after = absl::InfiniteDuration();
  EXPECT_EQ(node.Settle().value(), Settler::End::kGoBack);
  EXPECT_GE(node.clock.slept, kSettlePatience);
  EXPECT_THAT(node.Names(), ElementsAre("muster-a.conf", "muster-b+2.conf"));
  EXPECT_THAT(node.told, IsEmpty());
}

TEST(SettlerTest, ATimeOfDayThatIsSetMeanwhileDecidesNothing) {
  for (const absl::Duration set_by : {absl::Hours(24 * 365), -absl::Hours(24 * 365)}) {
    for (const bool is_good : {true, false}) {
      Node node;
      node.Add('a', std::nullopt, 1);
      node.Add('b', 2, 2);
      node.clock.set_after = absl::Seconds(20);
      node.clock.set_by = set_by;
      node.clock.greeted_after = is_good ? kSettlePatience / 2 : 2 * kSettlePatience;
      EXPECT_EQ(node.Settle().value(), is_good ? Settler::End::kGood : Settler::End::kGoBack);
      EXPECT_LE(node.clock.slept, kSettlePatience);
    }
  }
}

TEST(SettlerTest, TheOnlyRootWaitsForTheControllerHoweverLong) {
  Node node;
  node.Add('b', 2, 2);
  node.clock.greeted_after = 100 * kSettlePatience;
  EXPECT_EQ(node.Settle().value(), Settler::End::kGood);
  EXPECT_THAT(node.Names(), ElementsAre("muster-b.conf"));
}

TEST(SettlerTest, AGoodRootDoesNotGoBackForAControllerThatIsAway) {
  Node node;
  node.Add('a', std::nullopt, 1);
  node.Add('b', std::nullopt, 2);
  node.clock.greeted_after = 100 * kSettlePatience;
  EXPECT_EQ(node.Settle().value(), Settler::End::kGood);
}

TEST(SettlerTest, AFallbackIsToldOnce) {
  Node node;
  node.Add('a', std::nullopt, 1);
  node.Add('b', 0, 2);
  const std::string words = "muster.slot=a muster.esp=/dev/esp";
  // The server does not answer at first.
  node.report_fails = absl::UnavailableError("no answer");
  EXPECT_EQ(node.Settle(words).value(), Settler::End::kGood);
  EXPECT_THAT(node.Names(), ElementsAre("muster-a.conf", "muster-b+0.conf"));
  node.report_fails = absl::OkStatus();
  EXPECT_EQ(node.Settle(words).value(), Settler::End::kGood);
  EXPECT_THAT(node.told, ElementsAre("worker-b fallen_back", "worker-b fallen_back"));
  EXPECT_THAT(node.Names(), ElementsAre("muster-a.conf", "muster-b.failed"));
  EXPECT_EQ(node.Settle(words).value(), Settler::End::kGood);
  EXPECT_THAT(node.told, ::testing::SizeIs(2));
}

TEST(SettlerTest, ARunningRootWithoutAnEntryIsAnError) {
  Node node;
  node.Add('a', std::nullopt, 1);
  EXPECT_THAT(node.Settle(), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST(SettlerTest, DeathAtAnyActLeavesAnEntryOfEachRoot) {
  int deaths = 0;
  for (int act = 1; act < 100; ++act) {
    SCOPED_TRACE(absl::StrCat("act ", act));
    Node node;
    node.Add('a', std::nullopt, 1);
    node.Add('b', 2, 2);
    node.acts.die_at = act;
    try {
      EXPECT_OK(node.Settle());
      break;
    } catch (const Death&) {
      ++deaths;
    }
    node.tools.Reboot();
    sys::RealFileSystem real;
    EXPECT_THAT(ReadEntries(node.Esp(), real).value(), ::testing::SizeIs(2));
    EXPECT_OK(node.Settle());
    EXPECT_THAT(node.Names(), ElementsAre("muster-a.conf", "muster-b.conf"));
  }
  EXPECT_GE(deaths, 8);
}

}  // namespace
}  // namespace muster::agent::disk
