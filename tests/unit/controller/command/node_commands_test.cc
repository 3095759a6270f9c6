#include "controller/command/node_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeCommandsTest : public ::testing::Test {
 protected:
  NodeCommandsTest() : store_(*OpenStore(":memory:")) {
    sessions_.Connect("u1");
    sessions_.Connect("u2");
    commands_.Start();
  }

  std::shared_ptr<CommandWatch> Begin(std::vector<CommandNode> nodes, size_t at_once = 8) {
    const auto watch = commands_.Begin({.nodes = std::move(nodes),
                                        .argv = {"echo", "a \"b\"", "\x1b"},
                                        .time_limit = absl::Seconds(60),
                                        .at_once = at_once},
                                       {"admin:ann", "ipv4:10.0.0.1:1"}, [this] {
                                         absl::MutexLock lock(&mutex_);
                                         ready_ = true;
                                       });
    EXPECT_OK(watch);
    return watch.ok() ? *watch : nullptr;
  }
  // The next event, which must come.
  v1::RunCommandResponse Await(CommandWatch& watch) {
    for (int i = 0; i < 1000; ++i) {
      if (const auto event = watch.Next()) return *event;
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&ready_), absl::Milliseconds(10));
      ready_ = false;
    }
    ADD_FAILURE() << "no event";
    return {};
  }
  // The id of the command that was sent to the node; "": none was.
  std::string Started(const std::string& uuid) {
    std::string id;
    for (const v1::ControllerMessage& message : sessions_.Take(uuid))
      if (message.has_start_command()) id = message.start_command().command_id();
    return id;
  }
  std::string AwaitStop(const std::string& uuid) {
    for (int i = 0; i < 1000; ++i) {
      for (const v1::ControllerMessage& message : sessions_.Take(uuid))
        if (message.has_stop_command()) return message.stop_command().command_id();
      clock_.Sleep(absl::Milliseconds(10));
    }
    return "";
  }
  void End(const std::string& uuid, const std::string& id, const std::string& output) {
    v1::CommandResult result;
    result.set_command_id(id);
    result.mutable_end()->set_outcome(v1::COMMAND_OUTCOME_EXITED);
    result.mutable_end()->set_output(output);
    commands_.OnCommandResult(uuid, result);
  }
  // The entries of the audit log, oldest first: "ACTION SUBJECT DETAIL".
  std::vector<std::string> Audited(size_t count) {
    std::vector<std::string> entries;
    for (int i = 0; i < 1000 && entries.size() < count; ++i) {
      entries.clear();
      EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(100, 0));
        for (const EventRecord& event : events)
          entries.insert(entries.begin(), absl::StrCat(event.actor, " ", event.action, " ",
                                                       event.subject, " ", event.detail));
        return absl::OkStatus();
      }));
      if (entries.size() < count) clock_.Sleep(absl::Milliseconds(10));
    }
    return entries;
  }

  RealClock clock_;
  muster::testing::FakeAgentSessions sessions_;
  muster::testing::FailingStore store_;
  absl::Mutex mutex_;
  bool ready_ = false;
  NodeCommands commands_{store_, sessions_, clock_, [](absl::string_view) {}};
};

TEST_F(NodeCommandsTest, RunsOnAllNodesAndTellsTheAuditLogTwice) {
  const auto watch = Begin({{"c1", "u1"}, {"c2", "u2"}, {"c3", "u3"}, {"c4", ""}});
  const std::string id = Await(*watch).begun().command_id();
  EXPECT_THAT(Audited(1),
              ElementsAre(absl::StrCat("admin:ann exec.start c[1-4] ", id,
                                       R"(: ["echo","a \"b\"","\u001b"], for at most 1m)")));
  std::map<std::string, v1::CommandOutcome> outcomes;
  for (int i = 0; i < 2; ++i) {
    const v1::NodeCommandEnd end = Await(*watch).node_ended();
    outcomes[end.node()] = end.end().outcome();
  }
  EXPECT_EQ(Started("u1"), id);
  EXPECT_EQ(Started("u2"), id);
  End("u1", id, "a");
  End("u2", id, "b");
  for (int i = 0; i < 2; ++i) {
    const v1::NodeCommandEnd end = Await(*watch).node_ended();
    outcomes[end.node()] = end.end().outcome();
  }
  EXPECT_EQ(outcomes["c1"], v1::COMMAND_OUTCOME_EXITED);
  EXPECT_EQ(outcomes["c2"], v1::COMMAND_OUTCOME_EXITED);
  EXPECT_EQ(outcomes["c3"], v1::COMMAND_OUTCOME_NOT_CONNECTED);
  EXPECT_EQ(outcomes["c4"], v1::COMMAND_OUTCOME_NOT_CONNECTED);
  EXPECT_FALSE(watch->AtEnd());
  const std::string digest = Await(*watch).done().output_sha256();
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_TRUE(watch->AtEnd());
  const std::vector<std::string> entries = Audited(2);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_THAT(entries[1], HasSubstr("exec.end c[1-4]"));
  EXPECT_THAT(entries[1], HasSubstr("4 nodes: 2 exited with 0, 2 not connected"));
  EXPECT_THAT(entries[1], HasSubstr(digest));
  watch->Cancel();
}

TEST_F(NodeCommandsTest, ItEndsWithItsCaller) {
  const auto watch = Begin({{"c1", "u1"}, {"c2", "u2"}}, 1);
  const std::string id = Await(*watch).begun().command_id();
  EXPECT_EQ(watch->Next(), nullptr);  // starts c1
  EXPECT_EQ(Started("u1"), id);
  watch->Cancel();
  EXPECT_EQ(AwaitStop("u1"), id);
  EXPECT_THAT(sessions_.Take("u2"), IsEmpty());
  const std::vector<std::string> entries = Audited(2);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_THAT(entries[1], HasSubstr("its caller left"));
  End("u1", id, "late");  // nobody reads it
}

TEST_F(NodeCommandsTest, ItEndsWithTheConnection) {
  const auto watch = Begin({{"c1", "u1"}});
  Await(*watch);
  EXPECT_EQ(watch->Next(), nullptr);
  commands_.OnConnected("u1", {});  // in place of the session over which it was sent
  EXPECT_EQ(Await(*watch).node_ended().end().outcome(), v1::COMMAND_OUTCOME_LOST);
  Await(*watch);
  watch->Cancel();
}

TEST_F(NodeCommandsTest, NothingRunsThatTheAuditLogDoesNotKnow) {
  store_.refuse = true;
  EXPECT_FALSE(
      commands_
          .Begin({.nodes = {{"c1", "u1"}}, .argv = {"true"}, .time_limit = absl::Seconds(60)},
                 {"admin:ann", ""}, [] {})
          .ok());
  EXPECT_THAT(sessions_.Take("u1"), IsEmpty());
}

TEST_F(NodeCommandsTest, AStoppingControllerLeavesNothingRunning) {
  const auto watch = Begin({{"c1", "u1"}});
  const std::string id = Await(*watch).begun().command_id();
  EXPECT_EQ(watch->Next(), nullptr);
  commands_.Stop();
  EXPECT_TRUE(watch->IsBroken());
  EXPECT_EQ(AwaitStop("u1"), id);
  EXPECT_EQ(commands_.Begin({}, {"admin:ann", ""}, [] {}).status().code(),
            absl::StatusCode::kUnavailable);
  watch->Cancel();
}

}  // namespace
}  // namespace muster::controller
