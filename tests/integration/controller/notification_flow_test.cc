// Notifications over the wire: the channels of an inventory, and a test of one.
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "controller/notify/signature.h"
#include "muster/v1/inventory.grpc.pb.h"
#include "muster/v1/notification.grpc.pb.h"
#include "muster/v1/secret.grpc.pb.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class NotificationFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    server_.Handle("/hook", [](const HttpRequest&) { return HttpReply{.body = "thanks"}; });
    admin_ = Connect(controller_->port(), Issue(Role::kAdmin, "root"));
    v1::ApplyInventoryRequest request;
    v1::InventoryFile& file = *request.add_files();
    file.set_path("cluster.yaml");
    file.set_content(
        absl::StrCat("cluster: test\nnodes:\n  c[001-003]: {role: compute}\nnotifications:\n"
                     "  chat: {type: webhook, url: \"",
                     server_.Url("/hook?room=s3cret"), "\", key_secret: chat_key}\n"));
    v1::ApplyInventoryResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::InventoryService::NewStub(admin_)->ApplyInventory(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    stub_ = v1::NotificationService::NewStub(
        Connect(controller_->port(), Issue(Role::kOperator, "olga")));
  }
  void SetKey(const std::string& value) {
    v1::SetSecretRequest request;
    request.set_name("chat_key");
    request.set_value(value);
    request.add_roles("notifications");
    v1::SetSecretResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::SecretService::NewStub(admin_)->SetSecret(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  v1::TestNotificationChannelResponse Test() {
    v1::TestNotificationChannelRequest request;
    request.set_channel("chat");
    v1::TestNotificationChannelResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->TestNotificationChannel(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  HttpServer server_;
  std::shared_ptr<grpc::Channel> admin_;
  std::unique_ptr<v1::NotificationService::Stub> stub_;
};

TEST_F(NotificationFlowTest, ChannelsAreListedWithoutTheirSecrets) {
  v1::ListNotificationChannelsResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->ListNotificationChannels(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_THAT(response.channels(), SizeIs(1));
  EXPECT_EQ(response.channels(0).name(), "chat");
  EXPECT_EQ(response.channels(0).type(), "webhook");
  EXPECT_EQ(response.channels(0).target(), server_.Url("/hook"));
  EXPECT_EQ(response.channels(0).severity(), "info");
}

TEST_F(NotificationFlowTest, ATestIsSignedWithTheSecretThatNamesItsReader) {
  v1::TestNotificationChannelResponse response = Test();
  EXPECT_FALSE(response.delivered());
  EXPECT_THAT(response.error(), AllOf(HasSubstr("chat_key"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(server_.requests(), IsEmpty());

  SetKey("k3y");
  response = Test();
  EXPECT_TRUE(response.delivered()) << response.error();
  EXPECT_EQ(response.answer(), "200 thanks");
  ASSERT_THAT(server_.requests(), SizeIs(1));
  const HttpRequest request = server_.requests()[0];
  EXPECT_EQ(request.headers.at("x-muster-signature"),
            notify::Signature("k3y", request.headers.at("x-muster-timestamp"), request.body));
  EXPECT_THAT(request.body, HasSubstr("operator:olga"));
}

}  // namespace
}  // namespace muster::controller
