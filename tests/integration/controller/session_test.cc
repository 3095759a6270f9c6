// Agents' streams to the registry, over real TLS, with a fake clock for the registry.
#include "controller/session/session_registry.h"

#include <thread>

#include "controller/session/blob_stream.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/session_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

class SessionTest : public SessionFixture {};

TEST_F(SessionTest, HandsMessagesOnInOrder) {
  const auto agent = Connected();
  v1::ControllerMessage plan;
  plan.mutable_plan()->set_plan_id("p1");
  ASSERT_OK(registry_->Send(machine_.node_uuid, plan));
  v1::AgentMessage message;
  for (uint64_t i = 1; i <= 3; ++i) {
    message.mutable_reports()->Clear();
    message.mutable_reports()->add_reports()->set_report_sequence(i);
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

// A plan of such a size that some of it waits while an agent with FixedWindows() does not read.
v1::ControllerMessage LargePlan(const std::string& plan_id) {
  v1::ControllerMessage message;
  message.mutable_plan()->set_plan_id(plan_id);
  message.mutable_plan()->set_play_name(std::string(3 << 20, 'x'));
  return message;
}

// How the agent connects, or gRPC enlarges its windows on a busy machine until the plan is taken.
grpc::ChannelArguments FixedWindows() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

// Waits until nobody refers to the bytes any more.
bool IsReleased(const std::weak_ptr<const std::string>& bytes) {
  for (int i = 0; i < 10'000 && !bytes.expired(); ++i) absl::SleepFor(absl::Milliseconds(1));
  return bytes.expired();
}

TEST_F(SessionTest, APlanIsSentFromTheBytesThatTheRunKeeps) {
  const auto agent = Open(Channel(Self(), FixedWindows()));
  ASSERT_TRUE(agent->Hello("b1"));
  ASSERT_TRUE(agent->IsWelcome());
  const v1::ControllerMessage plan = LargePlan("p1");
  auto kept = std::make_shared<const std::string>(plan.SerializeAsString());
  const std::weak_ptr<const std::string> bytes = kept;
  ASSERT_OK(registry_->SendPlan(machine_.node_uuid, std::move(kept)));
  EXPECT_FALSE(bytes.expired()) << "a copy was queued";
  v1::ControllerMessage got;
  ASSERT_TRUE(agent->stream->Read(&got));
  EXPECT_EQ(got.SerializeAsString(), plan.SerializeAsString());
  EXPECT_TRUE(IsReleased(bytes));
  v1::AgentMessage message;
  message.mutable_plan_receipt()->set_plan_id("p1");
  agent->stream->Write(message);
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "receipt p1"));
  EXPECT_EQ(registry_->SendPlan(NewUuid(), nullptr).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SessionTest, AStreamThatEndsReleasesThePlansThatItHasNotSent) {
  const auto agent = Open(Channel(Self(), FixedWindows()));
  ASSERT_TRUE(agent->Hello("b1"));
  ASSERT_TRUE(agent->IsWelcome());
  std::vector<std::weak_ptr<const std::string>> plans;
  for (const char* plan_id : {"written", "waits"}) {
    auto kept = std::make_shared<const std::string>(LargePlan(plan_id).SerializeAsString());
    plans.push_back(kept);
    ASSERT_OK(registry_->SendPlan(machine_.node_uuid, std::move(kept)));
  }
  for (const auto& bytes : plans) EXPECT_FALSE(bytes.expired());
  agent->context.TryCancel();
  for (const auto& bytes : plans) EXPECT_TRUE(IsReleased(bytes));
}

TEST_F(SessionTest, ANodeIsMissedWithin15Seconds) {
  const auto agent = Connected();
  registry_->Sweep();
  Pass(absl::Seconds(13));
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
  Pass(absl::Seconds(1));
  EXPECT_FALSE(registry_->IsConnected(machine_.node_uuid));
  EXPECT_THAT(listener_.Await(2), ElementsAre("connected b1", "disconnected"));
  EXPECT_EQ(agent->End().error_code(), grpc::DEADLINE_EXCEEDED);
  // The last-seen time is written with the sweep, not with each heartbeat.
  EXPECT_EQ(Node(machine_.node_uuid).agent_version, "0.1.0");
  EXPECT_TRUE(Node(machine_.node_uuid).last_seen_at.has_value());
}

TEST_F(SessionTest, AStallOfTheControllerLosesNobody) {
  const auto agent = Connected();
  registry_->Sweep();
  clock_.Advance(absl::Hours(1));  // nothing was heard, and nothing swept
  registry_->Sweep();
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
  Pass(absl::Seconds(14));
  EXPECT_FALSE(registry_->IsConnected(machine_.node_uuid));
  EXPECT_EQ(agent->End().error_code(), grpc::DEADLINE_EXCEEDED);
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

// The attack: a stream that was begun in time is kept for ever.
TEST_F(SessionTest, SessionEndsWithItsCertificate) {
  const auto agent = Connected();
  clock_.Advance(CertificateAuthority::kNodeLifetime - absl::Hours(1));
  calls_.Sweep();
  EXPECT_TRUE(registry_->IsConnected(machine_.node_uuid));
  clock_.Advance(absl::Hours(2));
  calls_.Sweep();
  const grpc::Status status = agent->End();
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), Said());
  EXPECT_EQ(listener_.Await(2).back(), "disconnected");
  const auto again = Open();
  again->Hello("b1");
  EXPECT_EQ(again->End().error_code(), grpc::UNAUTHENTICATED);
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
  EXPECT_OK(facts_->Refresh(*registry_, machine_.node_uuid, "alice", absl::Seconds(10)));
  machine.join();
  v1::Facts facts;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string stored, txn.nodes().Facts(machine_.node_uuid));
    EXPECT_TRUE(facts.ParseFromString(stored));
    return absl::OkStatus();
  }));
  EXPECT_EQ(facts.os().kernel(), "6.1.0");
  EXPECT_EQ(facts_->Refresh(*registry_, NewUuid(), "alice", absl::Seconds(1)).code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(SessionTest, NamesOfPackagesGoToWhoAskedAndNotToTheStore) {
  const auto agent = Connected();
  std::thread machine([&] {
    v1::ControllerMessage asked;
    ASSERT_TRUE(agent->stream->Read(&asked));
    EXPECT_TRUE(asked.gather_facts().with_packages());
    v1::AgentMessage answer;
    answer.mutable_facts()->set_request_id(asked.gather_facts().request_id());
    v1::PackageFacts& told = *answer.mutable_facts()->mutable_facts()->mutable_packages();
    told.set_count(1);
    told.add_lines("munge amd64 0.5.15-2");
    agent->stream->Write(answer);
  });
  v1::PackageFacts packages;
  EXPECT_OK(facts_->Refresh(*registry_, machine_.node_uuid, "alice", absl::Seconds(10), &packages));
  machine.join();
  EXPECT_THAT(packages.lines(), ElementsAre("munge amd64 0.5.15-2"));
  v1::Facts facts;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string stored, txn.nodes().Facts(machine_.node_uuid));
    EXPECT_TRUE(facts.ParseFromString(stored));
    return absl::OkStatus();
  }));
  EXPECT_EQ(facts.packages().count(), 1u);
  EXPECT_EQ(facts.packages().lines_size(), 0);
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

TEST_F(SessionTest, StopsAtOnceWhileAgentsAreConnected) {
  const auto agent = Connected();
  const absl::Time begin = absl::Now();
  registry_->Close();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(60));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
  EXPECT_EQ(agent->End().error_code(), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace muster::controller
