#include "controller/session/node_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::controller {
namespace {

using ::testing::ElementsAre;

using Queue = NodeQueue<std::string>;

constexpr NodeQueueLimits kLimits = {.events_of_node = 4, .bytes_of_node = 100, .bytes = 150};

std::vector<std::string> Words(Queue::Batch& batch) {
  std::vector<std::string> words;
  batch.ForEach([&](std::string& word) { words.push_back(word); });
  return words;
}

TEST(NodeQueue, KeepsTheOrderOfAllNodes) {
  Queue queue(kLimits);
  EXPECT_TRUE(queue.PushOf("a", 1, "1"));
  queue.Push("2");
  EXPECT_TRUE(queue.PushOf("b", 1, "3"));
  EXPECT_EQ(queue.size(), 3);
  Queue::Batch batch = queue.Take();
  EXPECT_THAT(Words(batch), ElementsAre("1", "2", "3"));
  EXPECT_TRUE(queue.Take().empty());
}

TEST(NodeQueue, BoundsOneNodeAndLeavesTheOthersTheirs) {
  Queue queue(kLimits);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.PushOf("a", 1, "x"));
  EXPECT_FALSE(queue.PushOf("a", 1, "a fifth event"));
  EXPECT_FALSE(queue.PushOf("b", 101, "too large"));
  EXPECT_TRUE(queue.PushOf("b", 100, "just fits"));
}

TEST(NodeQueue, BoundsAllNodesTogether) {
  Queue queue(kLimits);
  EXPECT_TRUE(queue.PushOf("a", 100, "x"));
  EXPECT_FALSE(queue.PushOf("b", 51, "x"));
  EXPECT_TRUE(queue.PushOf("b", 50, "x"));
}

TEST(NodeQueue, LeavesRoomForWhatMustNotBeLost) {
  Queue queue(kLimits);
  EXPECT_TRUE(queue.PushOf("a", 1, "progress", 2));
  EXPECT_TRUE(queue.PushOf("a", 1, "progress", 2));
  EXPECT_FALSE(queue.PushOf("a", 1, "progress", 2));
  EXPECT_FALSE(queue.PushOf("b", 51, "progress", 2));
  EXPECT_TRUE(queue.PushOf("a", 1, "report"));
}

TEST(NodeQueue, GivesSharesBackWhenTheBatchGoes) {
  Queue queue(kLimits);
  EXPECT_TRUE(queue.PushOf("a", 100, "x"));
  {
    Queue::Batch batch = queue.Take();
    EXPECT_FALSE(queue.PushOf("a", 1, "x")) << "the first is still in memory";
    const Queue::Batch moved = std::move(batch);
    EXPECT_FALSE(queue.PushOf("a", 1, "x"));
  }
  EXPECT_TRUE(queue.PushOf("a", 100, "x"));
}

}  // namespace
}  // namespace muster::controller
