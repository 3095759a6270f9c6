#include "controller/boot/chunk_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <queue>

#include "absl/strings/str_cat.h"

namespace muster::controller::boot {
namespace {

using Kind = ChunkExchange::Step::Kind;
using ::testing::Optional;

class ChunkExchangeTest : public ::testing::Test {
 protected:
  ChunkExchange::Step Next(const std::string& machine, const std::string& rack = "") {
    return exchange_.Next(machine, absl::StrCat("at-", machine), rack, now_);
  }
  // Gets all that it can get now, and has it.
  size_t TakeAll(const std::string& machine) {
    size_t taken = 0;
    for (auto step = Next(machine); step.kind == Kind::kFetch; step = Next(machine), ++taken)
      exchange_.Had(machine, step.chunk, now_);
    return taken;
  }

  ChunkExchange exchange_{8};
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(ChunkExchangeTest, OneAloneHasAllFromTheController) {
  for (size_t i = 0; i < 8; ++i) {
    const auto step = Next("a");
    ASSERT_EQ(step.kind, Kind::kFetch);
    EXPECT_EQ(step.source, std::nullopt);
    exchange_.Had("a", step.chunk, now_);
  }
  EXPECT_EQ(Next("a").kind, Kind::kWhole);
  EXPECT_TRUE(exchange_.Leave("a", now_));
  EXPECT_EQ(exchange_.machines(), 0u);
}

TEST_F(ChunkExchangeTest, TheControllerGivesDifferentChunksAndFewAtOnce) {
  std::set<size_t> chunks;
  for (int i = 0; i < ChunkExchange::kUploadsOfSeed; ++i)
    chunks.insert(Next(absl::StrCat("m", i)).chunk);
  EXPECT_EQ(chunks.size(), ChunkExchange::kUploadsOfSeed);
  EXPECT_EQ(Next("late").kind, Kind::kWait);
}

TEST_F(ChunkExchangeTest, WhoHasAChunkGivesIt) {
  const auto first = Next("a");
  exchange_.Had("a", first.chunk, now_);
  // The controller is busy with what nobody has.
  for (int i = 0; i < ChunkExchange::kUploadsOfSeed; ++i) Next("b");
  const auto step = Next("c");
  EXPECT_EQ(step.chunk, first.chunk);
  EXPECT_THAT(step.source, Optional(std::string("at-a")));
  for (int i = 1; i < ChunkExchange::kUploadsOfMachine; ++i) Next(absl::StrCat("d", i));
  EXPECT_EQ(Next("e").kind, Kind::kWait) << "a gives to as many as it may";
  exchange_.Had("c", step.chunk, now_);
  EXPECT_EQ(Next("e").kind, Kind::kFetch);
}

TEST_F(ChunkExchangeTest, AMachineOfTheRackComesFirst) {
  ChunkExchange exchange(1);
  for (const char* rack : {"r1", "r2", "r3"}) {
    ASSERT_EQ(exchange.Next(rack, rack, rack, now_).kind, Kind::kFetch);
    exchange.Had(rack, 0, now_);
  }
  for (const char* rack : {"r3", "r1", "r2"})
    EXPECT_THAT(exchange.Next(absl::StrCat("of ", rack), "x", rack, now_).source,
                Optional(std::string(rack)));
}

TEST_F(ChunkExchangeTest, WhatAnotherDoesNotGiveComesFromTheController) {
  EXPECT_EQ(TakeAll("liar"), 8u);
  const auto step = Next("a");
  ASSERT_THAT(step.source, Optional(std::string("at-liar")));
  exchange_.Lost("a", step.chunk);
  bool is_asked_again = false;
  for (int i = 0; i < 8; ++i) {
    const auto again = Next("a");
    if (again.kind != Kind::kFetch) break;
    if (again.chunk == step.chunk) {
      is_asked_again = true;
      EXPECT_EQ(again.source, std::nullopt);
    }
    exchange_.Had("a", again.chunk, now_);
  }
  EXPECT_TRUE(is_asked_again);
}

TEST_F(ChunkExchangeTest, WhoGivesNothingToSeveralIsAskedNoMore) {
  EXPECT_EQ(TakeAll("liar"), 8u);
  for (size_t i = 0; i < ChunkExchange::kMaxFaults; ++i) {
    const std::string machine = absl::StrCat("m", i);
    const auto step = Next(machine);
    ASSERT_THAT(step.source, Optional(std::string("at-liar"))) << i;
    exchange_.Lost(machine, step.chunk);
  }
  EXPECT_EQ(Next("late").source, std::nullopt);
}

TEST_F(ChunkExchangeTest, OneAloneCannotAccuse) {
  EXPECT_EQ(TakeAll("honest"), 8u);
  for (int i = 0; i < 8; ++i) {
    const auto step = Next("slanderer");
    if (step.kind == Kind::kFetch) exchange_.Lost("slanderer", step.chunk);
  }
  EXPECT_THAT(Next("late").source, Optional(std::string("at-honest")));
}

TEST_F(ChunkExchangeTest, NobodyIsSentToWhoOnlySaysThatItHasAChunk) {
  Next("a");
  for (size_t chunk = 0; chunk < 9; ++chunk) exchange_.Had("stranger", chunk, now_);
  const auto step = Next("stranger");
  for (size_t chunk = 0; chunk < 9; ++chunk) {
    if (chunk != step.chunk) exchange_.Had("stranger", chunk, now_);
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Next("b").source, std::nullopt);
}

TEST_F(ChunkExchangeTest, AFetchWhoseEndNobodyTellsIsOver) {
  for (int i = 0; i < ChunkExchange::kUploadsOfSeed; ++i) Next(absl::StrCat("m", i));
  EXPECT_EQ(Next("a").kind, Kind::kWait);
  now_ += ChunkExchange::kLease;
  EXPECT_EQ(Next("a").kind, Kind::kFetch);
}

TEST_F(ChunkExchangeTest, AMachineThatIsGoneIsForgotten) {
  EXPECT_EQ(TakeAll("a"), 8u);
  now_ += ChunkExchange::kForgotten;
  EXPECT_EQ(Next("b").source, std::nullopt);
  EXPECT_EQ(exchange_.machines(), 1u);
}

TEST_F(ChunkExchangeTest, WhoLeavesWaitsForThoseWhoFetchFromIt) {
  EXPECT_EQ(TakeAll("a"), 8u);
  const auto step = Next("b");
  ASSERT_TRUE(step.source.has_value());
  EXPECT_FALSE(exchange_.Leave("a", now_));
  EXPECT_EQ(Next("c").source, std::nullopt) << "nobody else is sent there";
  exchange_.Had("b", step.chunk, now_);
  EXPECT_TRUE(exchange_.Leave("a", now_));
  EXPECT_TRUE(exchange_.Leave("a", now_)) << "asked again";
}

TEST_F(ChunkExchangeTest, ThousandsDoNotAskAllTheTime) {
  ChunkExchange exchange(1);
  absl::Duration wait;
  for (int i = 0; i < 5000; ++i) {
    const auto step = exchange.Next(absl::StrCat(i), "x", "", now_);
    if (step.kind == Kind::kWait) wait = step.wait;
  }
  EXPECT_GE(wait, absl::Seconds(2));
}

// How long `machines` take, in the time that one link takes for a chunk, when each fetches three
// chunks at once and links are shared among what goes over them.
double Simulate(size_t machines, size_t chunks) {
  ChunkExchange exchange(chunks);
  constexpr size_t kWorkers = 3;
  constexpr double kTick = 0.05;
  struct Flow {
    size_t machine, chunk;
    std::string source;
    double left = 1;
  };
  std::vector<Flow> flows;
  std::vector<size_t> busy(machines, 0);
  std::vector<bool> is_whole(machines, false);
  size_t whole = 0;
  double time = 0;
  for (; whole < machines && time < 1e5; time += kTick) {
    const absl::Time now = absl::UnixEpoch() + absl::Seconds(time);
    for (size_t m = 0; m < machines; ++m) {
      while (!is_whole[m] && busy[m] < kWorkers) {
        const auto step = exchange.Next(absl::StrCat(m), absl::StrCat(m), "", now);
        if (step.kind == Kind::kWhole) {
          is_whole[m] = true;
          ++whole;
          exchange.Leave(absl::StrCat(m), now);
        }
        if (step.kind != Kind::kFetch) break;
        ++busy[m];
        flows.push_back({m, step.chunk, step.source.value_or("seed")});
      }
    }
    std::map<std::string, int> up;
    for (const Flow& flow : flows) ++up[flow.source];
    std::vector<Flow> rest;
    for (Flow& flow : flows) {
      flow.left -=
          kTick / std::max<double>(up[flow.source], static_cast<double>(busy[flow.machine]));
      if (flow.left > 1e-9) rest.push_back(flow);
    }
    for (const Flow& flow : flows) {
      if (flow.left > 1e-9) continue;
      exchange.Had(absl::StrCat(flow.machine), flow.chunk, now);
      --busy[flow.machine];
    }
    flows = std::move(rest);
  }
  return time;
}

TEST(ChunkExchangeSimulation, ManyTakeHardlyLongerThanOne) {
  const double one = Simulate(1, 64);
  EXPECT_LT(Simulate(8, 64), 2 * one);
  EXPECT_LT(Simulate(64, 64), 2 * one);
}

}  // namespace
}  // namespace muster::controller::boot
