#include "agent/burnin/power/rapl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_file_system.h"

namespace muster::burnin {
namespace {

using ::muster::testing::FakeFileSystem;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

void AddZone(FakeFileSystem& files, const std::string& folder, const std::string& name,
             const std::string& energy) {
  const std::string path = absl::StrCat("/sys/class/powercap/", folder);
  files.AddFile(path + "/name", name + "\n");
  files.AddFile(path + "/energy_uj", energy);
  files.AddFile(path + "/max_energy_range_uj", "262143328850\n");
}

// As on a server with two processors, with the other zones that may exist.
TEST(ReadEnergy, CountsPackagesAndTheirMemoryOnce) {
  FakeFileSystem files;
  files.AddFile("/sys/class/powercap/intel-rapl/enabled", "1\n");
  AddZone(files, "intel-rapl:0", "package-0", "1000\n");
  AddZone(files, "intel-rapl:0:0", "core", "1\n");
  AddZone(files, "intel-rapl:0:1", "dram", "2000\n");
  AddZone(files, "intel-rapl:1", "package-1-die-0", "3000\n");
  AddZone(files, "intel-rapl:1:0", "uncore", "1\n");
  AddZone(files, "intel-rapl:2", "psys", "1\n");
  AddZone(files, "intel-rapl-mmio:0", "package-0", "1\n");
  const std::vector<EnergyCounter> counters = ReadEnergy(files);
  EXPECT_THAT(counters, ElementsAre(Field(&EnergyCounter::zone, "intel-rapl:0"),
                                    Field(&EnergyCounter::zone, "intel-rapl:0:1"),
                                    Field(&EnergyCounter::zone, "intel-rapl:1")));
  EXPECT_EQ(counters[1].energy, 2000u);
  EXPECT_EQ(counters[1].range, 262143328850u);
}

TEST(ReadEnergy, WhatCannotBeReadIsLeftOut) {
  FakeFileSystem files;
  EXPECT_THAT(ReadEnergy(files), IsEmpty());
  AddZone(files, "intel-rapl:0", "package-0", "no number\n");
  files.AddFile("/sys/class/powercap/intel-rapl:1/name", "package-1\n");
  EXPECT_THAT(ReadEnergy(files), IsEmpty());
}

TEST(MeanWatts, IsEnergyByTime) {
  EXPECT_DOUBLE_EQ(*MeanWatts({{"a", 1'000'000, 1}, {"b", 0, 1}},
                              {{"a", 51'000'000, 1}, {"b", 25'000'000, 1}}, absl::Seconds(0.5)),
                   150);
}

TEST(MeanWatts, CounterThatPassedItsEndGoesOnFromZero) {
  EXPECT_DOUBLE_EQ(*MeanWatts({{"a", 90'000'000, 100'000'000}}, {{"a", 20'000'000, 100'000'000}},
                              absl::Seconds(1)),
                   30);
}

TEST(MeanWatts, WhatCannotBeIsNotTold) {
  const std::vector<EnergyCounter> one = {{"a", 5, 10}};
  EXPECT_FALSE(MeanWatts({}, {}, absl::Seconds(1)));
  EXPECT_FALSE(MeanWatts(one, {}, absl::Seconds(1)));
  EXPECT_FALSE(MeanWatts(one, {{"b", 6, 10}}, absl::Seconds(1)));
  EXPECT_FALSE(MeanWatts(one, one, absl::ZeroDuration()));
  // Reset, as by a reloaded driver: not a wrap-around.
  EXPECT_FALSE(MeanWatts({{"a", 260'000'000'000, 262'143'328'850}},
                         {{"a", 200'000'000'000, 262'143'328'850}}, absl::Seconds(1)));
}

}  // namespace
}  // namespace muster::burnin
