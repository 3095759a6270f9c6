// The worst load that enrolled nodes can cause, all at once: the controller's memory stays within
// the limits of its constants, and an honest agent notices nothing.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "absl/time/clock.h"
#include "controller/run/run_manager.h"
#include "controller/session/agent_session.h"
#include "controller/session/intake.h"
#include "controller/session/session_registry.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/enrolled_controller.h"
#include "tests/fixtures/raw_stream.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kAttack = absl::Seconds(3);
constexpr size_t kHostile = 2;  // nodes; the third is honest

// An empty change is two bytes of a report, and in memory an object of four empty strings, its
// place in the list and the allocator's own word.
constexpr size_t kBytesPerChange = sizeof(v1::Change) + 2 * sizeof(void*) + 16;
// As many as are accepted.
constexpr size_t kChanges = std::min<size_t>(100'000, kMaxExpandedBytes / kBytesPerChange);

// One large message at a time is parsed, and copied for the queue. Its memory stays in the arena of
// the thread that did it, and musterd has four (controller/allocator.cc).
constexpr size_t kLargeMessages = size_t{4} * 2 * kMaxExpandedBytes;
// For each node: its share of the queue; for each of its streams, and for each that has just been
// cut off but is not gone yet, one message in transit at either end, since both are in this
// process; its newest facts, in the keeper and on the way to the store.
constexpr size_t kPerNode = RunManager::kMaxQueuedBytesOfNode +
                            SessionRegistry::kMaxStreams * 4 * kMaxAgentMessageBytes +
                            2 * kMaxAgentMessageBytes;
// Connections, the store's cache, memory that the allocator has not returned.
constexpr size_t kRest = size_t{128} << 20;
constexpr size_t kBound = kLargeMessages + kHostile * kPerNode + kRest;

size_t ResidentBytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

v1::AgentMessage Bloated() {
  v1::AgentMessage message;
  v1::Report& report = *message.mutable_reports()->add_reports();
  report.set_report_sequence(1);
  v1::StepResult& step = *report.mutable_step();
  step.set_status(v1::STEP_STATUS_CHANGED);
  for (size_t i = 0; i < kChanges; ++i) step.add_changes();
  return message;
}

class HostileLoadTest : public EnrolledControllerFixture {
 protected:
  static void SetUpTestSuite() { ASSERT_OK(HardenTls()); }
};

TEST_F(HostileLoadTest, MemoryStaysWithinItsBounds) {
  const std::string report = Bloated().SerializeAsString();
  ASSERT_LE(report.size(), kMaxAgentMessageBytes);
  v1::AgentMessage hello;
  hello.mutable_hello()->set_boot_id("boot");
  const std::string greeting = hello.SerializeAsString();

  const std::unique_ptr<Agent> honest = Greet(nodes_[kHostile]);
  ASSERT_NE(honest, nullptr);
  const size_t before = ResidentBytes();
  std::atomic<bool> is_over = false;
  std::atomic<int> cut_off = 0;
  std::vector<std::thread> attackers;
  for (size_t i = 0; i < kHostile * SessionRegistry::kMaxStreams; ++i) {
    attackers.emplace_back([&, i] {
      const auto channel = Connect(controller_->port(), nodes_[i % kHostile].identity);
      while (!is_over) {
        testing::RawStream stream(channel, "/muster.v1.AgentSessionService/Connect");
        std::string welcome;
        stream.Write(greeting);
        if (stream.Read(&welcome)) {
          while (!is_over && stream.Write(report)) continue;
        }
        if (is_over) {
          stream.Cancel();
        } else {
          cut_off += !stream.Finish().ok();
        }
      }
    });
  }
  size_t most = 0;
  for (const absl::Time end = absl::Now() + kAttack; absl::Now() < end;) {
    most = std::max(most, ResidentBytes());
    EXPECT_TRUE(honest->Beat());
    absl::SleepFor(absl::Milliseconds(10));
  }
  is_over = true;
  for (std::thread& each : attackers) each.join();
  EXPECT_TRUE(honest->Beat());
  EXPECT_GT(cut_off, 0);
  const size_t grown = most - std::min(most, before);
  RecordProperty("grown_mib", static_cast<int>(grown >> 20));
#ifndef MUSTER_SANITIZED  // these keep freed memory
  EXPECT_LE(grown, kBound) << (grown >> 20) << " MiB of " << (kBound >> 20);
#endif
}

}  // namespace
}  // namespace muster::controller
