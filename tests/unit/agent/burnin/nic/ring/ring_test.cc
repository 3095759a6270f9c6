#include "agent/burnin/nic/ring/ring.h"

#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

TEST(RingTest, ScheduleAddsUpEverythingEverywhere) {
  for (const int ranks : {2, 3, 4, 7, 16}) {
    SCOPED_TRACE(ranks);
    const auto count = static_cast<size_t>(ranks);
    // One number per chunk: bit r says that rank r's part is in it.
    std::vector<std::vector<uint32_t>> chunks(count);
    for (size_t rank = 0; rank < count; ++rank) chunks[rank].assign(count, 1u << rank);
    for (int step = 0; step < RingSteps(ranks); ++step) {
      const auto before = chunks;
      for (int rank = 0; rank < ranks; ++rank) {
        const int previous = (rank + ranks - 1) % ranks;
        const RingStep mine = StepOf(rank, ranks, step);
        EXPECT_EQ(mine.receive_chunk, StepOf(previous, ranks, step).send_chunk);
        if (step > 0) {
          EXPECT_EQ(mine.send_chunk, StepOf(rank, ranks, step - 1).receive_chunk);
        }
        const auto at = static_cast<size_t>(mine.receive_chunk);
        uint32_t& own = chunks[static_cast<size_t>(rank)][at];
        const uint32_t came = before[static_cast<size_t>(previous)][at];
        if (mine.reduce) {
          EXPECT_EQ(own & came, 0u) << "added twice";
        }
        own = mine.reduce ? own | came : came;
      }
    }
    for (const auto& of_rank : chunks)
      for (const uint32_t chunk : of_rank) EXPECT_EQ(chunk, (1u << ranks) - 1);
  }
}

TEST(RingTest, PartsCoverAllElementsInOrder) {
  for (const size_t elements : {size_t{0}, size_t{1}, size_t{5}, size_t{16}, size_t{1001}}) {
    for (const int parts : {1, 2, 3, 16}) {
      size_t at = 0;
      for (int i = 0; i < parts; ++i) {
        const ElementRange range = PartOf(elements, parts, i);
        EXPECT_EQ(range.begin, at);
        EXPECT_LE(range.size(), elements / static_cast<size_t>(parts) + 1);
        at = range.end;
      }
      EXPECT_EQ(at, elements);
    }
  }
}

TEST(RingDataTest, SumsAreExactAndMistakesShow) {
  constexpr int kRanks = 30;
  constexpr size_t kElements = 70000;  // more than the period
  std::vector<float> sum(kElements, 0);
  std::vector<float> one(kElements);
  for (int rank = kRanks; rank-- > 0;) {
    RingData(rank, kRanks).Fill(absl::MakeSpan(one));
    for (size_t i = 0; i < kElements; ++i) sum[i] += one[i];
  }
  const RingData data(0, kRanks);
  std::vector<RingData::Mismatch> first;
  EXPECT_EQ(data.Verify(sum, 10, first), 0u);
  sum[69999] += 1;
  sum[3] = -sum[3];
  EXPECT_EQ(data.Verify(sum, 1, first), 2u);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].element, 3u);
  EXPECT_EQ(first[0].found, -first[0].expected);
}

TEST(RingDataTest, AChunkInAWrongPlaceShows) {
  std::vector<float> data(size_t{1} << 18);
  const RingData pattern(0, 1);
  pattern.Fill(absl::MakeSpan(data));
  std::copy_n(data.begin(), 65536, data.begin() + 131072);
  std::vector<RingData::Mismatch> first;
  EXPECT_GT(pattern.Verify(data, 1, first), 60000u);
}

}  // namespace
}  // namespace muster::burnin
