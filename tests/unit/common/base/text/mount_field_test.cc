#include "common/base/text/mount_field.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(MountField, OctalNumbersAreCharacters) {
  EXPECT_EQ(UnescapeMountField(R"(/srv/my\040data)"), "/srv/my data");
  EXPECT_EQ(UnescapeMountField(R"(a\011b\012c\134d)"), "a\tb\nc\\d");
}

TEST(MountField, WhatIsNoSuchNumberStays) {
  for (const char* field : {"", "/srv", R"(\)", R"(\04)", R"(\089)", R"(a\x41)"})
    EXPECT_EQ(UnescapeMountField(field), field);
}

}  // namespace
}  // namespace muster
