#include "controller/rollout/plan/window.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

absl::TimeZone Berlin() {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone("Europe/Berlin", &zone)) << "install tzdata";
  return zone;
}

std::vector<Window> WindowsOf(std::initializer_list<const char*> texts) {
  std::vector<Window> windows;
  for (const char* text : texts) {
    auto window = ParseWindow(text);
    EXPECT_TRUE(window.ok()) << text << ": " << window.status();
    windows.push_back(window.ok() ? *window : Window());
  }
  return windows;
}

// "2024-01-06 22:00"; 2024-01-01 is a Monday.
absl::Time At(const std::string& text, absl::TimeZone zone = absl::UTCTimeZone()) {
  absl::Time time;
  std::string why;
  EXPECT_TRUE(absl::ParseTime("%Y-%m-%d %H:%M", text, zone, &time, &why)) << why;
  return time;
}

TEST(Window, ReadsDaysAndTimes) {
  const auto window = ParseWindow("Sat 22:00-06:00");
  ASSERT_TRUE(window.ok());
  EXPECT_THAT(window->days, ::testing::ElementsAre(false, false, false, false, false, true, false));
  EXPECT_EQ(window->from_minutes, 22 * 60);
  EXPECT_EQ(window->to_minutes, 6 * 60);
  EXPECT_THAT(ParseWindow("Mon-Wed,Fri 00:00-24:00")->days,
              ::testing::ElementsAre(true, true, true, false, true, false, false));
  // Over the end of the week.
  EXPECT_THAT(ParseWindow("Sat-Mon 18:00-07:00")->days,
              ::testing::ElementsAre(true, false, false, false, false, true, true));
  EXPECT_THAT(ParseWindow("01:30-02:15")->days,
              ::testing::ElementsAre(true, true, true, true, true, true, true));
  EXPECT_EQ(ParseWindow("00:00-24:00")->to_minutes, 24 * 60);
}

TEST(Window, RefusesEverythingElse) {
  const std::string wrong[] = {
      "",
      "Sat",
      "sat 22:00-06:00",
      "Satday 22:00-06:00",
      "Sat,,Sun 22:00-06:00",
      "Mon-Fri-Sun 22:00-06:00",
      "Mon- 22:00-06:00",
      " 22:00-06:00",
      "Sat  22:00-06:00",
      "22:00-06:00 ",
      "22:00",
      "22:00-",
      "22-06",
      "9:00-17:00",
      "22:60-23:00",
      "24:00-06:00",
      "22:00-24:01",
      "25:00-26:00",
      "22:00-22:00",
      "-1:00-06:00",
      "22:00-06:00-07:00",
      "Sat 22:00\x1b[31m-06:00",
      "22:00-06:0\xc3\xa9",
      std::string(1000, 'x'),
  };
  for (const std::string& text : wrong) {
    SCOPED_TRACE(text);
    EXPECT_THAT(ParseWindow(text), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

TEST(Window, OverMidnightAndTheEndOfTheWeek) {
  const std::vector<Window> windows = WindowsOf({"Sun 22:00-06:00"});
  const absl::TimeZone zone = absl::UTCTimeZone();
  EXPECT_FALSE(IsOpen(windows, At("2024-01-07 21:59"), zone));
  EXPECT_TRUE(IsOpen(windows, At("2024-01-07 22:00"), zone));
  EXPECT_TRUE(IsOpen(windows, At("2024-01-07 23:59"), zone));
  EXPECT_TRUE(IsOpen(windows, At("2024-01-08 00:00"), zone));
  EXPECT_TRUE(IsOpen(windows, At("2024-01-08 05:59"), zone));
  EXPECT_FALSE(IsOpen(windows, At("2024-01-08 06:00"), zone));
  EXPECT_FALSE(IsOpen(windows, At("2024-01-07 03:00"), zone)) << "it opens on Sunday evening only";
  EXPECT_EQ(NextOpening(windows, At("2024-01-08 06:00"), zone), At("2024-01-14 22:00"));
  EXPECT_EQ(NextOpening(windows, At("2024-01-07 21:59"), zone), At("2024-01-07 22:00"));
  const absl::Time open = At("2024-01-08 05:59") + absl::Seconds(30);
  EXPECT_EQ(NextOpening(windows, open, zone), open);
}

TEST(Window, AnyOfSeveral) {
  const std::vector<Window> windows = WindowsOf({"Mon-Fri 18:00-20:00", "Sat,Sun 00:00-24:00"});
  const absl::TimeZone zone = absl::UTCTimeZone();
  EXPECT_FALSE(IsOpen(windows, At("2024-01-05 17:59"), zone));
  EXPECT_TRUE(IsOpen(windows, At("2024-01-05 18:00"), zone));
  EXPECT_FALSE(IsOpen(windows, At("2024-01-05 20:00"), zone));
  EXPECT_EQ(NextOpening(windows, At("2024-01-05 20:00"), zone), At("2024-01-06 00:00"));
  EXPECT_TRUE(IsOpen(windows, At("2024-01-07 23:59"), zone));
  EXPECT_FALSE(IsOpen(windows, At("2024-01-08 00:00"), zone));
  EXPECT_EQ(NextOpening(windows, At("2024-01-08 00:00"), zone), At("2024-01-08 18:00"));
}

TEST(Window, NoneIsAlwaysOpen) {
  EXPECT_TRUE(IsOpen({}, At("2024-01-08 00:00"), absl::UTCTimeZone()));
  EXPECT_EQ(NextOpening({}, At("2024-01-08 00:00"), absl::UTCTimeZone()), At("2024-01-08 00:00"));
}

TEST(Window, LocalTime) {
  const std::vector<Window> windows = WindowsOf({"22:00-23:00"});
  EXPECT_TRUE(IsOpen(windows, At("2024-01-08 21:30"), Berlin()));
  EXPECT_FALSE(IsOpen(windows, At("2024-01-08 22:30"), Berlin()));
  EXPECT_TRUE(IsOpen(windows, At("2024-07-08 20:30"), Berlin()));
}

// 2024-03-31 02:00 CET is 03:00 CEST.
TEST(Window, IsShorterWhenTheClockIsSetForward) {
  const std::vector<Window> windows = WindowsOf({"01:30-03:30"});
  EXPECT_FALSE(IsOpen(windows, At("2024-03-31 00:29"), Berlin()));
  EXPECT_TRUE(IsOpen(windows, At("2024-03-31 00:30"), Berlin()));
  EXPECT_TRUE(IsOpen(windows, At("2024-03-31 01:29"), Berlin())) << "03:29";
  EXPECT_FALSE(IsOpen(windows, At("2024-03-31 01:30"), Berlin())) << "03:30";
  // A window that begins in the hour that does not exist opens after it, and one that lies in it
  // opens on the next day.
  EXPECT_EQ(NextOpening(WindowsOf({"02:15-04:00"}), At("2024-03-31 00:00"), Berlin()),
            At("2024-03-31 01:00"));
  EXPECT_EQ(NextOpening(WindowsOf({"02:15-02:45"}), At("2024-03-31 00:00"), Berlin()),
            At("2024-04-01 00:15"));
  EXPECT_EQ(NextOpening(WindowsOf({"Sun 02:15-02:45"}), At("2024-03-31 00:00"), Berlin()),
            At("2024-04-07 00:15"));
}

// 2024-10-27 03:00 CEST is 02:00 CET.
TEST(Window, IsLongerWhenTheClockIsSetBack) {
  const std::vector<Window> windows = WindowsOf({"01:30-02:30"});
  EXPECT_TRUE(IsOpen(windows, At("2024-10-27 00:29"), Berlin())) << "02:29 CEST";
  EXPECT_FALSE(IsOpen(windows, At("2024-10-27 00:30"), Berlin())) << "02:30 CEST";
  EXPECT_TRUE(IsOpen(windows, At("2024-10-27 01:00"), Berlin())) << "02:00 CET";
  EXPECT_FALSE(IsOpen(windows, At("2024-10-27 01:30"), Berlin())) << "02:30 CET";
  EXPECT_EQ(NextOpening(windows, At("2024-10-27 00:30"), Berlin()), At("2024-10-27 01:00"));
  EXPECT_EQ(NextOpening(WindowsOf({"02:15-02:45"}), At("2024-10-27 00:50"), Berlin()),
            At("2024-10-27 01:15"));
}

// NextOpening() against a walk minute by minute.
TEST(Window, NextOpeningIsTheFirstMinuteThatIsOpen) {
  const absl::TimeZone zone = Berlin();
  const std::vector<Window> sets[] = {WindowsOf({"Sat 22:00-06:00"}),
                                      WindowsOf({"Mon-Fri 18:00-07:00", "Sun 12:00-12:01"}),
                                      WindowsOf({"02:10-02:50"}), WindowsOf({"Sun 23:59-00:00"})};
  for (const std::vector<Window>& windows : sets) {
    for (const char* from : {"2024-03-30 12:00", "2024-10-26 20:00", "2024-12-30 00:00"}) {
      const absl::Time start = At(from, zone);
      absl::Time next = NextOpening(windows, start, zone);
      for (int minute = 0; minute < 8 * 24 * 60; minute += 7) {
        const absl::Time now = start + absl::Minutes(minute);
        if (now >= next) next = NextOpening(windows, now, zone);
        EXPECT_EQ(IsOpen(windows, now, zone), next == now) << from << " + " << minute;
      }
    }
  }
}

}  // namespace
}  // namespace muster::controller::rollout
