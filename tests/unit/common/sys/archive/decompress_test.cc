#include "common/sys/archive/decompress.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/escaping.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::sys {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;

// What xz and gzip make of "Package: tool\n", of nothing, and of a million zeros.
constexpr char kXz[] =
    "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQANUGFja2FnZTogdG9vbAoAAACmSAERIsbrIQABJg4IG+"
    "AEH7bzfQEAAAAABFla";
constexpr char kGzip[] = "H4sIAAAAAAAAAwtITM5OTE+1UijJz8/hAgAhLH6ZDgAAAA==";
constexpr char kEmptyXz[] = "/Td6WFoAAATm1rRGAAAAABzfRCEftvN9AQAAAAAEWVo=";
constexpr char kEmptyGzip[] = "H4sIAAAAAAAAAwMAAAAAAAAAAAA=";
constexpr char kZerosXz[] =
    "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj70I/ANFdAABv/f//o7f/"
    "Rz5IFXI5YVG4kijmo4YH+e7kHoLTL8U6PAFLsX7JiopNL6MN2X+m44wjEVPgWRjFdYrid/"
    "i2lH8MasDedElk4ulcU7IE2PdEDKtfDW1G6eXDdoi3llestk3haR1v+0uIEGxCy4g/XACP0E6vJiiUcR89jyThcJ6nI1/"
    "sKMuF0ZWYin4qkfIndfcZwAaYTZj92K/VkA/"
    "EJVP49ZE2MQWlsO5vwXBNRwzRkRGqrWAdus6xJxhcWYbpZlJYvul2rFnk5VsFCPmTwz82AAAAADKzVZfu0uHjAAHtAcCEP"
    "QDV4HauscRn+wIAAAAABFla";

std::string Bytes(const char* encoded) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(encoded, &bytes));
  return bytes;
}

TEST(Decompress, ReadsXzAndGzip) {
  EXPECT_EQ(Decompress(Bytes(kXz), 100).value(), "Package: tool\n");
  EXPECT_EQ(Decompress(Bytes(kGzip), 100).value(), "Package: tool\n");
  EXPECT_EQ(Decompress(Bytes(kEmptyXz), 100).value(), "");
  EXPECT_EQ(Decompress(Bytes(kEmptyGzip), 100).value(), "");
}

TEST(Decompress, ContentIsBounded) {
  EXPECT_EQ(Decompress(Bytes(kZerosXz), 1'000'000).value(), std::string(1'000'000, '\0'));
  EXPECT_THAT(Decompress(Bytes(kZerosXz), 999'999),
              StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(CompressGz, TheSameDataGiveTheSameBytesWhichAreReadBack) {
  std::string large(3'000'000, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 24);
  for (const std::string& data : {std::string("Package: tool\n"), std::string(), large}) {
    const absl::StatusOr<std::string> packed = CompressGz(data);
    ASSERT_OK(packed);
    EXPECT_EQ(*CompressGz(data), *packed);
    EXPECT_EQ(packed->substr(4, 4), std::string(4, '\0'));  // the time
    EXPECT_EQ(Decompress(*packed, data.size()).value(), data);
  }
}

TEST(Decompress, WhatIsNoneOfTheTwoIsRefused) {
  std::string flipped = Bytes(kXz);
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  for (const std::string& data :
       {std::string(), std::string("Package: tool\n"), flipped,
        Bytes(kXz).substr(0, Bytes(kXz).size() - 20), Bytes(kGzip).substr(0, 15)}) {
    EXPECT_THAT(Decompress(data, 100), StatusIs(absl::StatusCode::kInvalidArgument, _));
  }
}

}  // namespace
}  // namespace muster::sys
