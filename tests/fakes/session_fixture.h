// Agents' streams to a registry, over real TLS, with a fake clock for the registry.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "controller/artifact/blob_store.h"
#include "controller/service/call_shares.h"
#include "controller/service/credentials.h"
#include "controller/session/agent_session_service.h"
#include "controller/session/facts_keeper.h"
#include "controller/session/listener_fanout.h"
#include "controller/session/open_calls.h"
#include "controller/session/session_registry.h"
#include "tests/fakes/enrollment_fixture.h"

namespace muster::controller {

// Remembers its calls, as "connected c1", "facts f1", …
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
  void OnSlurmAnswer(absl::string_view, const v1::SlurmAnswer& answer) override {
    Add("slurm " + answer.request_id());
  }
  void OnMisbehaved(absl::string_view node_uuid, absl::string_view) override {
    absl::MutexLock lock(&mutex_);
    misbehaved_.emplace_back(node_uuid);
  }

  // Uuids, one for each time that a session was cut off because of its node's behaviour.
  std::vector<std::string> misbehaved() {
    absl::MutexLock lock(&mutex_);
    return misbehaved_;
  }

  // The calls, once there are `count` of them or ten seconds have passed.
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
  std::vector<std::string> misbehaved_ ABSL_GUARDED_BY(mutex_);
};

class SessionFixture : public EnrollmentFixture {
 protected:
  // An agent's identity for the controller.
  struct Credentials {
    std::string uuid;
    std::string key_pem;
    std::string certificate_pem;
  };

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
    void Report(uint64_t sequence) {
      v1::AgentMessage message;
      message.mutable_report()->set_report_sequence(sequence);
      stream->Write(message);
    }
    grpc::Status End() {
      v1::ControllerMessage ignored;
      while (stream->Read(&ignored)) {
      }
      return stream->Finish();
    }
  };

  SessionFixture() { clock_.Advance(absl::Now() - clock_.Now()); }

  void SetUp() override {
    EnrollmentFixture::SetUp();
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("session");
    blobs_ = DiskBlobStore::Open(folder_).value();
    facts_ = std::make_unique<FactsKeeper>(*store_, clock_);
    listeners_ = std::make_unique<ListenerFanout>(
        std::vector<AgentSessionListener*>{facts_.get(), &listener_});
    registry_ = std::make_unique<SessionRegistry>(*store_, clock_, *listeners_);
    service_ = std::make_unique<AgentSessionService>(
        *registry_, calls_, *enrollment_, ca_->roots().pem, *blobs_,
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
    // The client's check of the server's name is not tested here.
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("localhost").value();
    TlsIdentity identity;
    identity.key_pem = key.key_pem;
    identity.ca_pem = ca_->roots().pem;
    identity.certificate_pem =
        pki::SignCsr(authority_, key.csr_pem, {.common_name = "x", .dns_sans = {"localhost"}},
                     {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)},
                     pki::Usage::kServer)
            .value();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             MutualTlsCredentials(identity, denylist_, clock_, shares_), &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  // Another node of the inventory.
  Credentials Enrol(const std::string& name) {
    JoinRequest machine = Machine(Token(name), name);
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr(name).value();
    machine.csr_pem = key.csr_pem;
    return {machine.node_uuid, key.key_pem, enrollment_->Join(machine).value().certificate_pem};
  }

  // A connection of its own.
  std::shared_ptr<grpc::Channel> Channel(const Credentials& who,
                                         grpc::ChannelArguments arguments = {}) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ca_->roots().pem;
    options.pem_private_key = who.key_pem;
    options.pem_cert_chain = who.certificate_pem;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("localhost:", port_),
                                     grpc::SslCredentials(options), arguments);
  }
  std::unique_ptr<v1::AgentSessionService::Stub> Stub() {
    return v1::AgentSessionService::NewStub(Channel(Self()));
  }

  // c001, which every test has.
  Credentials Self() const { return {machine_.node_uuid, key_.key_pem, certificate_}; }

  std::unique_ptr<Agent> Open() { return Open(Channel(Self())); }
  std::unique_ptr<Agent> Open(const std::shared_ptr<grpc::Channel>& channel) {
    auto agent = std::make_unique<Agent>();
    agent->stub = v1::AgentSessionService::NewStub(channel);
    agent->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    agent->stream = agent->stub->Connect(&agent->context);
    return agent;
  }
  std::unique_ptr<Agent> Connected(const std::string& boot_id = "b1") {
    return Connected(Self(), boot_id);
  }
  std::unique_ptr<Agent> Connected(const Credentials& who, const std::string& boot_id = "b1") {
    std::unique_ptr<Agent> agent = Open(Channel(who));
    EXPECT_TRUE(agent->Hello(boot_id));
    EXPECT_TRUE(agent->IsWelcome());
    return agent;
  }

  // Entries of the audit log about the node's being cut off.
  int CutOffs(const std::string& name) {
    int count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(100, 0));
      for (const EventRecord& event : events)
        count += event.action == "node.cut_off" && event.subject == name;
      return absl::OkStatus();
    }));
    return count;
  }

  OpenCalls calls_{denylist_, clock_};
  std::filesystem::path folder_;
  std::unique_ptr<DiskBlobStore> blobs_;
  RecordingListener listener_;
  CallShares shares_{clock_};
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

}  // namespace muster::controller
