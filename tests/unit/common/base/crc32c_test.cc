#include "common/base/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

// Check values of RFC 3720, appendix B.4, and of the CRC catalogue.
TEST(Crc32cTest, AgreesWithThePublishedCheckValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32cTest, NoticesEveryFlippedBit) {
  std::string data = "role munge / shared key";
  const uint32_t crc = Crc32c(data);
  for (size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_NE(Crc32c(data), crc) << "bit " << bit;
    data[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
}

}  // namespace
}  // namespace muster
