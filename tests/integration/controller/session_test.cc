// Agents' streams against the registry, over real TLS, with the registry's clock in our hands.
#include "controller/session/session_registry.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "absl/time/clock.h"
#include "controller/artifact/blob_store.h"
#include "controller/service/credentials.h"
#include "controller/session/agent_session.h"
#include "controller/session/agent_session_service.h"
#include "controller/session/blob_stream.h"
#include "controller/session/facts_keeper.h"
#include "controller/session/listener_fanout.h"
#include "tests/fakes/enrollment_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Remembers what it was told, as "connected c1", "facts f1", …
class RecordingListener final : public AgentSessionListener {
 public:
  void OnConnected(absl::string_view, const v1::Hello& hello) override {
    Add("connected " + hello.boot_id());
  }
  void OnDisconnected(absl::string_view) override { Add("disconnected"); }
  void OnFacts(absl::string_view, const v1::FactsReport& report) override {
    Add("facts " + report.request_id());
  }
  void OnPlanReceipt(absl::string_view, const v1::PlanReceipt& receipt) override {
    Add("receipt " + receipt.plan_id());
  }
  void OnReport(absl::string_view, const v1::Report& report) override {
    Add("report " + std::to_string(report.report_sequence()));
  }
  void OnProgress(absl::string_view, const v1::StepProgress& progress) override {
    Add("progress " + progress.step_id());
  }
  void OnRebootRequest(absl::string_view, const v1::RebootRequest& request) override {
    Add("reboot " + request.step_id());
  }

  // What came, once there are `count` of them or ten seconds have passed.
  std::vector<std::string> Await(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto is_there = [&] {
      mutex_.AssertHeld();
      return heard_.size() >= count;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&is_there), absl::Seconds(10));
    return heard_;
  }

 private:
  void Add(std::string what) {
    absl::MutexLock lock(&mutex_);
    heard_.push_back(std::move(what));
  }
  absl::Mutex mutex_;
  std::vector<std::string> heard_ ABSL_GUARDED_BY(mutex_);
};

class SessionTest : public EnrollmentFixture {
 protected:
  // An agent's end of a stream.
  struct Agent {
    std::unique_ptr<v1::AgentSessionService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream;

    bool Hello(const std::string& boot_id) {
      v1::AgentMessage message;
      message.mutable_hello()->set_boot_id(boot_id);
      message.mutable_hello()->set_agent_version("0.1.0");
      return stream->Write(message);
    }
    bool IsWelcome() {
      v1::ControllerMessage message;
      return stream->Read(&message) && message.has_welcome();
    }
    grpc::Status End() {
      v1::ControllerMessage ignored;
      while (stream->Read(&ignored)) {
      }
      return stream->Finish();
    }
  };

  SessionTest() { clock_.Advance(absl::Now() - clock_.Now()); }

  void SetUp() override {
    EnrollmentFixture::SetUp();
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("session");
    blobs_ = DiskBlobStore::Open(folder_).value();
    facts_ = std::make_unique<FactsKeeper>(*store_, clock_);
    listeners_ = std::make_unique<ListenerFanout>(
        std::vector<AgentSessionListener*>{facts_.get(), &listener_});
    registry_ = std::make_unique<SessionRegistry>(*store_, clock_, *listeners_);
    service_ = std::make_unique<AgentSessionService>(
        *registry_, *enrollment_, ca_->certificate_pem(), *blobs_,
        [this](absl::string_view uuid, absl::string_view sha256) {
          return uuid == machine_.node_uuid && sha256 == allowed_blob_;
        });
    machine_ = Machine(Token("c001"), "c001");
    key_ = pki::MakeKeyAndCsr("c001").value();
    machine_.csr_pem = key_.csr_pem;
    certificate_ = enrollment_->Join(machine_).value().certificate_pem;
    StartServer();
  }

  void TearDown() override {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    server_.reset();
    registry_->Stop();
    std::filesystem::remove_all(folder_);
  }

  void StartServer() {
    // The client's check of the server's name is not what is tested here.
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("localhost").value();
    TlsIdentity identity;
    identity.key_pem = key.key_pem;
    identity.ca_pem = ca_->certificate_pem();
    identity.certificate_pem =
        pki::SignCsr(authority_, key.csr_pem, {.common_name = "x", .dns_sans = {"localhost"}},
                     {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)},
                     pki::Usage::kServer)
            .value();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", MutualTlsCredentials(identity, denylist_), &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  std::unique_ptr<v1::AgentSessionService::Stub> Stub() {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ca_->certificate_pem();
    options.pem_private_key = key_.key_pem;
    options.pem_cert_chain = certificate_;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::AgentSessionService::NewStub(grpc::CreateCustomChannel(
        absl::StrCat("localhost:", port_), grpc::SslCredentials(options), arguments));
  }

  std::unique_ptr<Agent> Open() {
    auto agent = std::make_unique<Agent>();
    agent->stub = Stub();
    agent->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    agent->stream = agent->stub->Connect(&agent->context);
    return agent;
  }
  std::unique_ptr<Agent> Connected(const std::string& boot_id = "b1") {
    std::unique_ptr<Agent> agent = Open();
    EXPECT_TRUE(agent->Hello(boot_id));
    EXPECT_TRUE(agent->IsWelcome());
    return agent;
  }

  std::filesystem::path folder_;
  std::unique_ptr<DiskBlobStore> blobs_;
  RecordingListener listener_;
  std::unique_ptr<FactsKeeper> facts_;
  std::unique_ptr<ListenerFanout> listeners_;
  std::unique_ptr<SessionRegistry> registry_;
  std::unique_ptr<AgentSessionService> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  JoinRequest machine_;
  pki::KeyAndCsr key_;
  std::string certificate_;
  std::string allowed_blob_;
};

TEST_F(SessionTest, HandsMessagesOnInOrder) {
  const auto agent = Connected();
  v1::ControllerMessage plan;
  plan.mutable_plan()->set_plan_id("p1");
  ASSERT_OK(registry_->Send(machine_.node_uuid, plan));
  v1::AgentMessage message;
  for (uint64_t i = 1; i <= 3; ++i) {
    message.mutable_report()->set_report_sequence(i);
    agent->stream->Write(message);
  }
  message.mutable_heartbeat();
  agent->stream->Write(message);
  message.mutable_plan_receipt()->set_plan_id("p1");
  agent->stream->Write(message);
  EXPECT_THAT(listener_.Await(5),
              ElementsAre("connected b1", "report 1", "report 2", "report 3", "receipt p1"));
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
  ASSERT_EQ(registry_->List().size(), 1u);
  EXPECT_EQ(registry_->List()[0].agent_version, "0.1.0");
  agent->stream->WritesDone();
  EXPECT_TRUE(agent->End().ok());
  EXPECT_EQ(listener_.Await(6).back(), "disconnected");
  EXPECT_FALSE(registry_->IsConnected(machine_.node_uuid));
}

TEST_F(SessionTest, HelloComesFirst) {
  const auto agent = Open();
  v1::AgentMessage message;
  message.mutable_heartbeat();
  agent->stream->Write(message);
  EXPECT_EQ(agent->End().error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_TRUE(listener_.Await(0).empty());
}

TEST_F(SessionTest, ANodeIsMissedWithin15Seconds) {
  const auto agent = Connected();
  clock_.Advance(absl::Seconds(13));
  registry_->Sweep();
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
  clock_.Advance(absl::Seconds(1));
  registry_->Sweep();
  EXPECT_FALSE(registry_->IsConnected(machine_.node_uuid));
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "disconnected"));
  EXPECT_EQ(agent->End().error_code(), grpc::DEADLINE_EXCEEDED);
  // When it was last seen is written with the sweep, not with each heartbeat.
  EXPECT_EQ(Node(machine_.node_uuid).agent_version, "0.1.0");
  EXPECT_TRUE(Node(machine_.node_uuid).last_seen_at.has_value());
}

TEST_F(SessionTest, SilentStrangerIsSentAway) {
  const auto agent = Open();
  // Nobody tells when the stream has reached the server: sweep until it is answered.
  std::atomic<bool> is_answered = false;
  std::thread sweeper([&] {
    while (!is_answered) {
      clock_.Advance(SessionRegistry::kHelloTimeout + absl::Seconds(1));
      registry_->Sweep();
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  const grpc::Status status = agent->End();
  is_answered = true;
  sweeper.join();
  EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "no Hello came");
}

TEST_F(SessionTest, SecondStreamTakesThePlace) {
  const auto first = Connected("b1");
  const auto second = Connected("b1");
  EXPECT_EQ(first->End().error_code(), grpc::ABORTED);
  v1::ControllerMessage message;
  message.mutable_cancel_plan()->set_plan_id("p");
  EXPECT_OK(registry_->Send(machine_.node_uuid, message));
  v1::ControllerMessage got;
  ASSERT_TRUE(second->stream->Read(&got));
  EXPECT_EQ(got.cancel_plan().plan_id(), "p");
  // The node was never away.
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "connected b1"));
}

TEST_F(SessionTest, CloneIsRefusedAndAudited) {
  const auto first = Connected("boot-a");
  const auto rebooted = Connected("boot-b");
  const auto clone = Open();
  clone->Hello("boot-a");
  const grpc::Status refused = clone->End();
  EXPECT_EQ(refused.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("two machines use the identity of c001"));
  EXPECT_EQ(LastEvent().action, "node.clone");
  const uint64_t entries = LastEvent().sequence;
  const auto again = Open();
  again->Hello("boot-a");
  EXPECT_EQ(again->End().error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(LastEvent().sequence, entries);  // told once, however often it tries
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
}

TEST_F(SessionTest, CloneIsRefusedAlsoAfterARestartOfTheController) {
  {
    const auto first = Connected("boot-a");
    const auto rebooted = Connected("boot-b");
    TearDown();
  }
  registry_ = std::make_unique<SessionRegistry>(*store_, clock_, *listeners_);
  service_ = std::make_unique<AgentSessionService>(
      *registry_, *enrollment_, ca_->certificate_pem(), *blobs_,
      [](absl::string_view, absl::string_view) { return false; });
  StartServer();
  const auto clone = Open();
  clone->Hello("boot-a");
  EXPECT_THAT(clone->End().error_message(), HasSubstr("two machines use the identity of c001"));
}

TEST_F(SessionTest, QueueIsBounded) {
  const auto agent = Connected();
  v1::ControllerMessage big;
  big.mutable_cancel_plan()->set_plan_id(std::string(1024 * 1024, 'x'));
  absl::Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) status = registry_->Send(machine_.node_uuid, big);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("does not read")));
  EXPECT_EQ(registry_->Send(NewUuid(), big).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SessionTest, RemovalCutsTheSession) {
  const auto agent = Connected();
  registry_->Disconnect(machine_.node_uuid, absl::PermissionDeniedError("sold"));
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(), "sold");
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  const auto again = Open();
  again->Hello("b1");
  EXPECT_EQ(again->End().error_code(), grpc::PERMISSION_DENIED);
}

TEST_F(SessionTest, RefreshWaitsForTheFacts) {
  const auto agent = Connected();
  std::thread machine([&] {
    v1::ControllerMessage asked;
    ASSERT_TRUE(agent->stream->Read(&asked));
    v1::AgentMessage answer;
    answer.mutable_facts()->set_request_id(asked.gather_facts().request_id());
    answer.mutable_facts()->mutable_facts()->mutable_os()->set_kernel("6.1.0");
    agent->stream->Write(answer);
  });
  EXPECT_OK(facts_->Refresh(*registry_, machine_.node_uuid, absl::Seconds(10)));
  machine.join();
  v1::Facts facts;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string stored, txn.nodes().Facts(machine_.node_uuid));
    EXPECT_TRUE(facts.ParseFromString(stored));
    return absl::OkStatus();
  }));
  EXPECT_EQ(facts.os().kernel(), "6.1.0");
  EXPECT_EQ(facts_->Refresh(*registry_, NewUuid(), absl::Seconds(1)).code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(SessionTest, BlobsOfTheOwnPlanOnly) {
  const std::string content(200'000, 'b');
  allowed_blob_ = blobs_->Put(content).value();
  const std::string other = blobs_->Put("of another node").value();
  const auto fetch = [&](const std::string& sha256, uint64_t offset, std::string* out) {
    grpc::ClientContext context;
    v1::FetchBlobRequest request;
    request.set_sha256(sha256);
    request.set_offset(offset);
    const auto stub = Stub();
    const auto reader = stub->FetchBlob(&context, request);
    v1::FetchBlobResponse piece;
    while (reader->Read(&piece)) {
      EXPECT_LE(piece.data().size(), BlobStream::kPieceBytes);
      out->append(piece.data());
    }
    return reader->Finish();
  };
  std::string got;
  EXPECT_TRUE(fetch(allowed_blob_, 0, &got).ok());
  EXPECT_EQ(got, content);
  got.clear();
  EXPECT_TRUE(fetch(allowed_blob_, 150'000, &got).ok());
  EXPECT_EQ(got.size(), 50'000u);
  EXPECT_EQ(fetch(other, 0, &got).error_code(), grpc::PERMISSION_DENIED);
}

TEST_F(SessionTest, RenewsItsCertificate) {
  const pki::KeyAndCsr fresh = pki::MakeKeyAndCsr("c001").value();
  grpc::ClientContext context;
  v1::RenewCertificateRequest request;
  request.set_csr_pem(fresh.csr_pem);
  v1::RenewCertificateResponse response;
  ASSERT_TRUE(Stub()->RenewCertificate(&context, request, &response).ok());
  EXPECT_NE(Serial(response.certificate_pem()), Serial(certificate_));
  key_ = fresh;
  certificate_ = response.certificate_pem();
  Connected();
}

TEST_F(SessionTest, WhatNobodyAskedForCutsOffAndIsAuditedOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto agent = Connected();
    v1::AgentMessage message;
    message.mutable_facts();
    agent->stream->Write(message);  // after Hello, unasked
    agent->stream->Write(message);
    EXPECT_EQ(agent->End().error_code(), grpc::INVALID_ARGUMENT);
  }
  const auto agent = Connected();
  v1::AgentMessage receipt;
  receipt.mutable_plan_receipt()->set_plan_id("r-1/0");
  agent->stream->Write(receipt);
  EXPECT_EQ(agent->End().error_code(), grpc::INVALID_ARGUMENT);
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    const auto events = txn.events().List(100, 0).value();
    EXPECT_EQ(std::count_if(events.begin(), events.end(),
                            [](const EventRecord& event) {
                              return event.action == "node.cut_off" && event.subject == "c001";
                            }),
              1);
    return absl::OkStatus();
  }));
}

TEST_F(SessionTest, HugeMessageCutsOff) {
  const auto agent = Connected();
  v1::AgentMessage message;
  message.mutable_report()->mutable_step()->set_output(
      std::string(AgentSession::kMaxMessageBytes + 1, 'x'));
  agent->stream->Write(message);
  EXPECT_EQ(agent->End().error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST_F(SessionTest, FloodIsReadSlowlyThenCutOff) {
  const auto agent = Connected();
  std::atomic<bool> broke = false;
  std::thread flood([&] {
    v1::AgentMessage message;
    message.mutable_heartbeat();
    while (agent->stream->Write(message)) {
    }
    broke = true;
  });
  for (int second = 0; second < 400 && !broke; ++second) {
    absl::SleepFor(absl::Milliseconds(50));
    registry_->Sweep();
  }
  EXPECT_TRUE(broke);
  flood.join();
  EXPECT_EQ(agent->End().error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST_F(SessionTest, StopsAtOnceWhileAgentsAreConnected) {
  const auto agent = Connected();
  const absl::Time begin = absl::Now();
  registry_->Close();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
  EXPECT_EQ(agent->End().error_code(), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace muster::controller
