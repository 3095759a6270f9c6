#include "common/base/text/disk_name.h"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(DiskName, IsOneWordThatNamesADisk) {
  for (const char* good : {"blank", "serial:S4EVNX0M", "serial:eui.0025388b01b2",
                           "uuid:3a1b2c3d-1111-2222-3333-444455556666", "uuid:5E-7F"})
    EXPECT_EQ(CheckDiskName(good), "") << good;
  for (const char* bad : {"", "any", "blank ", "serial:", "uuid:", "serial:a b", "serial:a$b",
                          "/dev/sda", "sda", "Serial:x", "serial:\n"})
    EXPECT_NE(CheckDiskName(bad), "") << bad;
  EXPECT_NE(CheckDiskName("serial:" + std::string(65, 'a')), "");
}

}  // namespace
}  // namespace muster
