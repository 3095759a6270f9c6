// From a token to a connected node, and out again.
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/enrollment.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;

class EnrollmentFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    const auto admin = Connect(controller_->port(), Issue(Role::kAdmin, "alice"));
    tokens_ = v1::TokenService::NewStub(admin);
    nodes_ = v1::NodeService::NewStub(admin);
    events_ = v1::EventService::NewStub(admin);
    enrolling_ = v1::EnrollmentService::NewStub(Connect(controller_->enrollment_port()));
  }

  v1::CreateTokenResponse CreateToken(const std::string& nodes, bool require_approval = false) {
    grpc::ClientContext context;
    v1::CreateTokenRequest request;
    request.set_nodes(nodes);
    request.set_require_approval(require_approval);
    v1::CreateTokenResponse response;
    const grpc::Status status = tokens_->CreateToken(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  grpc::Status Enroll(const std::string& token, const std::string& name) {
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr(name).value();
    uuid_ = NewUuid();
    fingerprint_ = pki::KeyFingerprint(pki::ParseCsr(key.csr_pem).value().public_key_sha256);
    request_.set_node_name(name);
    request_.set_node_uuid(uuid_);
    request_.set_csr_pem(key.csr_pem);
    const grpc::Status status = EnrollAgain(token);
    identity_ = {key.key_pem, enrolled_.certificate_pem()};
    return status;
  }

  // The same machine with the same key.
  grpc::Status EnrollAgain(const std::string& token) {
    request_.set_token(token);
    grpc::ClientContext context;
    return enrolling_->Enroll(&context, request_, &enrolled_);
  }

  v1::Node GetNode(const std::string& name) {
    grpc::ClientContext context;
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    EXPECT_TRUE(nodes_->GetNode(&context, request, &response).ok());
    return response.node();
  }

  // The error of a stream that the controller ends, or OK once it is welcome.
  grpc::Status TryConnect() {
    const auto stub = v1::AgentSessionService::NewStub(Connect(controller_->port(), identity_));
    grpc::ClientContext context;
    const auto stream = stub->Connect(&context);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("b1");
    stream->Write(hello);
    v1::ControllerMessage welcome;
    if (stream->Read(&welcome)) {
      EXPECT_EQ(welcome.welcome().heartbeat_interval().seconds(), 5);
      EXPECT_EQ(welcome.welcome().node_name(), "c001");
      stream->WritesDone();
      // What is sent besides, such as settings: a stream that is not read does not end.
      while (stream->Read(&welcome)) continue;
    }
    return stream->Finish();
  }

  std::unique_ptr<v1::TokenService::Stub> tokens_;
  std::unique_ptr<v1::NodeService::Stub> nodes_;
  std::unique_ptr<v1::EventService::Stub> events_;
  std::unique_ptr<v1::EnrollmentService::Stub> enrolling_;
  v1::EnrollRequest request_;
  v1::EnrollResponse enrolled_;
  ClientIdentity identity_;
  std::string uuid_;
  std::string fingerprint_;  // as the machine's console shows it
};

TEST_F(EnrollmentFlowTest, JoinsConnectsAndLeaves) {
  Write("packages/muster-agent_0.1.0_amd64.deb", "a package");
  const v1::CreateTokenResponse made = CreateToken("c[001-002]");
  ASSERT_EQ(made.tokens_size(), 2);
  EXPECT_EQ(made.ca_pin(), ca_->pin());
  EXPECT_EQ(made.controller_address(), "localhost:7443");
  ASSERT_EQ(made.packages_size(), 1);
  EXPECT_EQ(made.packages(0).url(), absl::StrCat("http://localhost:", controller_->package_port(),
                                                 "/packages/muster-agent_0.1.0_amd64.deb"));

  EXPECT_EQ(GetNode("c001").state(), v1::NODE_STATE_KNOWN);
  ASSERT_TRUE(Enroll(made.tokens(0).token(), "c001").ok());
  EXPECT_EQ(enrolled_.ca_pem(), authority_.certificate_pem);
  EXPECT_EQ(GetNode("c001").state(), v1::NODE_STATE_ENROLLED);
  EXPECT_EQ(GetNode("c001").uuid(), uuid_);
  EXPECT_EQ(TryConnect().error_message(), "");

  grpc::ClientContext context;
  v1::RemoveNodeRequest request;
  request.set_nodes("c001");
  request.set_reason("sold");
  v1::RemoveNodeResponse response;
  ASSERT_TRUE(nodes_->RemoveNode(&context, request, &response).ok());
  const grpc::Status refused = TryConnect();
  EXPECT_EQ(refused.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), Said());

  grpc::ClientContext listing;
  v1::ListEventsResponse events;
  ASSERT_TRUE(events_->ListEvents(&listing, {}, &events).ok());
  EXPECT_EQ(events.events(0).action(), "node.remove");
  EXPECT_EQ(events.events(0).actor(), "admin:alice");
  EXPECT_THAT(events.events(0).peer(), HasSubstr("127.0.0.1"));
  grpc::ClientContext verifying;
  v1::VerifyEventsResponse verified;
  ASSERT_TRUE(events_->VerifyEvents(&verifying, {}, &verified).ok());
  EXPECT_TRUE(verified.intact());
}

TEST_F(EnrollmentFlowTest, UsedTokenTellsNothingButTheRemedy) {
  const std::string token = CreateToken("c001").tokens(0).token();
  ASSERT_TRUE(Enroll(token, "c001").ok());
  const grpc::Status again = Enroll(token, "c001");
  EXPECT_EQ(again.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_THAT(again.error_message(), Said());
}

TEST_F(EnrollmentFlowTest, AMachineThatNeverGotItsCertificateJoinsByAnotherLine) {
  ASSERT_TRUE(Enroll(CreateToken("c001").tokens(0).token(), "c001").ok());
  const std::string first = enrolled_.certificate_pem();
  ASSERT_TRUE(EnrollAgain(CreateToken("c001").tokens(0).token()).ok());
  EXPECT_EQ(enrolled_.certificate_pem(), first);
  EXPECT_EQ(TryConnect().error_message(), "");
}

TEST_F(EnrollmentFlowTest, WaitsForApproval) {
  const std::string token = CreateToken("c001", /*require_approval=*/true).tokens(0).token();
  ASSERT_TRUE(Enroll(token, "c001").ok());
  EXPECT_EQ(enrolled_.state(), v1::ENROLLMENT_STATE_PENDING);
  const v1::Node waiting = GetNode("c001");
  EXPECT_EQ(waiting.state(), v1::NODE_STATE_PENDING);
  EXPECT_EQ(waiting.enrollment_fingerprint(), fingerprint_);
  EXPECT_THAT(waiting.enrollment_peer(), HasSubstr("127.0.0.1"));
  v1::ApproveNodeRequest request;
  request.set_nodes("c001");
  v1::ApproveNodeResponse response;
  {
    grpc::ClientContext approving;
    (*request.mutable_fingerprints())["c001"] = "0000-0000";
    const grpc::Status refused = nodes_->ApproveNode(&approving, request, &response);
    EXPECT_EQ(refused.error_code(), grpc::FAILED_PRECONDITION);
    EXPECT_THAT(refused.error_message(), AllOf(Said(), HasSubstr(fingerprint_)));
    EXPECT_EQ(GetNode("c001").state(), v1::NODE_STATE_PENDING);
  }
  grpc::ClientContext approving;
  (*request.mutable_fingerprints())["c001"] = waiting.enrollment_fingerprint();
  ASSERT_TRUE(nodes_->ApproveNode(&approving, request, &response).ok());
  EXPECT_EQ(GetNode("c001").enrollment_fingerprint(), "");
  grpc::ClientContext asking;
  v1::GetEnrollmentRequest question;
  question.set_enrollment_id(enrolled_.enrollment_id());
  question.set_token(token);
  v1::EnrollResponse answer;
  ASSERT_TRUE(enrolling_->GetEnrollment(&asking, question, &answer).ok());
  EXPECT_EQ(answer.state(), v1::ENROLLMENT_STATE_APPROVED);
  identity_.certificate_pem = answer.certificate_pem();
  EXPECT_EQ(TryConnect().error_message(), "");
}

TEST_F(EnrollmentFlowTest, UnknownNodesAndLongLivesAreRefused) {
  v1::CreateTokenResponse response;
  v1::CreateTokenRequest request;
  request.set_nodes("c[001-004]");
  grpc::ClientContext first;
  EXPECT_THAT(tokens_->CreateToken(&first, request, &response).error_message(), Said());
  request.set_nodes("c001");
  request.mutable_ttl()->set_seconds(8 * 24 * 3600);
  grpc::ClientContext second;
  EXPECT_THAT(tokens_->CreateToken(&second, request, &response).error_message(), Said());
}

}  // namespace
}  // namespace muster::controller
