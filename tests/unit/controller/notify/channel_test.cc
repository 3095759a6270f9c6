// What each type of channel puts on the wire.
#include "controller/notify/channel.h"

#include <nlohmann/json.hpp>

#include "controller/notify/signature.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fakes/servers/smtp_server.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::muster::testing::SmtpServer;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() {
    for (const char* path : {"/hook", "/am/api/v2/alerts"})
      server_.Handle(path, [](const HttpRequest&) { return HttpReply{.body = "ok"}; });
  }
  Reply Send(const NotificationChannel& config) {
    const auto channel = MakeChannel(std::make_shared<const NotificationChannel>(config), secrets_);
    return channel->Send(Compose("m-1", "lab", {Row("c001", "it failed")}, kNow), {});
  }

  HttpServer server_;
  muster::testing::FakeSecretSource secrets_;
};

TEST_F(ChannelTest, AWebhookIsSignedAndKnownByItsId) {
  secrets_.secrets = {{"hook_key", "k3y"}, {"hook_url", server_.Url("/hook") + "\n"}};
  ASSERT_OK(Send({.url_secret = "hook_url", .key_secret = "hook_key"}).status);
  ASSERT_THAT(server_.requests(), SizeIs(1));
  const HttpRequest request = server_.requests()[0];
  EXPECT_EQ(request.headers.at("idempotency-key"), "m-1");
  EXPECT_EQ(request.headers.at("x-muster-timestamp"), "1900000000");
  EXPECT_EQ(request.headers.at("x-muster-signature"), Signature("k3y", "1900000000", request.body));
  EXPECT_EQ(nlohmann::json::parse(request.body)["id"], "m-1");
  EXPECT_THAT(secrets_.readers, Each("notifications"));
}

TEST_F(ChannelTest, WithoutAKeyNothingIsSigned) {
  ASSERT_OK(Send({.url = server_.Url("/hook")}).status);
  EXPECT_EQ(server_.requests()[0].headers.count("x-muster-signature"), 0u);
  EXPECT_THAT(secrets_.asked, IsEmpty());
}

TEST_F(ChannelTest, AMissingSecretIsNamedAndTriedAgain) {
  const Reply reply = Send({.url = server_.Url("/hook"), .key_secret = "hook_key"});
  EXPECT_THAT(std::string(reply.status.message()), HasSubstr("hook_key"));
  EXPECT_FALSE(reply.is_final);
  EXPECT_THAT(server_.requests(), IsEmpty());
}

TEST_F(ChannelTest, AlertmanagerGetsAlerts) {
  ASSERT_OK(Send({.type = ChannelType::kAlertmanager, .url = server_.Url("/am/")}).status);
  ASSERT_THAT(server_.requests(), SizeIs(1));
  EXPECT_EQ(server_.requests()[0].path, "/am/api/v2/alerts");
  EXPECT_EQ(nlohmann::json::parse(server_.requests()[0].body)[0]["labels"]["alertname"],
            "MusterRunFailed");
}

// As the role prometheus sets it up.
TEST_F(ChannelTest, AlertmanagerIsToldAUserAndAPassword) {
  secrets_.secrets = {{"am", "pa55"}};
  ASSERT_OK(Send({.type = ChannelType::kAlertmanager,
                  .url = server_.Url("/am"),
                  .user = "muster",
                  .password_secret = "am"})
                .status);
  EXPECT_EQ(server_.requests()[0].headers.at("authorization"), "Basic bXVzdGVyOnBhNTU=");
}

TEST_F(ChannelTest, AMailGoesToItsReceivers) {
  SmtpServer mail;
  ASSERT_OK(Send({.type = ChannelType::kEmail,
                  .url = mail.Url(),
                  .from = "muster@example.org",
                  .to = {"ops@example.org"},
                  .tls = false})
                .status);
  ASSERT_THAT(mail.mails(), SizeIs(1));
  EXPECT_THAT(mail.mails()[0].text, HasSubstr("Subject: [lab] warning: c001: it failed\r\n"));
}

}  // namespace
}  // namespace muster::controller::notify
