#include "agent/burnin/power/power_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/sys/process/process_control.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"

namespace muster::burnin {
namespace {

using ::muster::testing::FakeFileSystem;
using ::muster::testing::FakeProcessRunner;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// In the layout of ipmitool 1.8.18, and of 1.8.19.
constexpr char kOlder[] =
    "\n"
    "    Instantaneous power reading:                   220 Watts\n"
    "    Minimum during sampling period:                 18 Watts\n"
    "    Maximum during sampling period:                354 Watts\n"
    "    Average power reading over sample period:      222 Watts\n"
    "    IPMI timestamp:                           Thu Feb 15 09:37:32 2024\n"
    "    Sampling period:                          00000001 Seconds.\n"
    "    Power reading state is:                   activated\n\n\n";
constexpr char kNewer[] =
    "\n"
    "    Instantaneous power reading              : 1614     Watts\n"
    "    Minimum during sampling period           : 2        Watts\n"
    "    Maximum during sampling period           : 1868     Watts\n"
    "    Average power reading over sample period : 1584     Watts\n"
    "    IPMI timestamp                           : 05/05/24 13:06:44 UTC\n"
    "    Sampling period                          : 1000 Milliseconds\n"
    "    Power reading state is                   : activated\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ParseDcmiPower, ReadsBothLayouts) {
  EXPECT_EQ(ParseDcmiPower(kOlder), 220);
  EXPECT_EQ(ParseDcmiPower(kNewer), 1614);
}

TEST(ParseDcmiPower, WhatIsNotMeasuredIsNotTold) {
  EXPECT_FALSE(ParseDcmiPower(""));
  EXPECT_FALSE(ParseDcmiPower("DCMI request failed because: Invalid command (c1)\n"));
  EXPECT_FALSE(ParseDcmiPower(Replaced(kOlder, "activated", "deactivated")));
  EXPECT_FALSE(ParseDcmiPower(Replaced(kOlder, "220 Watts", "  0 Watts")));
  EXPECT_FALSE(ParseDcmiPower(Replaced(kOlder, "220 Watts", "220 mW")));
  EXPECT_FALSE(ParseDcmiPower(Replaced(kOlder, "220 Watts", "nan Watts")));
  EXPECT_FALSE(ParseDcmiPower(Replaced(kOlder, "220 Watts", "1e9 Watts")));
}

TEST(ParseMicrowatts, HasMillionthsOfAWatt) {
  EXPECT_EQ(ParseMicrowatts("345000000\n"), 345);
  EXPECT_FALSE(ParseMicrowatts("0\n"));
  EXPECT_FALSE(ParseMicrowatts("no data"));
}

class PowerMeterTest : public ::testing::Test {
 protected:
  std::optional<double> Ask(PowerMeter& meter) {
    sys::ProcessControl control;
    return meter.Watts(control);
  }
  void AddHwmon(const std::string& device, const std::string& name) {
    files_.AddFile("/sys/class/hwmon/" + device + "/name", name + "\n");
    files_.AddFile("/sys/class/hwmon/" + device + "/power1_average", "412000000\n");
  }
  FakeFileSystem files_;
  FakeProcessRunner processes_;
};

TEST_F(PowerMeterTest, MeterOfAcpiComesFirst) {
  files_.AddFile("/dev/ipmi0", "");
  AddHwmon("hwmon0", "amdgpu");
  AddHwmon("hwmon3", "power_meter");
  PowerMeter meter(files_, processes_);
  EXPECT_EQ(Ask(meter), 412);
  EXPECT_THAT(processes_.commands(), IsEmpty());
}

TEST_F(PowerMeterTest, BmcIsAskedByIpmi) {
  files_.AddFile("/dev/ipmi0", "");
  AddHwmon("hwmon0", "amdgpu");
  processes_.On("ipmitool dcmi power reading", FakeProcessRunner::Prints(kOlder));
  PowerMeter meter(files_, processes_);
  EXPECT_EQ(Ask(meter), 220);
  EXPECT_THAT(processes_.commands(), ElementsAre("ipmitool dcmi power reading"));
  EXPECT_TRUE(processes_.specs()[0].die_with_parent);
  EXPECT_LE(processes_.specs()[0].timeout, absl::Seconds(5));
}

TEST_F(PowerMeterTest, NoBmcNoQuestion) {
  processes_.On("ipmitool", FakeProcessRunner::Prints(kOlder));
  PowerMeter meter(files_, processes_);
  EXPECT_FALSE(Ask(meter));
  EXPECT_THAT(processes_.commands(), IsEmpty());
}

TEST_F(PowerMeterTest, WhoCannotAnswerIsNotAskedForEver) {
  files_.AddFile("/dev/ipmi0", "");
  PowerMeter without_program(files_, processes_);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Ask(without_program));
  EXPECT_EQ(processes_.commands().size(), 1u);
  processes_.ClearLog();
  processes_.On("ipmitool", FakeProcessRunner::Prints("DCMI request failed\n", 1));
  PowerMeter without_dcmi(files_, processes_);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Ask(without_dcmi));
  EXPECT_EQ(processes_.commands().size(), 3u);
}

}  // namespace
}  // namespace muster::burnin
