// Agents that send nothing, read nothing or send too much, over real TLS, with a fake clock for the
// registry.
#include <atomic>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "controller/session/agent_session.h"
#include "controller/session/intake.h"
#include "controller/session/session_registry.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/session_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;

class SlowAgentTest : public SessionFixture {
 protected:
  // Sends the message until the session is cut off, and returns how often it was taken.
  uint64_t Flood(Agent& agent, const v1::AgentMessage& message) {
    std::atomic<uint64_t> written = 0;
    std::atomic<bool> broke = false;
    std::thread flood([&] {
      while (agent.stream->Write(message)) ++written;
      broke = true;
    });
    // A second is over when nothing more is sent: the share is used up and all buffers are full.
    while (!broke) {
      uint64_t before = 0;
      do {
        before = written;
        absl::SleepFor(absl::Milliseconds(100));
      } while (!broke && written != before);
      registry_->Sweep();
    }
    flood.join();
    return written;
  }
};

// Seven messages of 1 MiB fit below the limit of 8 MiB; the Welcome waits too until its write is
// reported as done, which may come after the agent has read it.
auto SaysWhatWaits() {
  return ::testing::MatchesRegex(
      "the node does not read: [78] messages \\(7340[0-9]+ bytes\\) wait");
}

// It sends heartbeats but reads nothing: its queue fills up, and it is disconnected.
TEST_F(SlowAgentTest, WhoNeverReadsIsBrokenOffAndTheOthersGoOn) {
  const Credentials other = Enrol("c002");
  const auto honest = Connected(other);
  const auto stalled = Connected();
  v1::ControllerMessage big;
  big.mutable_cancel_plan()->set_plan_id(std::string(1024 * 1024, 'x'));
  // gRPC accepts some MiB over time, and every message that it accepts is a sign of life: fill up
  // until it accepts nothing between two sweeps.
  absl::Status status;
  size_t heard = 2;
  uint64_t reports = 0;
  for (int round = 1; round <= 100 && registry_->IsConnected(machine_.node_uuid); ++round) {
    status = absl::OkStatus();
    for (int i = 0; i < 200 && status.ok(); ++i) status = registry_->Send(machine_.node_uuid, big);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    // Neither is silent in the meantime.
    for (absl::Duration waited; waited <= AgentSession::kWriteTimeout;
         waited += absl::Seconds(10)) {
      stalled->Report(++reports);
      honest->Report(reports);
      listener_.Await(heard += 2);
      Pass(absl::Seconds(10));
    }
  }
  EXPECT_THAT(std::string(status.message()), SaysWhatWaits());
  EXPECT_FALSE(registry_->IsConnected(machine_.node_uuid));
  EXPECT_TRUE(registry_->IsConnected(other.uuid));
  EXPECT_EQ(registry_->Send(machine_.node_uuid, big).code(), absl::StatusCode::kUnavailable);
  // The status cannot reach an agent that does not read, so the next sweep ends the stream.
  registry_->Sweep();
  EXPECT_FALSE(stalled->End().ok());

  v1::ControllerMessage small;
  small.mutable_cancel_plan()->set_plan_id("p");
  EXPECT_OK(registry_->Send(other.uuid, small));
  v1::ControllerMessage got;
  ASSERT_TRUE(honest->stream->Read(&got));
  EXPECT_EQ(got.cancel_plan().plan_id(), "p");
  // After reconnecting, it starts with an empty queue.
  const auto again = Connected();
  EXPECT_OK(registry_->Send(machine_.node_uuid, small));
  ASSERT_TRUE(again->stream->Read(&got));
  EXPECT_EQ(got.cancel_plan().plan_id(), "p");
}

// A write that was in progress when the controller stalled is not the node's fault.
TEST_F(SlowAgentTest, AWriteThatAStallInterruptedMayGoOn) {
  const auto agent = Connected();
  registry_->Sweep();
  v1::ControllerMessage big;
  big.mutable_cancel_plan()->set_plan_id(std::string(1024 * 1024, 'x'));
  for (int round = 0; round < 10; ++round) {  // until gRPC accepts nothing more
    absl::Status status;
    while (status.ok()) status = registry_->Send(machine_.node_uuid, big);
    absl::SleepFor(absl::Milliseconds(20));
  }
  clock_.Advance(absl::Hours(1));
  registry_->Sweep();
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
}

TEST_F(SlowAgentTest, SilentStrangerIsSentAway) {
  const auto agent = Open();
  // Nothing reports when the stream has reached the server: sweep until it is answered.
  std::atomic<bool> is_answered = false;
  std::thread sweeper([&] {
    while (!is_answered) {
      Pass(SessionRegistry::kHelloTimeout + absl::Seconds(1));
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  const grpc::Status status = agent->End();
  is_answered = true;
  sweeper.join();
  EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "no Hello came");
}

TEST_F(SlowAgentTest, QueueIsBounded) {
  const auto agent = Connected();
  v1::ControllerMessage big;
  big.mutable_cancel_plan()->set_plan_id(std::string(1024 * 1024, 'x'));
  absl::Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) status = registry_->Send(machine_.node_uuid, big);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), SaysWhatWaits());
  EXPECT_EQ(registry_->Send(NewUuid(), big).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SlowAgentTest, HugeMessageCutsOff) {
  const auto agent = Connected();
  v1::AgentMessage message;
  message.mutable_reports()->add_reports()->mutable_step()->set_output(
      std::string(kMaxAgentMessageBytes + 1, 'x'));
  agent->stream->Write(message);
  EXPECT_EQ(agent->End().error_code(), grpc::RESOURCE_EXHAUSTED);
}

#ifndef MUSTER_SANITIZED  // a sanitized agent sends some hundred messages a second
TEST_F(SlowAgentTest, FloodOfMessagesIsReadSlowlyThenCutOff) {
  const auto agent = Connected();
  v1::AgentMessage message;
  message.mutable_heartbeat();
  const uint64_t written = Flood(*agent, message);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("5000 messages"));
  EXPECT_EQ(CutOffs("c001"), 1);
  EXPECT_GE(written, AgentSession::kMaxFloodedSeconds * AgentSession::kMessagesPerSecond);
}
#endif

TEST_F(SlowAgentTest, FloodOfBytesIsReadSlowlyThenCutOff) {
  const auto agent = Connected();
  v1::AgentMessage message;
  message.mutable_progress()->set_activity(std::string(512 << 10, 'x'));
  const uint64_t written = Flood(*agent, message);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), Said());
  EXPECT_EQ(CutOffs("c001"), 1);
  EXPECT_GE(written * message.ByteSizeLong(),
            AgentSession::kMaxFloodedSeconds * AgentSession::kBytesPerSecond);
}

}  // namespace
}  // namespace muster::controller
