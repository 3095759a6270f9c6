#include "controller/inventory/names.h"

#include <gtest/gtest.h>

namespace muster::controller {
namespace {

TEST(Names, Addresses) {
  for (const char* good : {"10.0.0.1", "::1", "fe80::1", "c001", "c001.hpc1.example"}) {
    EXPECT_EQ(CheckAddress(good), "") << good;
  }
  for (const char* bad : {"", "10.0.0.256", "10.0.0", "1:2", "c_1", "-c", "a..b", "10.0.0.01"}) {
    EXPECT_NE(CheckAddress(bad), "") << bad;
  }
}

TEST(Names, SlurmTimes) {
  for (const char* good :
       {"60", "60:00", "12:00:00", "2-12", "2-12:30", "7-00:00:00", "UNLIMITED"}) {
    EXPECT_EQ(CheckSlurmTime(good), "") << good;
  }
  for (const char* bad : {"", "1h", "1-", "-1", "1:2:3:4", "1-2-3", "unlimited", "1::2"}) {
    EXPECT_NE(CheckSlurmTime(bad), "") << bad;
  }
}

TEST(Names, LabelsMacsAndVariables) {
  EXPECT_EQ(CheckDnsLabel("node", "c001-ib"), "");
  EXPECT_NE(CheckDnsLabel("node", "C001"), "");
  EXPECT_NE(CheckDnsLabel("node", "c001-"), "");
  EXPECT_NE(CheckDnsLabel("node", std::string(64, 'a')), "");
  EXPECT_EQ(CheckMac("0c:42:a1:00:12:3F"), "");
  EXPECT_NE(CheckMac("0c:42:a1:00:12"), "");
  EXPECT_NE(CheckMac("0c:42:a1:00:12:3g"), "");
  EXPECT_EQ(CheckVariableName("gpu_count2"), "");
  EXPECT_NE(CheckVariableName("2gpu"), "");
  EXPECT_NE(CheckVariableName("gpu-count"), "");
  EXPECT_NE(CheckName("group", "-x"), "");
}

}  // namespace
}  // namespace muster::controller
