// Calls every RPC of the contract in every role; only those in the rows of the table answer.
#include "controller/service/front/authorization.h"
#include "controller/service/front/call_shares.h"
#include "tests/fixtures/golden_texts.h"

#include <fstream>
#include <set>

#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>

#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;

// "/muster.v1.NodeService/ListNodes" of every service in the contract: a new file or service counts
// at once, whether the controller offers it or not.
std::set<std::string> AllRpcs() {
  google::protobuf::FileDescriptorSet contract;
  std::ifstream in(MUSTER_CONTRACT, std::ios::binary);
  EXPECT_TRUE(contract.ParseFromIstream(&in)) << MUSTER_CONTRACT;
  std::set<std::string> rpcs;
  for (const google::protobuf::FileDescriptorProto& file : contract.file()) {
    for (const google::protobuf::ServiceDescriptorProto& service : file.service()) {
      for (const google::protobuf::MethodDescriptorProto& method : service.method())
        rpcs.insert(absl::StrCat("/", file.package(), ".", service.name(), "/", method.name()));
    }
  }
  EXPECT_FALSE(rpcs.empty());
  return rpcs;
}

TEST(AuthorizationTable, HasARowForEachRpcAndNoOther) {
  std::set<std::string> rows;
  for (const AuthorizationRow& row : AuthorizationTable())
    EXPECT_TRUE(rows.insert(std::string(row.rpc)).second) << row.rpc << " is there twice";
  EXPECT_EQ(rows, AllRpcs());
}

TEST(AuthorizationTable, RolesRise) {
  for (const AuthorizationRow& row : AuthorizationTable()) {
    const auto may = [&](Role role) { return Authorize(row.rpc, {role, "x", ""}).ok(); };
    EXPECT_LE(may(Role::kViewer), may(Role::kOperator)) << row.rpc;
    EXPECT_LE(may(Role::kOperator), may(Role::kAdmin)) << row.rpc;
    EXPECT_FALSE(may(Role::kNode) && may(Role::kAdmin)) << row.rpc;
  }
  EXPECT_THAT(Authorize("/muster.v1.NodeService/Forgotten", {Role::kAdmin, "alice", ""}),
              ::muster::testing::StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

TEST(AuthorizationTable, RefusalsSayTheVerbThatWasAskedForAndWhoMay) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  using ::testing::Not;
  const auto refusal = [](absl::string_view rpc, Role role, absl::string_view verb) {
    return std::string(
        Authorize(absl::StrCat("/muster.v1.", rpc), {role, "eve", ""}, verb).message());
  };
  EXPECT_EQ(refusal("ArtifactService/HasBundle", Role::kViewer, "apply"),
            "eve is a viewer; apply needs operator or administrator");
  EXPECT_EQ(refusal("ArtifactService/HasBundle", Role::kViewer, "validate"),
            "eve is a viewer; validate needs operator or administrator");
  EXPECT_EQ(refusal("NodeService/RemoveNode", Role::kOperator, ""),
            "eve is an operator; node remove needs administrator");
  EXPECT_EQ(refusal("AgentSessionService/Connect", Role::kAdmin, ""),
            "eve is an administrator; this call needs a node");
  // The caller chooses the verb, so it is shown only if it looks like one.
  for (const char* verb : {"ap\nply", "\033[2J", "APPLY", "a is an administrator; x"}) {
    EXPECT_EQ(refusal("RunService/CreateRun", Role::kViewer, verb),
              "eve is a viewer; apply needs operator or administrator");
  }
  EXPECT_EQ(refusal("RunService/CreateRun", Role::kViewer, std::string(41, 'a')),
            "eve is a viewer; apply needs operator or administrator");
  for (const AuthorizationRow& row : AuthorizationTable()) {
    const bool is_for_people = row.audience == Audience::kViewers ||
                               row.audience == Audience::kOperators ||
                               row.audience == Audience::kAdmins;
    EXPECT_EQ(row.verb.empty(), !is_for_people) << row.rpc;
  }
}

class EveryRpcTest : public ControllerFixture {
 protected:
  // The status of the call with an empty message, whatever its kind. Streams are half-closed.
  grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& rpc) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    // A watch may have no end.
    const bool is_watch = KindOf(rpc) == CallKind::kWatch;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(is_watch ? 1 : 10));
    grpc::CompletionQueue queue;
    const auto wait = [&] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    const auto call = stub.PrepareCall(&context, rpc, &queue);
    call->StartCall(nullptr);
    if (wait()) {
      const grpc::Slice empty;
      call->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), nullptr);
      wait();
    }
    grpc::ByteBuffer answer;
    do {
      call->Read(&answer, nullptr);
    } while (wait());
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    queue.Shutdown();
    return status;
  }
  static bool IsShut(grpc::StatusCode code) {
    return code == grpc::UNAUTHENTICATED || code == grpc::UNAVAILABLE ||
           code == grpc::PERMISSION_DENIED;
  }
};

TEST_F(EveryRpcTest, StrangersGetNothing) {
  const auto none = Connect(controller_->port());
  const auto foreign =
      Connect(controller_->port(), Issue(Role::kAdmin, "alice", /*is_foreign=*/true));
  const auto server_only =
      Connect(controller_->port(), {[&] {
                // A certificate of our CA without an identity, as a stolen controller.crt would be.
                const pki::KeyAndCsr key = pki::MakeKeyAndCsr("x").value();
                return ClientIdentity{
                    key.key_pem,
                    pki::SignCsr(authority_, key.csr_pem, {.common_name = "alice"},
                                 {absl::Now() - absl::Minutes(1), absl::Now() + absl::Hours(1)},
                                 pki::Usage::kClient)
                        .value()};
              }()});
  for (const std::string& rpc : AllRpcs()) {
    EXPECT_EQ(Call(none, rpc).error_code(), grpc::UNAVAILABLE) << rpc;
    EXPECT_EQ(Call(foreign, rpc).error_code(), grpc::UNAVAILABLE) << rpc;
    EXPECT_EQ(Call(server_only, rpc).error_code(), grpc::UNAUTHENTICATED) << rpc;
  }
}

TEST_F(EveryRpcTest, OnlyTheTablesRowsAnswer) {
  for (const Role role : {Role::kNode, Role::kViewer, Role::kOperator, Role::kAdmin}) {
    const std::string name = role == Role::kNode ? NewUuid() : "alice";
    const auto channel = Connect(controller_->port(), Issue(role, name));
    for (const std::string& rpc : AllRpcs()) {
      const grpc::Status status = Call(channel, rpc);
      SCOPED_TRACE(absl::StrCat(RoleName(role), " ", rpc, ": ", status.error_code(), " ",
                                status.error_message()));
      if (Authorize(rpc, {role, name, ""}).ok()) {
        EXPECT_FALSE(IsShut(status.error_code()) &&
                     status.error_message().find(" needs ") != std::string::npos);
        EXPECT_NE(status.error_code(), grpc::UNAUTHENTICATED);
        EXPECT_NE(status.error_code(), grpc::UNAVAILABLE);
      } else {
        EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED);
      }
    }
    // A call that is in no table is denied before anybody checks whether it exists.
    EXPECT_EQ(Call(channel, "/muster.v1.NodeService/Nothing").error_code(),
              grpc::PERMISSION_DENIED);
    EXPECT_EQ(Call(channel, "/grpc.health.v1.Health/Check").error_code(), grpc::PERMISSION_DENIED);
  }
}

TEST_F(EveryRpcTest, EnrollmentListenerOffersEnrollmentOnly) {
  const auto channel = Connect(controller_->enrollment_port());
  for (const std::string& rpc : AllRpcs()) {
    const grpc::Status status = Call(channel, rpc);
    if (rpc.find("EnrollmentService") == std::string::npos) {
      EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED) << rpc;
    } else {
      EXPECT_NE(status.error_code(), grpc::UNIMPLEMENTED) << rpc;
      EXPECT_NE(status.error_code(), grpc::OK) << rpc;
    }
  }
}

}  // namespace
}  // namespace muster::controller
