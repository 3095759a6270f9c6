#include "agent/memory.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// The sanitizers' own allocators keep freed memory.
#ifdef MUSTER_SANITIZED
constexpr bool kHeapIsGlibcs = false;
#else
constexpr bool kHeapIsGlibcs = true;
#endif

TEST(MemoryKeeper, GivesBackOnceAfterWork) {
  MemoryKeeper keeper;
  for (int i = 1; i < MemoryKeeper::kIdleLooks; ++i) EXPECT_FALSE(keeper.Look(true, 20 * kMiB));
  EXPECT_TRUE(keeper.Look(true, 20 * kMiB));
  keeper.Returned(8 * kMiB);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(keeper.Look(true, 9 * kMiB));
  EXPECT_FALSE(keeper.Look(false, 30 * kMiB));
  for (int i = 1; i < MemoryKeeper::kIdleLooks; ++i) EXPECT_FALSE(keeper.Look(true, 30 * kMiB));
  EXPECT_TRUE(keeper.Look(true, 30 * kMiB));
}

TEST(MemoryKeeper, NeverDisturbsWork) {
  MemoryKeeper keeper;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(keeper.Look(false, 500 * kMiB));
}

TEST(ReturnMemory, GivesBackTheHeapAndKeepsTheProgramWhole) {
  KeepMemorySmall();
  std::vector<std::unique_ptr<std::string>> held;
  for (int i = 0; i < 64 * 1024; ++i) held.push_back(std::make_unique<std::string>(1024, 'x'));
  // Between blocks that remain, so that the heap's end cannot simply move down.
  const std::string stays(1024, 'y');
  const size_t before = ResidentBytes();
  ASSERT_GT(before, 64 * kMiB);
  held.clear();
  ReturnMemory();
  if (kHeapIsGlibcs) {
    EXPECT_LT(ResidentBytes(), before - 60 * kMiB);
  }
  EXPECT_EQ(stays, std::string(1024, 'y'));
  EXPECT_THROW(throw std::string("code, tables and type information are still there"), std::string);
}

}  // namespace
}  // namespace muster::agent
