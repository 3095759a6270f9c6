#include "controller/boot/root_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::StatusIs;

constexpr uint64_t kMib = uint64_t{1} << 20;

TEST(RootChunksTest, AreA128thWithinBounds) {
  EXPECT_EQ(ChunkBytes(1), kMib / 4);
  EXPECT_EQ(ChunkBytes(256 * kMib), 2 * kMib);
  EXPECT_EQ(ChunkBytes(256 * kMib + 1), 2 * kMib + 1);
  EXPECT_EQ(ChunkBytes(4096 * kMib), 8 * kMib);
}

TEST(RootChunksTest, CoverTheRootAndNothingElse) {
  for (const uint64_t bytes :
       {uint64_t{1}, kMib / 4, kMib / 4 + 1, 300 * kMib, 300 * kMib + 7, 4096 * kMib + 1}) {
    uint64_t covered = 0;
    size_t chunk = 0;
    for (;; ++chunk) {
      const auto part = PartOf(chunk, bytes);
      if (!part.ok()) break;
      EXPECT_EQ(part->offset, covered);
      EXPECT_GT(part->bytes, 0u);
      covered += part->bytes;
    }
    EXPECT_EQ(covered, bytes);
    EXPECT_THAT(PartOf(chunk, bytes), StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
    EXPECT_THAT(PartOf(SIZE_MAX, bytes), StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
  }
  EXPECT_THAT(PartOf(0, 0), StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

}  // namespace
}  // namespace muster::controller::boot
