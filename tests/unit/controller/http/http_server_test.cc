#include "controller/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "controller/http/http_stream.h"
#include "controller/http/later_reply.h"
#include "tests/fixtures/https_client.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::HttpsClient;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Says its piece so many times, and then waits.
class Talker final : public StreamSource {
 public:
  Talker(std::string piece, int count) : piece_(std::move(piece)), left_(count) {}

  State Next(std::string& piece) override {
    if (left_ > 0) piece += piece_;
    left_ -= left_ > 0;
    return State::kWaits;
  }

 private:
  const std::string piece_;
  int left_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const pki::Authority ca = pki::MakeCa("test", absl::Hours(24), absl::Now()).value();
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("server").value();
    options_.listen = "127.0.0.1:0";
    options_.setting = "web_listen";
    options_.max_body_bytes = 100;
    options_.key_pem = key.key_pem;
    options_.certificate_pem =
        pki::SignCsr(ca, key.csr_pem, {.common_name = "server", .dns_sans = {"localhost"}},
                     {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)},
                     pki::Usage::kServer)
            .value();
  }

  void Start(HttpServer::Handler handler) {
    absl::StatusOr<std::unique_ptr<HttpServer>> started =
        HttpServer::Start(options_, std::move(handler));
    ASSERT_OK(started);
    server_ = *std::move(started);
  }
  std::string Ask(const std::string& request) {
    HttpsClient client(server_->port());
    client.Send(request);
    return client.ReadAll();
  }

  HttpServer::Options options_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, RequestsArriveWhole) {
  HttpRequest seen;
  Start([&](const HttpRequest& request) {
    seen = request;
    HttpReply reply = {.status = 200, .body = "yes"};
    reply.headers.emplace_back("X-One", "1");
    return reply;
  });
  const std::string answer =
      Ask("POST /a%20b?x=1&y=a%26b&x=2 HTTP/1.1\r\nHost: h\r\nCookie: one=1; two=2\r\n"
          "X-Custom: Value\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
  EXPECT_THAT(answer,
              AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("X-One: 1"), HasSubstr("yes")));
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.Query("x"), "1");
  EXPECT_EQ(seen.Query("y"), "a&b");
  EXPECT_EQ(seen.Query("z"), "");
  EXPECT_EQ(seen.Cookie("two"), "2");
  EXPECT_EQ(seen.Header("x-custom"), "Value");
  EXPECT_THAT(seen.peer, StartsWith("ipv4:127.0.0.1:"));
}

TEST_F(HttpServerTest, OnlyTls13) {
  Start([](const HttpRequest&) { return HttpReply{.status = 200}; });
  EXPECT_FALSE(HttpsClient(server_->port(), TLS1_2_VERSION).is_connected());
  EXPECT_TRUE(HttpsClient(server_->port()).is_connected());
}

TEST_F(HttpServerTest, AKeyOfAnotherCertificateIsRefused) {
  options_.key_pem = pki::MakeKeyAndCsr("other").value().key_pem;
  EXPECT_FALSE(HttpServer::Start(options_, [](const HttpRequest&) { return HttpReply(); }).ok());
}

TEST_F(HttpServerTest, LargeBodiesAreRefusedWithoutReadingThem) {
  std::atomic<int> asked = 0;
  Start([&](const HttpRequest&) {
    ++asked;
    return HttpReply{.status = 200};
  });
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_THAT(Ask(post + "Content-Length: 101\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Ask(post + "Content-Length: 99999999999999999999\r\n\r\n"),
              Not(StartsWith("HTTP/1.1 200")));
  // In pieces whose number is not announced.
  std::string chunks = post + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 3; ++i) absl::StrAppend(&chunks, "32\r\n", std::string(50, 'x'), "\r\n");
  EXPECT_THAT(Ask(chunks + "0\r\n\r\n"), Not(StartsWith("HTTP/1.1 200")));
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(
      Ask(post + "Content-Length: 100\r\nConnection: close\r\n\r\n" + std::string(100, 'x')),
      StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, OtherMethodsAreRefused) {
  Start([](const HttpRequest&) { return HttpReply{.status = 200}; });
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "TRACE", "FOO"}) {
    EXPECT_THAT(Ask(method + " / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
                StartsWith("HTTP/1.1 405"))
        << method;
  }
}

TEST_F(HttpServerTest, GarbageEndsItsConnectionAlone) {
  Start([](const HttpRequest&) { return HttpReply{.status = 200, .body = "well"}; });
  const std::string long_header = absl::StrCat("GET / HTTP/1.1\r\nX: ", std::string(100'000, 'x'));
  for (const std::string& garbage :
       {std::string("\0\0\0\0\r\n\r\n", 8), std::string("GET"),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("\r\n\r\n\r\n"),
        std::string("GET /%zz%00%ff HTTP/1.1\r\n\r\n"),
        absl::StrCat("GET /", std::string(100'000, 'a'), " HTTP/1.1\r\n\r\n"),
        absl::StrCat(long_header, "\r\n\r\n"), std::string(10'000, '\xff')}) {
    HttpsClient client(server_->port());
    client.Send(garbage);
  }
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), HasSubstr("well"));
}

TEST_F(HttpServerTest, AStreamGoesOnAndEnds) {
  auto waker = std::make_shared<StreamWaker>();
  Start([&](const HttpRequest&) {
    HttpReply reply = {.status = 200, .content_type = "text/event-stream"};
    reply.stream = std::make_shared<HttpStream>(std::make_unique<Talker>("data: x\n\n", 2), waker);
    return reply;
  });
  HttpsClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("data: x"), HasSubstr("text/event-stream"));
  waker->Wake();
  waker->End();
  EXPECT_THAT(client.ReadUntil("\r\n0\r\n"), HasSubstr("\r\n0\r\n"));  // the last chunk
  waker->Wake();                                                       // outlives its stream
}

TEST_F(HttpServerTest, AServerEndsWhileStreamsSleep) {
  Start([](const HttpRequest&) {
    HttpReply reply = {.status = 200, .content_type = "text/event-stream"};
    reply.stream = std::make_shared<HttpStream>(std::make_unique<Talker>("data: x\n\n", 1),
                                                std::make_shared<StreamWaker>());
    return reply;
  });
  HttpsClient one(server_->port()), other(server_->port());
  for (HttpsClient* client : {&one, &other}) {
    client->Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client->ReadUntil("data: x");
  }
  server_.reset();  // libmicrohttpd would end the process if one of them still slept
}

TEST_F(HttpServerTest, AReplyMayComeLater) {
  std::vector<std::shared_ptr<LaterReply>> awaited = {std::make_shared<LaterReply>(),
                                                      std::make_shared<LaterReply>()};
  std::atomic<size_t> asked = 0;
  Start([&](const HttpRequest& request) {
    if (request.path == "/now") return HttpReply{.status = 200, .body = "at once"};
    HttpReply reply;
    reply.later = awaited[asked++];
    return reply;
  });
  const std::string end = " HTTP/1.1\r\nHost: h\r\n\r\n";
  HttpsClient one(server_->port()), other(server_->port());
  one.Send("GET /one" + end);
  while (asked < 1) absl::SleepFor(absl::Milliseconds(1));
  other.Send("GET /other" + end);
  while (asked < 2) absl::SleepFor(absl::Milliseconds(1));
  // The server's only thread is free.
  HttpsClient third(server_->port());
  third.Send("GET /now" + end);
  EXPECT_THAT(third.ReadUntil("at once"), HasSubstr("at once"));
  awaited[1]->Finish({.status = 502, .body = "no such thing"});
  awaited[1]->Finish({.status = 200, .body = "too late"});
  EXPECT_THAT(other.ReadUntil("no such thing"),
              AllOf(StartsWith("HTTP/1.1 502"), HasSubstr("no such thing")));
  // The connection takes another request.
  other.Send("GET /now" + end);
  EXPECT_THAT(other.ReadUntil("at once"), HasSubstr("at once"));
  server_.reset();  // ends the one that is still awaited
  EXPECT_THAT(one.ReadAll(), ::testing::AnyOf(StartsWith("HTTP/1.1 503"), ""));
  awaited[0]->Finish({.status = 200, .body = "outlives its server"});
}

TEST_F(HttpServerTest, WhoTakesNothingIsCut) {
  options_.idle_seconds = 1;
  std::weak_ptr<HttpStream> stream;
  Start([&](const HttpRequest&) {
    HttpReply reply = {.status = 200, .content_type = "text/event-stream"};
    // Far more than the kernel's buffers hold.
    reply.stream = std::make_shared<HttpStream>(
        std::make_unique<Talker>(std::string(1 << 20, 'x'), 1000), std::make_shared<StreamWaker>());
    stream = reply.stream;
    return reply;
  });
  HttpsClient client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil("text/event-stream");
  const absl::Time deadline = absl::Now() + absl::Seconds(15);
  while (!stream.expired() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_TRUE(stream.expired());
}

}  // namespace
}  // namespace muster::controller
