// The controller as a whole: configurations with which it refuses to start, the packages and the
// metrics that it offers.
#include "controller/controller.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/v1/enrollment.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ControllerTest : public ControllerFixture {
 protected:
  static std::string GetFrom(int port, const std::string& request_line) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string request =
        request_line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    std::string answer;
    char piece[4096];
    for (ssize_t count; (count = read(fd, piece, sizeof(piece))) > 0;) answer.append(piece, count);
    close(fd);
    return answer;
  }
  std::string Get(const std::string& request_line) {
    return GetFrom(controller_->package_port(), request_line);
  }
};

TEST_F(ControllerTest, SecondOneOnTheSameStoreSaysWhoHoldsIt) {
  EXPECT_THAT(Controller::Start(config_, clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(Said(), HasSubstr(absl::StrCat(getpid())))));
}

TEST_F(ControllerTest, MissingCredentialsNameTheRemedy) {
  Config other = config_;
  other.pki_directory = folder_ / "nowhere";
  EXPECT_THAT(Controller::Start(other, clock_), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(ControllerTest, TakenPortNamesTheSetting) {
  Config other = config_;
  other.state_directory = folder_ / "other";
  other.listen = absl::StrCat("127.0.0.1:", controller_->port());
  EXPECT_THAT(Controller::Start(other, clock_),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(Said(), HasSubstr(other.listen))));
}

TEST_F(ControllerTest, MetricsTellOfNodesAndCalls) {
  const auto stub =
      v1::NodeService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "victor")));
  const auto get_node = [&](const std::string& name) {
    grpc::ClientContext context;
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    return stub->GetNode(&context, request, &response);
  };
  EXPECT_TRUE(get_node("c001").ok());
  EXPECT_FALSE(get_node("c009").ok());
  const std::string page = GetFrom(controller_->metrics_port(), "GET /metrics?x=1");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(page, AllOf(HasSubstr("Content-Type: text/plain; version=0.0.4"),
                          HasSubstr("\nmuster_nodes{state=\"known\"} 3\n"),
                          HasSubstr("\nmuster_node_in_service{node=\"c002\"} 0\n"),
                          HasSubstr("\nmuster_runs_in_progress 0\n")));
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("\nmuster_calls_total{method=\"NodeService/GetNode\",code=\"OK\"} 1\n"),
            HasSubstr("\nmuster_calls_total{method=\"NodeService/GetNode\",code=\"NOT_FOUND\"} "
                      "1\n"),
            HasSubstr("\nmuster_call_duration_seconds_count{method=\"NodeService/GetNode\"} "
                      "2\n")));
  EXPECT_THAT(GetFrom(controller_->metrics_port(), "GET /"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(GetFrom(controller_->metrics_port(), "POST /metrics"), StartsWith("HTTP/1.1 405"));
}

TEST_F(ControllerTest, MetricsCanBeOff) {
  controller_->Shutdown();
  controller_.reset();
  config_.metrics_listen = "off";
  Start();
  EXPECT_EQ(controller_->metrics_port(), 0);
}

TEST_F(ControllerTest, StateIsThereAfterARestart) {
  controller_->Shutdown();
  controller_.reset();
  Start();
  const auto stub =
      v1::NodeService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "victor")));
  grpc::ClientContext context;
  v1::GetStatusResponse status;
  ASSERT_TRUE(stub->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.cluster(), "test");
  EXPECT_EQ(status.nodes_total(), 3u);
  EXPECT_EQ(status.inventory_revision(), 1u);
}

// It keeps running for the file to come back, so its watchdog must not end it.
TEST_F(ControllerTest, IsAliveWhileItsStoreIsMovedAway) {
  const auto stub =
      v1::TokenService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  const auto create_token = [&] {
    grpc::ClientContext context;
    v1::CreateTokenRequest request;
    request.set_nodes("c001");
    v1::CreateTokenResponse response;
    return stub->CreateToken(&context, request, &response).error_code();
  };
  const std::string store = config_.state_directory + "/muster.db";
  std::filesystem::rename(store, folder_ / "elsewhere");
  EXPECT_NE(create_token(), grpc::StatusCode::OK);
  controller_->CheckAlive();
  std::filesystem::rename(folder_ / "elsewhere", store);
  EXPECT_EQ(create_token(), grpc::StatusCode::OK);
  controller_->CheckAlive();
}

TEST_F(ControllerTest, ServesPackagesAndNothingElse) {
  Write("packages/muster-agent_1_amd64.deb", "the package");
  Write("packages/notes.txt", "private");
  Write("secret.deb", "private");
  std::filesystem::create_symlink(folder_ / "secret.deb", folder_ / "packages/link.deb");
  EXPECT_THAT(Get("GET /packages/muster-agent_1_amd64.deb"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("the package")));
  for (const std::string path :
       {"/", "/packages/", "/packages/notes.txt", "/packages/link.deb", "/packages/../secret.deb",
        "/packages/..%2fsecret.deb", "/packages/none.deb", "/packages//etc/passwd",
        "/packages/.deb", "/secret.deb"}) {
    EXPECT_THAT(Get("GET " + path), StartsWith("HTTP/1.1 404")) << path;
  }
  EXPECT_THAT(Get("DELETE /packages/muster-agent_1_amd64.deb"), StartsWith("HTTP/1.1 405"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "packages/muster-agent_1_amd64.deb"));
}

}  // namespace
}  // namespace muster::controller
