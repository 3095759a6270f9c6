#include "controller/boot/unknown_machines.h"

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "controller/boot/boot_script.h"

namespace muster::controller::boot {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'900'000'000);

TEST(UnknownMachinesTest, CountsThemNewestFirst) {
  UnknownMachines unknown;
  unknown.Add("a", "ipv4:10.0.0.1:1", kStart);
  unknown.Add("b", "ipv4:10.0.0.2:1", kStart + absl::Seconds(1));
  unknown.Add("a", "ipv4:10.0.0.3:1", kStart + absl::Seconds(2));
  ASSERT_EQ(unknown.machines().size(), 2u);
  EXPECT_EQ(unknown.requests(), 3u);
  const SeenMachine& newest = unknown.machines().front();
  EXPECT_EQ(newest.mac, "a");
  EXPECT_EQ(newest.requests, 2u);
  EXPECT_EQ(newest.peer, "ipv4:10.0.0.3:1");
  EXPECT_EQ(newest.first_seen, kStart);
  EXPECT_EQ(newest.last_seen, kStart + absl::Seconds(2));
  unknown.Remove("a");
  unknown.Remove("c");
  ASSERT_EQ(unknown.machines().size(), 1u);
  EXPECT_EQ(unknown.machines().front().mac, "b");
}

TEST(UnknownMachinesTest, WhatTheyTellIsKeptAsLongAsTheyAre) {
  UnknownMachines unknown;
  unknown.Add("a", "ipv4:10.0.0.1:1", kStart);
  unknown.Tell("a", "ipv4:10.0.0.1:2", "first", absl::Hours(1), kStart + absl::Seconds(20));
  unknown.Tell("a", "ipv4:10.0.0.1:3", "second", absl::Hours(1), kStart + absl::Seconds(35));
  const SeenMachine& seen = unknown.machines().front();
  EXPECT_EQ(seen.facts, "second");
  EXPECT_EQ(seen.told_at, kStart + absl::Seconds(35));
  EXPECT_EQ(seen.first_seen, kStart);
  EXPECT_EQ(seen.requests, 1u);  // for a script
  EXPECT_EQ(unknown.requests(), 1u);
  // The controller was started anew meanwhile.
  unknown.Tell("b", "ipv4:10.0.0.2:1", "of b", absl::Minutes(20), kStart + absl::Minutes(1));
  EXPECT_EQ(unknown.machines().front().mac, "b");
  EXPECT_EQ(unknown.machines().front().facts, "of b");
  EXPECT_EQ(unknown.machines().front().first_seen, kStart - absl::Minutes(19));
}

TEST(UnknownMachinesTest, OneThatIsSwitchedOnAgainIsTheLast) {
  UnknownMachines unknown;
  unknown.Add("a", "ipv4:10.0.0.1:1", kStart);
  unknown.Tell("a", "ipv4:10.0.0.1:1", "of a", absl::ZeroDuration(), kStart + absl::Minutes(1));
  unknown.Add("b", "ipv4:10.0.0.2:1", kStart + absl::Minutes(2));
  // The loader asks twice.
  unknown.Add("b", "ipv4:10.0.0.2:1", kStart + absl::Minutes(2) + absl::Seconds(5));
  EXPECT_EQ(unknown.machines().front().first_seen, kStart + absl::Minutes(2));
  unknown.Add("a", "ipv4:10.0.0.1:1", kStart + absl::Minutes(3));
  EXPECT_EQ(unknown.machines().front().first_seen, kStart + absl::Minutes(3));
  EXPECT_EQ(unknown.machines().front().facts, "");
  EXPECT_EQ(unknown.machines().front().requests, 2u);
}

// Its kernel does not come; the names go by the order of switching on.
TEST(UnknownMachinesTest, OneThatFetchesAgainKeepsItsPlace) {
  UnknownMachines unknown;
  unknown.Add("a", "ipv4:10.0.0.1:1", kStart);
  unknown.Add("b", "ipv4:10.0.0.2:1", kStart + absl::Seconds(5));
  for (int i = 1; i <= 3; ++i)
    unknown.Add("a", "ipv4:10.0.0.1:1", kStart + absl::Seconds(i * (kAskAgainSeconds + 1)));
  EXPECT_EQ(unknown.machines().front().mac, "a");
  EXPECT_EQ(unknown.machines().front().first_seen, kStart);
  EXPECT_EQ(unknown.machines().front().requests, 4u);
}

TEST(UnknownMachinesTest, AFloodOfAddressesTakesNoMoreRoom) {
  UnknownMachines unknown;
  for (int i = 0; i < 100'000; ++i)
    unknown.Add(absl::StrFormat("%012x", i), "ipv4:10.0.0.1:1", kStart);
  EXPECT_EQ(unknown.machines().size(), UnknownMachines::kMax);
  EXPECT_EQ(unknown.requests(), 100'000u);
  EXPECT_EQ(unknown.machines().front().mac, absl::StrFormat("%012x", 99'999));
}

}  // namespace
}  // namespace muster::controller::boot
