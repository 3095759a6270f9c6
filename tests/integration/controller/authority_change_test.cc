// The change of a cluster's authority against a real controller, from the first step to the last,
// for a node and for a person.
#include "cli/bootstrap/authority_folder.h"
#include "cli/bootstrap/credentials.h"
#include "cli/connection.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"
#include "muster/v1/authority.grpc.pb.h"
#include "muster/v1/enrollment.grpc.pb.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/user.grpc.pb.h"
#include "tests/fixtures/enrolled_controller.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChangeTest : public EnrolledControllerFixture {
 protected:
  void SetUp() override {
    EnrolledControllerFixture::SetUp();
    // A single member, so that all members soon have followed.
    RemoveNode(nodes_[1].name);
    RemoveNode(nodes_[2].name);
  }

  // Restarts with the data on the disk.
  void Restart() {
    controller_.reset();
    Start();
    Write("admin/cli.json",
          absl::StrCat("{\"controller\": \"localhost:", controller_->port(), "\"}"));
  }
  void RemoveNode(const std::string& name) {
    controller_.reset();
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName(name));
        node.state = NodeRecord::kRemoved;
        return txn.nodes().Put(node);
      }));
    }
    Start();
  }

  // The person's own folder, and a connection with its present content.
  absl::StatusOr<std::unique_ptr<cli::Connection>> Open() {
    return cli::Connection::Open((folder_ / "admin").string(), absl::Now());
  }
  absl::StatusOr<v1::GetAuthorityResponse> Authority() {
    ASSIGN_OR_RETURN(const std::unique_ptr<cli::Connection> connection, Open());
    v1::AuthorityService::Stub stub(connection->channel());
    v1::GetAuthorityResponse response;
    RETURN_IF_ERROR(cli::Call(*connection, stub, &v1::AuthorityService::Stub::GetAuthority,
                              v1::GetAuthorityRequest(), &response));
    return response;
  }
  std::vector<std::string> NodesBehind() {
    const v1::GetAuthorityResponse authority = Authority().value();
    std::vector<std::string> names;
    for (const v1::NodeBehind& node : authority.nodes_behind()) names.push_back(node.name());
    return names;
  }
  std::vector<std::string> PeopleBehind() {
    const v1::GetAuthorityResponse authority = Authority().value();
    return {authority.people_behind().begin(), authority.people_behind().end()};
  }

  // With the node's roots; nullptr: not admitted.
  std::unique_ptr<Agent> GreetBy(const std::string& roots, bool* must_renew) {
    auto agent = std::make_unique<Agent>();
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = roots;
    options.pem_private_key = nodes_[0].identity.key_pem;
    options.pem_cert_chain = nodes_[0].identity.certificate_pem;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    agent->stub = v1::AgentSessionService::NewStub(grpc::CreateCustomChannel(
        absl::StrCat("localhost:", controller_->port()), grpc::SslCredentials(options), arguments));
    agent->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    agent->stream = agent->stub->Connect(&agent->context);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("boot");
    v1::ControllerMessage welcome;
    if (!agent->stream->Write(hello) || !agent->stream->Read(&welcome) || !welcome.has_welcome())
      return nullptr;
    *must_renew = welcome.welcome().renew_certificate();
    return agent;
  }
  // Like the agent when it is told to; returns the roots that came with it.
  std::string RenewNode(Agent& agent) {
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("c001").value();
    v1::RenewCertificateRequest request;
    request.set_csr_pem(key.csr_pem);
    v1::RenewCertificateResponse response;
    grpc::ClientContext context;
    const grpc::Status status = agent.stub->RenewCertificate(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_OK(pki::VerifySignedBy(response.certificate_pem(), response.ca_pem(), absl::Now()));
    nodes_[0].identity = {key.key_pem, response.certificate_pem()};
    return response.ca_pem();
  }
  absl::Status RenewPerson() {
    ASSIGN_OR_RETURN(const std::unique_ptr<cli::Connection> connection, Open());
    return cli::RenewCredentials(*connection, absl::Now());
  }
  std::vector<std::string> AuditedSubjects(const std::string& action) {
    const std::unique_ptr<cli::Connection> connection = Open().value();
    v1::EventService::Stub stub(connection->channel());
    v1::ListEventsResponse events;
    EXPECT_OK(cli::Call(*connection, stub, &v1::EventService::Stub::ListEvents,
                        v1::ListEventsRequest(), &events));
    std::vector<std::string> subjects;
    for (const v1::Event& event : events.events())
      if (event.action() == action) subjects.push_back(event.subject());
    return subjects;
  }

  sys::RealFileSystem disk_;
};

TEST_F(ChangeTest, NobodyIsCutOffBeforeTheyAreAlongAndTheOldAuthorityIsWorthNothingAfter) {
  // The administrator of `muster init` makes alice one; her folder is the one in use. bob only
  // watches.
  const ClientIdentity first = Issue(Role::kAdmin, "admin");
  const auto folder_of = [&](const ClientIdentity& who) -> cli::Credentials {
    return {absl::StrCat("localhost:", controller_->port()), authority_.certificate_pem,
            who.certificate_pem, who.key_pem};
  };
  const std::string admin_folder = (folder_ / "admin").string();
  ASSERT_OK(cli::WriteCredentials(admin_folder, folder_of(first)));
  const auto hire = [&](const std::string& name, const std::string& role) -> ClientIdentity {
    const std::unique_ptr<cli::Connection> connection = Open().value();
    v1::UserService::Stub users(connection->channel());
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr(name).value();
    v1::CreateUserRequest request;
    request.set_name(name);
    request.set_role(role);
    request.set_csr_pem(key.csr_pem);
    v1::CreateUserResponse response;
    EXPECT_OK(
        cli::Call(*connection, users, &v1::UserService::Stub::CreateUser, request, &response));
    return {key.key_pem, response.certificate_pem()};
  };
  hire("bob", "viewer");
  ASSERT_OK(cli::WriteCredentials(admin_folder, folder_of(hire("alice", "admin"))));
  bool must_renew = false;
  std::string roots = authority_.certificate_pem;
  {
    // The store does not know the certificate, so it is not known which roots came with it.
    const std::unique_ptr<Agent> agent = GreetBy(roots, &must_renew);
    ASSERT_NE(agent, nullptr);
    EXPECT_TRUE(must_renew);
    roots = RenewNode(*agent);
  }
  ASSERT_NE(GreetBy(roots, &must_renew), nullptr);
  EXPECT_FALSE(must_renew);
  EXPECT_THAT(NodesBehind(), IsEmpty());
  EXPECT_THAT(PeopleBehind(), IsEmpty());

  // The first step.
  cli::AuthorityFolder pki_folder(config_.pki_directory, disk_);
  ASSERT_OK(pki_folder.Begin("", absl::Now()));
  const std::string next = pki_folder.Read()->signing;
  Restart();
  EXPECT_EQ(Authority()->signing(), next);
  EXPECT_THAT(Authority()->trusted(), ElementsAre(next, ca_->pin()));
  EXPECT_THAT(NodesBehind(), ElementsAre("c001"));
  EXPECT_THAT(PeopleBehind(), ElementsAre("alice", "bob"));
  EXPECT_THAT(AuditedSubjects("ca.change"), ElementsAre(next));
  {
    // With the old root and the old certificate.
    const std::unique_ptr<Agent> agent = GreetBy(roots, &must_renew);
    ASSERT_NE(agent, nullptr);
    EXPECT_TRUE(must_renew);
    roots = RenewNode(*agent);
    EXPECT_THAT(NodesBehind(), ElementsAre("c001"));  // it may never have received it
  }
  ASSERT_NE(GreetBy(roots, &must_renew), nullptr);
  EXPECT_FALSE(must_renew);
  EXPECT_THAT(NodesBehind(), IsEmpty());
  ASSERT_OK(RenewPerson());
  EXPECT_THAT(PeopleBehind(), ElementsAre("bob"));
  EXPECT_EQ(pki::IssuerOf(Open().value()->certificate_pem(),
                          disk_.Read(config_.pki_directory + "/ca.crt").value())
                .value(),
            pki::SplitCertificates(disk_.Read(config_.pki_directory + "/ca.crt").value())->at(0));

  // The second step.
  const ClientIdentity earlier = Issue(Role::kAdmin, "mallory");
  ASSERT_OK(pki_folder.Finish(absl::Now()));
  Restart();
  EXPECT_THAT(Authority()->trusted(), ElementsAre(next));
  // The node still has both roots; it drops the old one with one more renewal.
  {
    const std::unique_ptr<Agent> agent = GreetBy(roots, &must_renew);
    ASSERT_NE(agent, nullptr);
    EXPECT_TRUE(must_renew);
    roots = RenewNode(*agent);
    EXPECT_EQ(pki::SplitCertificates(roots)->size(), 1u);
  }
  ASSERT_NE(GreetBy(roots, &must_renew), nullptr);
  EXPECT_FALSE(must_renew);
  // Certificates signed by the old authority open nothing, and nobody trusts a server that shows
  // one.
  const std::string new_root = disk_.Read(config_.pki_directory + "/ca.crt").value();
  {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = new_root;
    options.pem_private_key = earlier.key_pem;
    options.pem_cert_chain = earlier.certificate_pem;
    v1::AuthorityService::Stub stub(grpc::CreateChannel(
        absl::StrCat("localhost:", controller_->port()), grpc::SslCredentials(options)));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    v1::GetAuthorityResponse response;
    EXPECT_FALSE(stub.GetAuthority(&context, {}, &response).ok());
  }
  EXPECT_EQ(GreetBy(authority_.certificate_pem, &must_renew), nullptr);
  // The person drops the old root, too.
  ASSERT_OK(RenewPerson());
  EXPECT_EQ(disk_.Read((folder_ / "admin/ca.crt").string()).value(), new_root);
  EXPECT_EQ(Authority()->signing(), next);
}

TEST_F(ChangeTest, JoinLineNamesTheRootThatTheServerShows) {
  cli::AuthorityFolder pki_folder(config_.pki_directory, disk_);
  ASSERT_OK(pki_folder.Begin("", absl::Now()));
  const std::string next = pki_folder.Read()->signing;
  Restart();
  const auto pin = [&](const std::string& roots) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = roots;
    const ClientIdentity alice = Issue(Role::kAdmin, "alice");
    options.pem_private_key = alice.key_pem;
    options.pem_cert_chain = alice.certificate_pem;
    const auto stub = v1::TokenService::NewStub(grpc::CreateChannel(
        absl::StrCat("localhost:", controller_->port()), grpc::SslCredentials(options)));
    grpc::ClientContext context;
    v1::CreateTokenRequest request;
    request.set_nodes("c001");
    v1::CreateTokenResponse response;
    const grpc::Status status = stub->CreateToken(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.ca_pin();
  };
  // During the change the server's certificate is the old root's.
  EXPECT_EQ(pin(authority_.certificate_pem), ca_->pin());
}

}  // namespace
}  // namespace muster::controller
