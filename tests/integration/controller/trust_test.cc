// Who may still act: certificates that end or are denied while the connections that they opened
// live on, approvals that no longer count, and keys in two hands. Over real TLS, with a fake clock
// for the controller.
#include <future>
#include <thread>

#include "common/sys/archive/archive.h"
#include "controller/artifact/blob_store.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/user.grpc.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/enrolled_controller.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrustTest : public EnrolledControllerFixture {
 protected:
  // Somebody's watch of a run.
  struct Watch {
    std::unique_ptr<v1::RunService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::RunEvent>> events;
  };

  Clock& Time() override { return fake_; }

  void SetUp() override {
    config_.operator_bundles = "any";  // whose approval counts is tested here, not what they run
    EnrolledControllerFixture::SetUp();
    const std::string bundle =
        sys::PackTarGz({{"playbooks/site.yaml",
                         "- {play: p, hosts: compute, tasks: [{name: a, hostname: {name: x}}]}\n"}})
            .value();
    bundle_ = DiskBlobStore::Open(config_.state_directory + "/blobs").value()->Put(bundle).value();
    admin_ = Issue(Role::kAdmin, "alice");
  }

  // A person with a certificate that the controller has signed.
  ClientIdentity Hire(const std::string& name, const std::string& role) {
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr(name).value();
    v1::CreateUserRequest request;
    request.set_name(name);
    request.set_role(role);
    request.set_csr_pem(key.csr_pem);
    v1::CreateUserResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::UserService::NewStub(As(admin_))->CreateUser(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {key.key_pem, response.certificate_pem()};
  }
  v1::RevokeUserResponse Revoke(const std::string& name) {
    v1::RevokeUserRequest request;
    request.set_name(name);
    v1::RevokeUserResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(
        v1::UserService::NewStub(As(admin_))->RevokeUser(&context, request, &response).ok());
    return response;
  }
  // A viewer whose certificate ends soon.
  ClientIdentity ShortLived(absl::Duration lifetime) {
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("eve").value();
    const pki::Subject subject = {.common_name = "eve",
                                  .organization = OrganizationOf(Role::kViewer),
                                  .uri_sans = {IdentityUri(Role::kViewer, "eve")}};
    return {key.key_pem, pki::SignCsr(authority_, key.csr_pem, subject,
                                      {fake_.Now() - absl::Minutes(5), fake_.Now() + lifetime},
                                      pki::Usage::kClient)
                             .value()};
  }

  std::shared_ptr<grpc::Channel> As(const ClientIdentity& who) {
    return Connect(controller_->port(), who);
  }
  grpc::Status Look(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    v1::ListNodesResponse nodes;
    return v1::NodeService::NewStub(channel)->ListNodes(&context, {}, &nodes);
  }

  v1::Node Node(const std::string& name) {
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(v1::NodeService::NewStub(As(admin_))->GetNode(&context, request, &response).ok());
    return response.node();
  }

  std::string StartRun(const ClientIdentity& who, const std::string& limit) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle_);
    request.set_playbook("playbooks/site.yaml");
    request.set_limit(limit);
    v1::CreateRunResponse created;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::RunService::NewStub(As(who))->CreateRun(&context, request, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return created.run().run_id();
  }
  v1::Run Run(const std::string& run_id) {
    v1::GetRunRequest request;
    request.set_run_id(run_id);
    v1::GetRunResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(v1::RunService::NewStub(As(admin_))->GetRun(&context, request, &response).ok());
    return response.run();
  }
  // The runs that are being caught up with, newest first; "": none.
  std::vector<std::string> CaughtUpWith() {
    grpc::ClientContext context;
    v1::ListRunsResponse runs;
    EXPECT_TRUE(v1::RunService::NewStub(As(admin_))->ListRuns(&context, {}, &runs).ok());
    std::vector<std::string> missed;
    for (const v1::Run& run : runs.runs()) missed.push_back(run.catches_up_run_id());
    return missed;
  }

  // Advances the time until the condition holds; the agents send heartbeats meanwhile.
  bool PassUntil(const std::function<bool()>& is_so, const std::vector<Agent*>& agents = {}) {
    for (int i = 0; i < 300; ++i) {
      if (is_so()) return true;
      for (Agent* agent : agents) agent->Beat();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      fake_.Advance(absl::Milliseconds(500));
    }
    return false;
  }

  // Brings the run to the point where the node works on its plan; returns its id.
  static std::string TakePlan(Agent& agent) {
    v1::ControllerMessage message;
    while (agent.stream->Read(&message)) {
      v1::AgentMessage answer;
      if (message.has_gather_facts()) {
        answer.mutable_facts()->set_request_id(message.gather_facts().request_id());
        answer.mutable_facts()->mutable_facts()->mutable_os()->set_kernel("6.1.0");
        agent.stream->Write(answer);
      }
      if (message.has_plan()) {
        answer.mutable_plan_receipt()->set_plan_id(message.plan().plan_id());
        answer.mutable_plan_receipt()->set_accepted(true);
        agent.stream->Write(answer);
        return message.plan().plan_id();
      }
    }
    ADD_FAILURE() << "the stream ended";
    return "";
  }

  // A watch that has got an event: it is certainly open.
  std::unique_ptr<Watch> BeginWatch(const ClientIdentity& who, const std::string& run_id,
                                    Agent& agent, const std::string& plan_id) {
    auto watch = std::make_unique<Watch>();
    watch->stub = v1::RunService::NewStub(As(who));
    watch->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::WatchRunRequest request;
    request.set_run_id(run_id);
    watch->events = watch->stub->WatchRun(&watch->context, request);
    auto first = std::async(std::launch::async, [&watch] {
      v1::RunEvent event;
      return watch->events->Read(&event);
    });
    while (first.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      v1::AgentMessage progress;
      progress.mutable_progress()->set_plan_id(plan_id);
      progress.mutable_progress()->set_activity("working");
      agent.stream->Write(progress);
    }
    EXPECT_TRUE(first.get());
    return watch;
  }
  static grpc::Status EndOf(Watch& watch) {
    v1::RunEvent event;
    while (watch.events->Read(&event)) {
    }
    return watch.events->Finish();
  }

  ::muster::testing::FakeClock fake_{absl::Now()};
  ClientIdentity admin_;
  std::string bundle_;
};

// The attack: a connection is made while the certificate is valid, and used for ever.
TEST_F(TrustTest, ConnectionIsWorthNothingAfterTheCertificatesEnd) {
  const auto channel = As(ShortLived(absl::Minutes(10)));
  EXPECT_TRUE(Look(channel).ok());
  fake_.Advance(absl::Minutes(11));
  const grpc::Status status = Look(channel);
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), Said());
}

TEST_F(TrustTest, WatchEndsWithItsCertificate) {
  const auto agent = Greet(nodes_[0]);
  ASSERT_NE(agent, nullptr);
  const std::string run_id = StartRun(admin_, "c001");
  const std::string plan_id = TakePlan(*agent);
  const auto watch = BeginWatch(ShortLived(absl::Seconds(5)), run_id, *agent, plan_id);
  fake_.Advance(absl::Seconds(6));
  EXPECT_EQ(EndOf(*watch).error_code(), grpc::UNAUTHENTICATED);
}

// The attack: a revoked person continues watching. Time stands still here: no sweep helps.
TEST_F(TrustTest, RevocationEndsAPersonsWatchesAtOnceAndNobodyElses) {
  const ClientIdentity eve = Hire("eve", "viewer"), bob = Hire("bob", "operator");
  const auto agent = Greet(nodes_[0]);
  ASSERT_NE(agent, nullptr);
  const std::string run_id = StartRun(bob, "c001");
  const std::string plan_id = TakePlan(*agent);
  const auto hers = BeginWatch(eve, run_id, *agent, plan_id);
  const auto his = BeginWatch(bob, run_id, *agent, plan_id);
  Revoke("eve");
  const grpc::Status status = EndOf(*hers);
  EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), Said());
  v1::AgentMessage end;
  v1::Report& report = *end.mutable_reports()->add_reports();
  report.set_report_sequence(1);
  report.set_plan_id(plan_id);
  report.mutable_outcome()->set_succeeded(true);
  agent->stream->Write(end);
  EXPECT_TRUE(EndOf(*his).ok());
}

TEST_F(TrustTest, DeniedCertificateStaysDeniedAfterRestartsAndItsOwnEnd) {
  const ClientIdentity eve = Hire("eve", "viewer");
  EXPECT_TRUE(Look(As(eve)).ok());
  Revoke("eve");
  for (int days : {0, 1, 400, 1}) {
    controller_.reset();
    fake_.Advance(absl::Hours(24 * days));
    Start();
    const grpc::Status status = Look(As(eve));
    EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED) << days;
    EXPECT_THAT(status.error_message(), Said());
  }
}

// The attack: the stolen certificate was signed after the backup from which the store was restored.
TEST_F(TrustTest, RevocationDeniesCertificatesThatTheStoreDoesNotKnow) {
  const ClientIdentity stolen = ShortLived(absl::Hours(1));
  EXPECT_TRUE(Look(As(stolen)).ok());
  EXPECT_TRUE(Revoke("eve").is_unknown());
  EXPECT_EQ(Look(As(stolen)).error_code(), grpc::PERMISSION_DENIED);
  const ClientIdentity eve = Hire("eve", "viewer");
  controller_.reset();
  Start();
  EXPECT_EQ(Look(As(stolen)).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_TRUE(Look(As(eve)).ok());
  EXPECT_FALSE(Revoke("eve").is_unknown());
  EXPECT_EQ(Look(As(eve)).error_code(), grpc::PERMISSION_DENIED);
}

// The attack: an operator's run waits for a node that is away, and is continued as the controller's
// after the operator was revoked.
TEST_F(TrustTest, RunOfARevokedOperatorIsNotMadeUpFor) {
  const ClientIdentity bob = Hire("bob", "operator"), carol = Hire("carol", "operator");
  const std::string bobs = StartRun(bob, "c001"), carols = StartRun(carol, "c002");
  ASSERT_TRUE(PassUntil([&] {
    return Run(bobs).state() == v1::RUN_STATE_FAILED && Run(carols).state() == v1::RUN_STATE_FAILED;
  }));
  Revoke("bob");
  const auto first = Greet(nodes_[0]), second = Greet(nodes_[1]);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(PassUntil(
      [&] {
        return CaughtUpWith().size() > 2 &&
               Run(bobs).nodes(0).message().find("revoked") != std::string::npos;
      },
      {first.get(), second.get()}));
  EXPECT_THAT(CaughtUpWith(), ElementsAre(carols, "", ""));
  EXPECT_THAT(Run(bobs).nodes(0).message(), Said());
}

// The attack: a node's key and certificate are copied, and the thief renews them for himself.
TEST_F(TrustTest, CopiedNodeKeyIsNoticedAndLocksBothOut) {
  const EnrolledNode& honest = nodes_[0];
  ASSERT_NE(Greet(honest), nullptr);
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("c001").value();
  v1::RenewCertificateRequest request;
  request.set_csr_pem(key.csr_pem);
  v1::RenewCertificateResponse renewed;
  grpc::ClientContext renewing;
  ASSERT_TRUE(v1::AgentSessionService::NewStub(As(honest.identity))
                  ->RenewCertificate(&renewing, request, &renewed)
                  .ok());
  const EnrolledNode thief = {honest.name, honest.uuid, {key.key_pem, renewed.certificate_pem()}};
  const auto intruder = Greet(thief);
  ASSERT_NE(intruder, nullptr);

  EXPECT_EQ(Greet(honest), nullptr);
  v1::ControllerMessage message;
  while (intruder->stream->Read(&message)) {
  }
  EXPECT_EQ(Greet(thief), nullptr);

  EXPECT_TRUE(PassUntil([&] { return !Node("c001").connected(); }));
  EXPECT_EQ(Node("c001").state(), v1::NODE_STATE_LOCKED);
  EXPECT_THAT(Node("c001").locked_because(),
              AllOf(HasSubstr("its key is in two places"), HasSubstr("127.0.0.1:")));
  grpc::ClientContext asking;
  v1::GetStatusResponse status;
  ASSERT_TRUE(v1::NodeService::NewStub(As(admin_))->GetStatus(&asking, {}, &status).ok());
  EXPECT_THAT(status.nodes_locked(), ElementsAre("c001"));
  grpc::ClientContext listing;
  v1::ListEventsResponse events;
  ASSERT_TRUE(v1::EventService::NewStub(As(admin_))->ListEvents(&listing, {}, &events).ok());
  EXPECT_EQ(events.events(0).action(), "node.key_copied");
  // The others are unaffected.
  EXPECT_NE(Greet(nodes_[1]), nullptr);
}

}  // namespace
}  // namespace muster::controller
