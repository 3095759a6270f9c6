// libcurl against real receivers that behave well, or badly.
#include "controller/notify/curl_transport.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fakes/servers/smtp_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::notify {
namespace {

using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::muster::testing::Said;
using ::muster::testing::SmtpOptions;
using ::muster::testing::SmtpServer;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const SendLimits kQuick = {.connect = absl::Seconds(5), .total = absl::Seconds(10)};
const SendLimits kHasty = {.connect = absl::Milliseconds(500), .total = absl::Milliseconds(700)};

// An authority and what it has signed for loopback.
struct Tls {
  Tls() {
    const absl::Time now = absl::Now();
    const pki::Authority authority = *pki::MakeCa("test", absl::Hours(24), now);
    const pki::KeyAndCsr server = *pki::MakeKeyAndCsr("127.0.0.1");
    ca = authority.certificate_pem;
    key = server.key_pem;
    certificate = *pki::SignCsr(
        authority, server.csr_pem, {.common_name = "127.0.0.1", .ip_sans = {"127.0.0.1"}},
        {now - absl::Minutes(5), now + absl::Hours(24)}, pki::Usage::kServer);
  }
  std::string ca, certificate, key;
};

HttpServer::Handler Answers(unsigned status, const std::string& body,
                            std::map<std::string, std::string> headers = {}) {
  return [=](const HttpRequest&) {
    return HttpReply{.status = status, .headers = headers, .body = body};
  };
}

TEST(HttpPostTest, IsPosted) {
  HttpServer server;
  server.Handle("/hook", Answers(200, "ok\n"));
  const Reply reply = Post(
      {.url = server.Url("/hook"), .headers = {{"X-Muster-Timestamp", "17"}}, .body = "{\"a\": 1}"},
      kQuick);
  ASSERT_OK(reply.status);
  EXPECT_EQ(reply.answer, "200 ok");
  ASSERT_THAT(server.requests(), SizeIs(1));
  const HttpRequest request = server.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, "{\"a\": 1}");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_EQ(request.headers.at("x-muster-timestamp"), "17");
  EXPECT_THAT(request.headers.at("user-agent"), HasSubstr("musterd/"));
}

// Whether a message that is refused is worth another attempt.
TEST(HttpPostTest, KnowsWhatIsNoUseToRepeat) {
  HttpServer server;
  const struct {
    unsigned status;
    bool is_final;
  } rows[] = {{400, true},  {413, true},  {422, true},  {401, false}, {403, false},
              {404, false}, {408, false}, {429, false}, {500, false}, {503, false}};
  for (const auto& row : rows) {
    server.Handle("/hook", Answers(row.status, "no"));
    const Reply reply = Post({.url = server.Url("/hook"), .body = "{}"}, kQuick);
    EXPECT_THAT(reply.status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
    EXPECT_EQ(reply.is_final, row.is_final) << row.status;
    EXPECT_EQ(reply.answer, absl::StrCat(row.status, " no"));
  }
}

TEST(HttpPostTest, FollowsNoRedirect) {
  HttpServer server;
  server.Handle("/hook", Answers(302, "", {{"Location", server.Url("/elsewhere")}}));
  server.Handle("/elsewhere", Answers(200, ""));
  const Reply reply = Post({.url = server.Url("/hook"), .body = "{}"}, kQuick);
  EXPECT_THAT(reply.status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_FALSE(reply.is_final);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(HttpPostTest, ATokenGoesOverTlsAlone) {
  HttpServer server;
  const Reply reply = Post({.url = server.Url("/hook"), .token = "t0ken", .body = "{}"}, kQuick);
  EXPECT_THAT(reply.status, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(server.requests(), IsEmpty());

  const Tls tls;
  HttpServer secure(tls.certificate, tls.key);
  secure.Handle("/hook", Answers(204, ""));
  ASSERT_OK(Post({.url = secure.Url("/hook"), .token = "t0ken", .ca = tls.ca, .body = "{}"}, kQuick)
                .status);
  EXPECT_EQ(secure.requests()[0].headers.at("authorization"), "Bearer t0ken");
}

TEST(HttpPostTest, ACertificateOfAnotherAuthorityIsRefused) {
  const Tls tls, other;
  HttpServer server(tls.certificate, tls.key);
  for (const std::string& ca : {other.ca, std::string()}) {
    const Reply reply = Post({.url = server.Url("/hook"), .ca = ca, .body = "{}"}, kQuick);
    EXPECT_THAT(reply.status,
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("check that `ca`")));
    EXPECT_FALSE(reply.is_final);
  }
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST(HttpPostTest, ANameThatTheCertificateLacksIsRefused) {
  const Tls tls;
  HttpServer server(tls.certificate, tls.key);
  std::string url = server.Url("/hook");
  url.replace(url.find("127.0.0.1"), 9, "localhost");
  EXPECT_THAT(Post({.url = url, .ca = tls.ca, .body = "{}"}, kQuick).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("check that `ca`")));
}

TEST(HttpPostTest, ACaThatIsNoneIsNamed) {
  const Tls tls;
  HttpServer server(tls.certificate, tls.key);
  const Reply reply = Post(
      {.url = server.Url("/hook"), .ca = "-----BEGIN CERTIFICATE-----\nx\n", .body = "{}"}, kQuick);
  EXPECT_THAT(reply.status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a certificate in PEM")));
}

TEST(HttpPostTest, AReceiverThatHangsIsLeft) {
  HttpServer server;
  server.Handle("/hook", [](const HttpRequest&) {
    return HttpReply{.claimed_length = 100, .cut_at = 0, .stalls = true};
  });
  const absl::Time start = absl::Now();
  const Reply reply = Post({.url = server.Url("/hook"), .body = "{}"}, kHasty);
  EXPECT_THAT(reply.status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("check that the receiver")));
  EXPECT_FALSE(reply.is_final);
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
}

TEST(HttpPostTest, AStopEndsIt) {
  HttpServer server;
  server.Handle("/hook", [](const HttpRequest&) {
    return HttpReply{.claimed_length = 100, .cut_at = 0, .stalls = true};
  });
  SendLimits limits = {.total = absl::Minutes(1)};
  limits.cancelled = [] { return true; };
  const absl::Time start = absl::Now();
  EXPECT_EQ(Post({.url = server.Url("/hook"), .body = "{}"}, limits).status.code(),
            absl::StatusCode::kCancelled);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

TEST(HttpPostTest, AnEndlessAnswerIsCutAndCounts) {
  HttpServer server;
  server.Handle("/hook", Answers(200, std::string(3 << 20, 'x')));
  const Reply reply = Post({.url = server.Url("/hook"), .body = "{}"}, kQuick);
  EXPECT_OK(reply.status);
  EXPECT_LE(reply.answer.size(), 210u);
}

// The receiver may repeat what it got, and a url may be a secret.
TEST(HttpPostTest, NoErrorHasASecret) {
  HttpServer server;
  server.Handle("/services/s3cret", Answers(403, "unknown path /services/s3cret\r\nx\x1b[31m"));
  const std::string url = server.Url("/services/s3cret");
  Reply reply = Post({.url = url, .is_url_secret = true, .body = "{}"}, kQuick);
  EXPECT_THAT(std::string(reply.status.message()),
              AllOf(HasSubstr("http://127.0.0.1:"), HasSubstr("403"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(reply.answer, Not(HasSubstr("s3cret")));
  reply =
      Post({.url = "http://127.0.0.1:1/services/s3cret?k=s3cret", .is_url_secret = true}, kQuick);
  EXPECT_THAT(std::string(reply.status.message()),
              AllOf(HasSubstr("http://127.0.0.1:1"), Not(HasSubstr("s3cret"))));
  reply = Post({.url = "ftp://127.0.0.1/s3cret", .is_url_secret = true}, kQuick);
  EXPECT_FALSE(reply.status.ok());
  EXPECT_THAT(std::string(reply.status.message()), Not(HasSubstr("s3cret")));
}

SmtpMail MailTo(const SmtpServer& server) {
  return {.url = server.Url(),
          .needs_tls = false,
          .from = "muster@example.org",
          .to = {"ann@example.org", "bob@example.org"},
          .text = "Subject: x\r\n\r\none\r\n.two\r\n"};
}

TEST(SmtpTest, AMailIsSent) {
  SmtpServer server;
  const Reply reply = Send(MailTo(server), kQuick);
  ASSERT_OK(reply.status);
  EXPECT_EQ(reply.answer, "250 2.0.0 Ok: queued as 4711");
  ASSERT_THAT(server.mails(), SizeIs(1));
  EXPECT_EQ(server.mails()[0].from, "<muster@example.org>");
  EXPECT_THAT(server.mails()[0].to, ElementsAre("<ann@example.org>", "<bob@example.org>"));
  EXPECT_EQ(server.mails()[0].text, "Subject: x\r\n\r\none\r\n.two\r\n");
}

TEST(SmtpTest, WithoutStarttlsNothingIsSent) {
  SmtpServer server;
  SmtpMail mail = MailTo(server);
  mail.needs_tls = true;
  const Reply reply = Send(mail, kQuick);
  EXPECT_THAT(reply.status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("STARTTLS")));
  EXPECT_FALSE(reply.is_final);
  EXPECT_THAT(server.mails(), IsEmpty());
}

TEST(SmtpTest, StarttlsAndALogin) {
  const Tls tls, other;
  const std::string login = absl::Base64Escape(std::string("\0muster\0pa55", 12));
  SmtpServer server({.certificate = tls.certificate, .key = tls.key, .login = login});
  SmtpMail mail = MailTo(server);
  mail.needs_tls = true;
  mail.ca = tls.ca;
  mail.user = "muster";
  mail.password = "pa55";
  ASSERT_OK(Send(mail, kQuick).status);
  ASSERT_THAT(server.mails(), SizeIs(1));
  EXPECT_TRUE(server.mails()[0].was_encrypted);
  EXPECT_EQ(server.mails()[0].login, login);

  mail.password = "wr0ng";
  Reply reply = Send(mail, kQuick);
  EXPECT_THAT(std::string(reply.status.message()),
              AllOf(HasSubstr("password_secret"), Not(HasSubstr("wr0ng"))));
  EXPECT_FALSE(reply.is_final) << "the secret can be put right";

  mail.ca = other.ca;
  reply = Send(mail, kQuick);
  EXPECT_THAT(reply.status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("check that `ca`")));
  EXPECT_THAT(server.mails(), SizeIs(1));
}

TEST(SmtpTest, AReceiverThatIsUnknownKeepsNothingFromTheOthers) {
  SmtpServer server({.refused_receiver = "ann@example.org"});
  ASSERT_OK(Send(MailTo(server), kQuick).status);
  EXPECT_THAT(server.mails()[0].to, ElementsAre("<bob@example.org>"));
}

TEST(SmtpTest, ARefusalIsFinalAndADelayIsNot) {
  SmtpServer full({.data_answer = "452 4.2.2 mailbox full"});
  Reply reply = Send(MailTo(full), kQuick);
  EXPECT_FALSE(reply.status.ok());
  EXPECT_FALSE(reply.is_final);
  EXPECT_EQ(reply.answer, "452 4.2.2 mailbox full");
  SmtpServer strict({.data_answer = "554 5.7.1 spam"});
  reply = Send(MailTo(strict), kQuick);
  EXPECT_FALSE(reply.status.ok());
  EXPECT_TRUE(reply.is_final);
  EXPECT_EQ(reply.answer, "554 5.7.1 spam");
}

TEST(SmtpTest, AServerThatSaysNothingIsLeft) {
  SmtpServer server({.is_silent = true});
  const absl::Time start = absl::Now();
  EXPECT_FALSE(Send(MailTo(server), kHasty).status.ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
}

}  // namespace
}  // namespace muster::controller::notify
