// Agents that break the protocol, over real TLS: each is cut off with the reason, and recorded in
// the audit log.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/protocol.h"
#include "common/base/status.h"
#include "controller/session/blob_stream.h"
#include "controller/session/session_registry.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/raw_stream.h"
#include "tests/fixtures/session_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::RawStream;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr char kConnect[] = "/muster.v1.AgentSessionService/Connect";

class HostileAgentTest : public SessionFixture {};

// Garbage is distinguished from a stream that ends, even where gRPC would not do so.
TEST_F(HostileAgentTest, GarbageCutsOffAndNobodyElse) {
  const Credentials other = Enrol("c002");
  const auto honest = Connected(other);
  v1::AgentMessage hello;
  hello.mutable_hello()->set_boot_id("b1");
  std::string not_utf8 = hello.SerializeAsString();
  not_utf8.replace(not_utf8.find("b1"), 2, "\xff\xfe");
  v1::AgentMessage report;
  report.mutable_reports()->add_reports()->set_plan_id("r-1/0");
  std::string cut = report.SerializeAsString();
  cut.pop_back();
  const struct {
    const char* name;
    bool greets;
    std::string bytes;
  } kCases[] = {
      {"noise first", false, "\xff\xff\xff\xff noise"},
      {"noise after Hello", true, std::string(100'000, '\xff')},
      {"not UTF-8", false, not_utf8},
      {"cut short", true, cut},
      {"a length beyond the end", true, "\x2a\x7f"},
      {"a length beyond all", true, "\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
      {"nested without end", true, std::string(200, '\x2b')},
  };
  size_t cut_off = 0;
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    RawStream stream(Channel(Self()), kConnect);
    std::string welcome;
    if (each.greets) {
      ASSERT_TRUE(stream.Write(hello.SerializeAsString()));
      ASSERT_TRUE(stream.Read(&welcome));
    }
    stream.Write(each.bytes);
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "the data is not a message of this protocol");
    EXPECT_EQ(listener_.misbehaved().size(), ++cut_off);
  }
  EXPECT_THAT(listener_.misbehaved(), Each(machine_.node_uuid));
  EXPECT_EQ(CutOffs("c001"), 1);
  EXPECT_EQ(CutOffs("c002"), 0);
  // The other one's stream is unaffected.
  v1::ControllerMessage message;
  message.mutable_cancel_plan()->set_plan_id("p");
  EXPECT_OK(registry_->Send(other.uuid, message));
  v1::ControllerMessage got;
  ASSERT_TRUE(honest->stream->Read(&got));
  EXPECT_EQ(got.cancel_plan().plan_id(), "p");
}

// Fields from a newer agent are ignored, and are not garbage.
TEST_F(HostileAgentTest, UnknownFieldsAreNoGarbage) {
  const auto agent = Connected();
  v1::AgentMessage message;
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(1000, "new");
  agent->stream->Write(message);
  agent->Report(1);
  EXPECT_EQ(listener_.Await(2).back(), "report 1");
}

TEST_F(HostileAgentTest, HelloComesFirst) {
  v1::AgentMessage messages[8];
  messages[7].mutable_slurm_answer();
  messages[1].mutable_heartbeat();
  messages[2].mutable_facts();
  messages[3].mutable_plan_receipt();
  messages[4].mutable_reports();
  messages[5].mutable_progress();
  messages[6].mutable_reboot_request();
  for (const v1::AgentMessage& message : messages) {
    SCOPED_TRACE(message.ShortDebugString());
    const auto agent = Open();
    agent->stream->Write(message);
    const grpc::Status status = agent->End();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "the first message must be Hello");
  }
  EXPECT_TRUE(listener_.Await(0).empty());
  EXPECT_EQ(CutOffs("c001"), 1);
}

TEST_F(HostileAgentTest, AgentOfAnotherProtocolIsRefusedByName) {
  v1::AgentMessage message;
  message.mutable_hello()->set_agent_version("0.9.0");
  message.mutable_hello()->set_boot_id("b1");
  message.mutable_hello()->set_protocol(kProtocol + 1);
  const auto agent = Open();
  agent->stream->Write(message);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("muster-agent 0.9.0 speaks protocol"));
  EXPECT_TRUE(listener_.Await(0).empty());
}

TEST_F(HostileAgentTest, SecondHelloCutsOff) {
  const auto agent = Connected("b1");
  agent->Hello("b2");
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "a second Hello");
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "disconnected"));
  EXPECT_EQ(CutOffs("c001"), 1);
  // The boot that it named was never taken for the node's.
  registry_->Sweep();
  EXPECT_EQ(Node(machine_.node_uuid).boot_id, "b1");
}

TEST_F(HostileAgentTest, FieldsBeyondMeasureCutOff) {
  const std::string much(5000, 'x');
  v1::AgentMessage messages[6];
  messages[0].mutable_hello()->set_boot_id(much);
  messages[1].mutable_hello()->set_boot_id("b1");
  messages[1].mutable_hello()->set_active_plan_id(much);
  messages[2].mutable_hello()->set_boot_id("b1");
  messages[2].mutable_hello()->set_last_sequence(~uint64_t{0});
  messages[3].mutable_facts()->set_request_id(much);
  messages[4].mutable_reboot_request()->set_request_id(much);
  messages[5].mutable_reboot_request()->set_plan_id(much);
  for (const v1::AgentMessage& message : messages) {
    SCOPED_TRACE(message.message_case());
    const auto agent = message.has_hello() ? Open() : Connected();
    agent->stream->Write(message);
    EXPECT_EQ(agent->End().error_code(), grpc::INVALID_ARGUMENT);
  }
}

// It would be counted nowhere, and so never be too many.
TEST_F(HostileAgentTest, ResultsWithoutAStatusCutOff) {
  const auto agent = Connected();
  v1::AgentMessage message;
  message.mutable_reports()->add_reports()->mutable_step()->set_step_id("role/step");
  agent->stream->Write(message);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "reports.reports[0].step.status: missing");
  EXPECT_EQ(CutOffs("c001"), 1);
}

// Otherwise any node could tell lies about Slurm; only the one that is asked may answer, once.
TEST_F(HostileAgentTest, AnswersAboutSlurmThatNobodyAskedForCutOff) {
  const auto agent = Connected();
  v1::ControllerMessage question;
  question.mutable_slurm_request()->set_request_id("q1");
  question.mutable_slurm_request()->mutable_list_nodes();
  ASSERT_OK(registry_->Send(machine_.node_uuid, question));
  v1::ControllerMessage got;
  ASSERT_TRUE(agent->stream->Read(&got));
  v1::AgentMessage answer;
  answer.mutable_slurm_answer()->set_request_id("q1");
  answer.mutable_slurm_answer()->mutable_nodes()->add_nodes()->set_name("c001");
  agent->stream->Write(answer);
  agent->Report(1);
  EXPECT_THAT(listener_.Await(3), ElementsAre("connected b1", "slurm q1", "report 1"));
  agent->stream->Write(answer);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "an answer about Slurm that was not requested");
  EXPECT_EQ(CutOffs("c001"), 1);
}

TEST_F(HostileAgentTest, AnswersAboutSlurmBeyondMeasureCutOff) {
  const std::string much(5000, 'x');
  v1::SlurmAnswer answers[4];
  answers[0].set_request_id(much);
  answers[1].mutable_nodes()->add_nodes()->set_name("c001 Reason=x");
  for (int i = 0; i < 5000; ++i) answers[2].mutable_nodes()->add_nodes();
  v1::SlurmNodeJobs& jobs = *answers[3].mutable_jobs()->add_nodes();
  for (int i = 0; i < 20'000; ++i) jobs.add_jobs()->set_id("1");
  const char* const kBreaches[] = {
      "slurm_answer.request_id: 5000 bytes; at most 256",
      "slurm_answer.nodes.nodes[0].name: not only letters, digits and '._-'",
      "slurm_answer.nodes.nodes: 5000 elements; at most 4000",
      "slurm_answer.jobs.nodes[0].jobs: 20000 elements; at most 10000",
  };
  for (const v1::SlurmAnswer& answer : answers) {
    SCOPED_TRACE(&answer - answers);
    const auto agent = Connected();
    v1::ControllerMessage question;
    question.mutable_slurm_request()->mutable_list_nodes();
    ASSERT_OK(registry_->Send(machine_.node_uuid, question));
    v1::AgentMessage message;
    *message.mutable_slurm_answer() = answer;
    agent->stream->Write(message);
    const grpc::Status status = agent->End();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), kBreaches[&answer - answers]);
  }
}

TEST_F(HostileAgentTest, ResultsOfCommandsThatNobodySentCutOff) {
  const auto agent = Connected();
  v1::ControllerMessage start;
  start.mutable_start_command()->set_command_id("x-1");
  ASSERT_OK(registry_->Send(machine_.node_uuid, start));
  v1::ControllerMessage got;
  ASSERT_TRUE(agent->stream->Read(&got));
  v1::AgentMessage result;
  result.mutable_command_result()->set_command_id("x-1");
  result.mutable_command_result()->mutable_end()->set_output("\x1b[31mred\x1b[0m\n");
  agent->stream->Write(result);
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "command x-1: red\n"));
  agent->stream->Write(result);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "the result of a command that was not sent");
  EXPECT_EQ(CutOffs("c001"), 1);
}

// 2 MiB of them took the controller to 1.65 GB at the next compile.
TEST_F(HostileAgentTest, FactsOfEmptyElementsCutOff) {
  v1::AgentMessage message;
  v1::Facts& facts = *message.mutable_facts()->mutable_facts();
  for (int i = 0; i < 1'000'000; ++i) facts.add_mounts();
  const auto agent = Connected();
  agent->stream->Write(message);
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "a message that would take too much memory when parsed");
  EXPECT_EQ(CutOffs("c001"), 1);
}

// Refuses not the session, but the facts, all of them; whoever asked learns why.
TEST_F(HostileAgentTest, FactsThatBreakARuleAreRefusedWhole) {
  const auto agent = Connected();
  v1::AgentMessage good;
  good.mutable_facts()->mutable_facts()->mutable_os()->set_kernel("6.1.0-40-amd64");
  agent->stream->Write(good);
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "facts "));
  absl::Status refreshed;
  std::thread asking([&] {
    refreshed = facts_->Refresh(*registry_, machine_.node_uuid, "ann", absl::Seconds(20));
  });
  v1::ControllerMessage question;
  ASSERT_TRUE(agent->stream->Read(&question));
  v1::AgentMessage bad;
  bad.mutable_facts()->set_request_id(question.gather_facts().request_id());
  v1::Facts& facts = *bad.mutable_facts()->mutable_facts();
  facts.mutable_os()->set_kernel("6.6.6");
  facts.add_gpus()->set_slurm_type("h100\nHealthCheckProgram=/tmp/evil");
  agent->stream->Write(bad);
  asking.join();
  EXPECT_THAT(refreshed, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  "the facts that the node sent are refused: gpus[0].slurm_type: "
                                  "not only letters, digits and '_.-'"));
  agent->Report(1);
  EXPECT_THAT(listener_.Await(3), ElementsAre("connected b1", "facts ", "report 1"));
  std::string stored;
  std::vector<FactsRefusal> refusals;
  EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(stored, txn.nodes().Facts(machine_.node_uuid));
    ASSIGN_OR_RETURN(refusals, txn.nodes().ListFactsRefusals());
    return absl::OkStatus();
  }));
  EXPECT_EQ(stored, good.facts().facts().SerializeAsString());
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].node_uuid, machine_.node_uuid);
  EXPECT_THAT(refusals[0].why, Said());
  EXPECT_EQ(LastEvent().action, "node.facts_refused");
  EXPECT_EQ(LastEvent().subject, "c001");
}

TEST_F(HostileAgentTest, StreamsOfOneNodeAreCounted) {
  const std::shared_ptr<grpc::Channel> channel = Channel(Self());
  std::vector<std::unique_ptr<Agent>> mute;
  for (size_t i = 0; i <= SessionRegistry::kMaxStreams; ++i) mute.push_back(Open(channel));
  // gRPC decides which of them comes last; that one ends, and no other.
  absl::Mutex mutex;
  std::vector<grpc::Status> ends;
  std::vector<std::thread> waiting;
  for (const auto& each : mute) {
    waiting.emplace_back([&, agent = each.get()] {
      const grpc::Status end = agent->End();
      absl::MutexLock lock(&mutex);
      ends.push_back(end);
    });
  }
  {
    absl::MutexLock lock(&mutex);
    const auto has_one = [&] { return !ends.empty(); };
    mutex.Await(absl::Condition(&has_one));
  }
  Connected(Enrol("c002"));  // another node has its own
  for (const auto& each : mute) each->context.TryCancel();
  for (std::thread& each : waiting) each.join();
  EXPECT_EQ(ends[0].error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(ends[0].error_message(), Said());
  EXPECT_EQ(std::count_if(ends.begin(), ends.end(),
                          [](const grpc::Status& end) {
                            return end.error_code() == grpc::RESOURCE_EXHAUSTED;
                          }),
            1);
}

TEST_F(HostileAgentTest, CloneIsRefusedAndAudited) {
  const auto first = Connected("boot-a");
  const auto rebooted = Connected("boot-b");
  const auto clone = Open();
  clone->Hello("boot-a");
  const grpc::Status refused = clone->End();
  EXPECT_EQ(refused.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), Said());
  EXPECT_EQ(LastEvent().action, "node.clone");
  const uint64_t entries = LastEvent().sequence;
  const auto again = Open();
  again->Hello("boot-a");
  EXPECT_EQ(again->End().error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(LastEvent().sequence, entries);  // recorded once, however often it tries
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
}

TEST_F(HostileAgentTest, WhoIsCutOffAfterTheClockWasSetBackIsAuditedAgain) {
  const auto be_cut_off = [&] {
    RawStream stream(Channel(Self()), kConnect);
    stream.Write("\xff\xff\xff\xff noise");
    EXPECT_EQ(stream.Finish().error_code(), grpc::INVALID_ARGUMENT);
  };
  be_cut_off();
  be_cut_off();
  EXPECT_EQ(CutOffs("c001"), 1);
  clock_.Advance(-absl::Minutes(1));
  be_cut_off();
  be_cut_off();
  EXPECT_EQ(CutOffs("c001"), 2);
}

// The audit log never shrinks: a node that makes up boots must not fill it.
TEST_F(HostileAgentTest, ClonesOfOneNodeAreAuditedOnceInAWhile) {
  const auto clones = [&] {
    int count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(100, 0));
      for (const EventRecord& event : events) count += event.action == "node.clone";
      return absl::OkStatus();
    }));
    return count;
  };
  const auto expect_refused = [&](const char* boot) {
    const auto clone = Open();
    clone->Hello(boot);
    EXPECT_EQ(clone->End().error_code(), grpc::FAILED_PRECONDITION);
  };
  for (const char* boot : {"b1", "b2", "b3"}) Connected(boot);
  for (const char* earlier : {"b1", "b2", "b1", "b2"}) expect_refused(earlier);
  EXPECT_EQ(clones(), 1);
  clock_.Advance(SessionRegistry::kMisbehaviourInterval);
  expect_refused("b2");
  EXPECT_EQ(clones(), 2);
}

TEST_F(HostileAgentTest, WhoComesTooOftenWaits) {
  const Credentials other = Enrol("c002");
  const std::shared_ptr<grpc::Channel> channel = Channel(Self());
  const auto come_too_often = [&] {
    for (size_t i = 0; i < SessionRegistry::kMaxBegunAMinute; ++i) {
      const auto agent = Open(channel);
      agent->stream->WritesDone();
      agent->End();  // refused, if those before it have not ended in the server yet
    }
  };
  registry_->Sweep();  // starts a new minute
  come_too_often();
  for (int i = 0; i < 3; ++i) {
    const grpc::Status status = Open(channel)->End();
    EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), Said());
  }
  // Reported once, not each time.
  EXPECT_THAT(listener_.misbehaved(), ElementsAre(machine_.node_uuid));
  Connected(other);
  clock_.Advance(absl::Minutes(1));
  registry_->Sweep();
  Connected();
  come_too_often();
  EXPECT_EQ(Open(channel)->End().error_code(), grpc::RESOURCE_EXHAUSTED);
  clock_.Advance(-absl::Minutes(1));  // set back
  registry_->Sweep();
  Connected();
}

TEST_F(HostileAgentTest, BlobsOnTheirWayAreCounted) {
  // More than gRPC buffers for a reader that does not read, if it does not enlarge its windows.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  allowed_blob_ = blobs_->Put(std::string(4 << 20, 'b')).value();
  v1::FetchBlobRequest request;
  request.set_sha256(allowed_blob_);
  struct Fetch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::FetchBlobResponse>> reader;
  };
  const auto stub = v1::AgentSessionService::NewStub(Channel(Self(), arguments));
  std::vector<std::unique_ptr<Fetch>> stalled;
  v1::FetchBlobResponse piece;
  const auto fetch = [&] {
    auto each = std::make_unique<Fetch>();
    each->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    each->reader = stub->FetchBlob(&each->context, request);
    return each;
  };
  for (size_t i = 0; i < BlobQuota::kMaxOfNode; ++i) {
    stalled.push_back(fetch());
    ASSERT_TRUE(stalled.back()->reader->Read(&piece));
  }
  EXPECT_EQ(fetch()->reader->Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  for (const auto& each : stalled) {
    each->context.TryCancel();
    each->reader->Finish();
  }
  // The server learns of it slightly later.
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  grpc::Status status;
  do {
    const auto again = fetch();
    while (again->reader->Read(&piece)) continue;
    status = again->reader->Finish();
  } while (!status.ok() && absl::Now() < give_up);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(HostileAgentTest, CloneIsRefusedAlsoAfterARestartOfTheController) {
  {
    const auto first = Connected("boot-a");
    const auto rebooted = Connected("boot-b");
    TearDown();
  }
  registry_ = std::make_unique<SessionRegistry>(*store_, clock_, *listeners_);
  service_ = std::make_unique<AgentSessionService>(
      *registry_, calls_, *enrollment_, ca_->roots().pem, *blobs_,
      [](absl::string_view, absl::string_view) { return false; });
  StartServer();
  const auto clone = Open();
  clone->Hello("boot-a");
  EXPECT_THAT(clone->End().error_message(), Said());
}

TEST_F(HostileAgentTest, WhatNobodyAskedForCutsOffAndIsAuditedOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto agent = Connected();
    v1::AgentMessage message;
    message.mutable_facts();
    // After Hello, after a reboot, and of the connection before.
    for (int unasked = 0; unasked < 3; ++unasked) agent->stream->Write(message);
    agent->stream->Write(message);
    EXPECT_EQ(agent->End().error_code(), grpc::INVALID_ARGUMENT);
  }
  const auto agent = Connected();
  v1::AgentMessage receipt;
  receipt.mutable_plan_receipt()->set_plan_id("r-1/0");
  agent->stream->Write(receipt);
  EXPECT_EQ(agent->End().error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(CutOffs("c001"), 1);
}

}  // namespace
}  // namespace muster::controller
