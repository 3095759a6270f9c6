// The web page of a whole controller: links, sessions, who may see what, and events.
#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "controller/validation/verdict/result_blob.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/user.grpc.pb.h"
#include "muster/v1/web.grpc.pb.h"
#include "tests/fixtures/https_client.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::HttpsClient;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A session of the page, and what proves that a request comes from it.
struct PageSession {
  std::string cookie;  // "Cookie: …\r\n"
  std::string token;

  std::string headers() const { return absl::StrCat(cookie, "X-Muster-Page: ", token, "\r\n"); }
};

class WebFlowTest : public ControllerFixture {
 protected:
  v1::CreateLoginResponse MakeLink(const ClientIdentity& identity) {
    const auto stub = v1::WebService::NewStub(Connect(controller_->port(), identity));
    grpc::ClientContext context;
    v1::CreateLoginResponse response;
    const grpc::Status status = stub->CreateLogin(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static std::string TokenOf(const v1::CreateLoginResponse& link) {
    return link.url().substr(link.url().rfind('/') + 1);
  }
  std::string Ask(const std::string& method_and_path, const std::string& headers = "",
                  const std::string& body = "") {
    HttpsClient client(controller_->web_port());
    client.Send(absl::StrCat(method_and_path, " HTTP/1.1\r\nHost: login1:7482\r\n", headers,
                             "Content-Length: ", body.size(), "\r\nConnection: close\r\n\r\n",
                             body));
    return client.ReadAll();
  }
  std::string Post(const std::string& path, const std::string& body,
                   const std::string& headers = "") {
    return Ask("POST " + path, "X-Muster-Page: 1\r\n" + headers, body);
  }
  std::string LogOut(const PageSession& session) {
    return Ask("POST /api/logout", session.headers());
  }
  // The session of whoever follows the link.
  PageSession SessionFor(const ClientIdentity& identity) {
    const std::string answer = Post("/api/login", TokenOf(MakeLink(identity)));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    const size_t at = answer.find("Set-Cookie: ");
    if (at == std::string::npos) return {};
    const std::string cookie = answer.substr(at + 12);
    return {absl::StrCat("Cookie: ", cookie.substr(0, cookie.find(';')), "\r\n"),
            BodyOf(answer)["token"].get<std::string>()};
  }
  // The headers of its requests.
  std::string LogIn(const ClientIdentity& identity) { return SessionFor(identity).headers(); }
  static nlohmann::json BodyOf(const std::string& answer) {
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
  }
  std::vector<std::string> AuditedActions() {
    const auto stub =
        v1::EventService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "ada")));
    grpc::ClientContext context;
    v1::ListEventsResponse response;
    EXPECT_TRUE(stub->ListEvents(&context, {}, &response).ok());
    std::vector<std::string> actions;
    for (const v1::Event& event : response.events())
      actions.push_back(absl::StrCat(event.action(), " ", event.actor()));
    return actions;
  }
};

TEST_F(WebFlowTest, ALinkLogsInOnce) {
  const v1::CreateLoginResponse link = MakeLink(Issue(Role::kViewer, "victor"));
  EXPECT_THAT(link.url(),
              StartsWith(absl::StrCat("https://localhost:", controller_->web_port(), "/#/login/")));
  EXPECT_TRUE(link.is_local());
  const std::string answer = Post("/api/login", TokenOf(link));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Set-Cookie: __Host-muster="),
                            HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=")));
  EXPECT_EQ(BodyOf(answer)["name"], "victor");
  EXPECT_EQ(BodyOf(answer)["role"], "viewer");
  const std::string again = Post("/api/login", TokenOf(link));
  EXPECT_THAT(again, AllOf(StartsWith("HTTP/1.1 401"), Not(HasSubstr("Set-Cookie"))));
  EXPECT_THAT(AuditedActions(),
              AllOf(Contains("web.link viewer:victor"), Contains("web.login viewer:victor")));
}

TEST_F(WebFlowTest, StrangersGetThePagesFilesAlone) {
  EXPECT_THAT(Ask("GET /"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("<!doctype html>")));
  EXPECT_THAT(Ask("GET /app.js"), HasSubstr("Content-Type: text/javascript; charset=utf-8"));
  for (const std::string path :
       {"/api/session", "/api/overview", "/api/status", "/api/node?name=c001", "/api/runs",
        "/api/audit", "/api/timeline", "/api/health", "/api/events",
        "/api/events/run?id=r-00000000", "/api/nothing"}) {
    const std::string answer = Ask("GET " + path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 401")) << path;
    EXPECT_THAT(answer, Not(HasSubstr("c001"))) << path;
    EXPECT_THAT(Ask("GET " + path, "Cookie: __Host-muster=" + std::string(64, 'a') + "\r\n"),
                StartsWith("HTTP/1.1 401"))
        << path;
  }
  for (const std::string path : {"/../etc/passwd", "/%2e%2e/etc/passwd", "/app.js/", "//", "/.",
                                 "/index.html%00", "/controller.key"}) {
    EXPECT_THAT(Ask("GET " + path), StartsWith("HTTP/1.1 404")) << path;
  }
}

TEST_F(WebFlowTest, AnswersAreThoseOfTheCalls) {
  const std::string page = LogIn(Issue(Role::kViewer, "victor"));
  const nlohmann::json overview = BodyOf(Ask("GET /api/overview", page));
  ASSERT_EQ(overview["nodes"].size(), 3u);
  EXPECT_EQ(overview["nodes"][0][0], "c001");
  EXPECT_EQ(BodyOf(Ask("GET /api/status", page))["cluster"], "test");
  EXPECT_EQ(BodyOf(Ask("GET /api/node?name=c002", page))["node"]["role"], "compute");
  EXPECT_EQ(BodyOf(Ask("GET /api/runs", page))["runs"].size(), 0u);
  EXPECT_EQ(BodyOf(Ask("GET /api/rollouts", page))["rollouts"].size(), 0u);
  EXPECT_EQ(BodyOf(Ask("GET /api/validations?node=c001", page))["validations"].size(), 0u);
  for (const std::string path :
       {"/api/node?name=c009", "/api/node", "/api/run?id=r-00000000", "/api/rollout?id=u-00000000",
        "/api/validation?id=x", "/api/events/run?id=r-00000000", "/api/events/x"}) {
    const std::string answer = Ask("GET " + path, page);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404")) << path;
    EXPECT_FALSE(BodyOf(answer)["error"].empty()) << path;
  }
  EXPECT_THAT(Ask("GET /api/run", page), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET /api/node/facts?name=c001", page), StartsWith("HTTP/1.1 404"));
}

TEST_F(WebFlowTest, WhatWasMeasuredBetweenNodes) {
  controller_.reset();
  {
    const std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord validation;
      validation.validation_id = "v-00000001";
      validation.state = ValidationRecord::kDone;
      RETURN_IF_ERROR(txn.validations().Put(validation));
      for (const char* name : {"c001", "c002"}) {
        RETURN_IF_ERROR(txn.validations().PutNode({validation.validation_id, name, name}));
        ValidationCheckRecord check;
        check.check_id = absl::StrCat("check-", name);
        check.validation_id = validation.validation_id;
        check.node = name;
        check.members = "c001 c002";
        check.name = "nic-bandwidth";
        RETURN_IF_ERROR(txn.validation_checks().Put(check));
        v1::CheckResult result;
        result.set_check(check.name);
        v1::Metric& metric = *result.add_metrics();
        metric.set_name("throughput_mean");
        metric.set_unit("Gbit/s");
        metric.set_value(name == std::string("c001") ? 93.12345678 : 41);
        RETURN_IF_ERROR(txn.validation_checks().PutResult(
            {check.check_id, absl::Now(), validation::PackResult(result), ""}));
      }
      return absl::OkStatus();
    }));
  }
  Start();
  const std::string page = LogIn(Issue(Role::kViewer, "victor"));
  const nlohmann::json maps = BodyOf(Ask("GET /api/validation/pairs?id=v-00000001", page))["maps"];
  ASSERT_EQ(maps.size(), 1u) << maps;
  EXPECT_EQ(maps[0], nlohmann::json::parse(R"({
    "title": "nic-bandwidth: throughput mean", "unit": "Gbit/s", "names": ["c001", "c002"],
    "cells": [[0, 1, 93.12], [1, 0, 41.0]]})"));
  EXPECT_THAT(Ask("GET /api/validation/pairs?id=v-x", page), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("GET /api/validation/pairs?id=v-00000001"), StartsWith("HTTP/1.1 401"));
}

TEST_F(WebFlowTest, TheOneTableSaysWhoMaySeeWhat) {
  EXPECT_THAT(Ask("GET /api/audit", LogIn(Issue(Role::kViewer, "victor"))),
              StartsWith("HTTP/1.1 403"));
  const std::string operators = LogIn(Issue(Role::kOperator, "otto"));
  EXPECT_GE(BodyOf(Ask("GET /api/audit", operators))["events"].size(), 3u);
  EXPECT_THAT(Ask("GET /api/audit?before=x", operators), StartsWith("HTTP/1.1 400"));
}

TEST_F(WebFlowTest, CopiesAreAskedAboutAndNotSentAgain) {
  const std::string page = LogIn(Issue(Role::kViewer, "victor"));
  for (const std::string path : {"/app.js", "/api/overview"}) {
    const std::string answer = Ask("GET " + path, page);
    EXPECT_THAT(answer, HasSubstr("Cache-Control: no-cache")) << path;
    const std::string etag = answer.substr(answer.find("ETag: ") + 6, 34);
    const std::string again =
        Ask("GET " + path, absl::StrCat(page, "If-None-Match: ", etag, "\r\n"));
    EXPECT_THAT(again, StartsWith("HTTP/1.1 304")) << path;
    EXPECT_LT(again.size(), 1500u) << path;
  }
  EXPECT_THAT(Ask("GET /app.js", "Accept-Encoding: gzip, br\r\n"),
              HasSubstr("Content-Encoding: gzip"));
  EXPECT_THAT(Ask("GET /api/session", page), HasSubstr("Cache-Control: no-store"));
}

TEST_F(WebFlowTest, EveryReplyHasTheSecurityHeaders) {
  for (const std::string request :
       {"GET /", "GET /nothing", "GET /api/overview", "POST /api/login"}) {
    const std::string answer = Ask(request);
    for (const char* const header :
         {"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
          "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'\r\n",
          "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
          "Cache-Control: no-"}) {
      EXPECT_THAT(answer, HasSubstr(header)) << request;
    }
    // It would hold for every port of the host.
    EXPECT_THAT(answer, Not(HasSubstr("Strict-Transport-Security"))) << request;
  }
}

TEST_F(WebFlowTest, OtherSitesCannotLogAnybodyInOrOut) {
  const std::string token = TokenOf(MakeLink(Issue(Role::kViewer, "victor")));
  EXPECT_THAT(Ask("POST /api/login", "", token), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/api/login", token, "Sec-Fetch-Site: cross-site\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET /api/login"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Post("/api/login", std::string(5000, 'a')), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Post("/api/login", token, "Sec-Fetch-Site: same-origin\r\n"),
              StartsWith("HTTP/1.1 200"));
}

class WebActionTest : public WebFlowTest {
 protected:
  void SetUp() override {
    WebFlowTest::SetUp();
    controller_.reset();
    StoreNode("c001", "11111111-1111-4111-8111-111111111111");
    Start();
  }
  PageSession Open(Role role, const std::string& name) { return SessionFor(Issue(role, name)); }
  std::string Act(const std::string& path, const PageSession& session, const std::string& body,
                  const std::string& headers = "Origin: https://login1:7482\r\n") {
    return Ask("POST " + path, session.headers() + headers, body);
  }
  // Entries of the audit log that are about nodes' drains.
  size_t Drains() {
    const std::vector<std::string> actions = AuditedActions();
    return static_cast<size_t>(std::count_if(
        actions.begin(), actions.end(),
        [](const std::string& action) { return absl::StartsWith(action, "node.drain"); }));
  }

  static constexpr char kDrain[] = R"({"nodes": "c001", "reason": "fans <b>out</b>"})";
};

TEST_F(WebActionTest, AnOperatorDrainsAndResumesLikeTheCommandLine) {
  const PageSession otto = Open(Role::kOperator, "otto");
  const std::string drained = Act("/api/node/drain", otto, kDrain);
  EXPECT_THAT(drained, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(BodyOf(drained)["nodes"][0], "c001");
  EXPECT_THAT(AuditedActions(), Contains("node.drain operator:otto"));
  const nlohmann::json events =
      BodyOf(Ask("GET /api/timeline?nodes=c001&kind=node.drain", otto.headers()))["events"];
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["actor"], "operator:otto");
  EXPECT_EQ(events[0]["text"], "fans <b>out</b>");
  EXPECT_THAT(Act("/api/node/resume", otto, R"({"nodes": "c001"})"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(AuditedActions(), Contains("node.resume operator:otto"));
  // The call's own rules.
  EXPECT_THAT(Act("/api/node/drain", otto, R"({"nodes": "c001"})"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Act("/api/node/drain", otto, R"({"nodes": "c999", "reason": "x"})"),
              Not(StartsWith("HTTP/1.1 200")));
  EXPECT_THAT(Act("/api/rollout/pause", otto, R"({"id": "u-00000000"})"),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Act("/api/rollout/resume", otto, R"({"id": "x"})"), Not(StartsWith("HTTP/1.1 200")));
  EXPECT_EQ(Drains(), 1u);
}

TEST_F(WebActionTest, AnOperatorSilencesAndEndsTheSilence) {
  const PageSession otto = Open(Role::kOperator, "otto");
  const std::string answer =
      Act("/api/silence", otto,
          R"({"nodes": "c001", "condition": "gpu_lost", "seconds": 7200, "reason": "known"})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  const std::string id = BodyOf(answer)["silence"]["silence_id"].get<std::string>();
  EXPECT_EQ(BodyOf(answer)["silence"]["created_by"], "operator:otto");
  EXPECT_THAT(Act("/api/silence/end", otto, absl::StrCat(R"({"id": ")", id, R"("})")),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(AuditedActions(), AllOf(Contains("silence.create operator:otto"),
                                      Contains("silence.delete operator:otto")));
  EXPECT_THAT(Act("/api/silence", otto, R"({"nodes": "c001", "reason": "x", "seconds": 1})"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Act("/api/silence", otto, R"({"nodes": "c001", "reason": "x", "seconds": "7200"})"),
              StartsWith("HTTP/1.1 400"));
}

TEST_F(WebActionTest, ViewersChangeNothing) {
  const PageSession victor = Open(Role::kViewer, "victor");
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/api/node/drain", kDrain},
           {"/api/node/resume", R"({"nodes": "c001"})"},
           {"/api/rollout/pause", R"({"id": "u-00000000"})"},
           {"/api/rollout/resume", R"({"id": "u-00000000"})"},
           {"/api/silence", R"({"nodes": "c001", "seconds": 7200, "reason": "x"})"},
           {"/api/silence/end", R"({"id": "s-00000000"})"}}) {
    const std::string answer = Act(path, victor, body);
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("victor is a viewer"))) << path;
  }
  EXPECT_EQ(Drains(), 0u);
  EXPECT_THAT(Ask("GET /api/timeline", victor.headers()), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /api/health?nodes=c001", victor.headers()), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebActionTest, OnlyThePageOfTheSessionActs) {
  const PageSession otto = Open(Role::kOperator, "otto");
  const PageSession other = Open(Role::kOperator, "olga");
  const std::string own = "Origin: https://login1:7482\r\n";
  // No session, no token, a token that any page could set, and that of another session.
  EXPECT_THAT(Act("/api/node/drain", {"", otto.token}, kDrain), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask("POST /api/node/drain", otto.cookie + own, kDrain), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Act("/api/node/drain", {otto.cookie, "1"}, kDrain), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Act("/api/node/drain", {otto.cookie, other.token}, kDrain),
              StartsWith("HTTP/1.1 401"));
  // Other origins, whatever else the request has.
  for (const std::string origin : {"https://evil.example.org", "http://login1:7482", "null",
                                   "https://login1:7483", "https://login1:7482.evil.example.org"}) {
    EXPECT_THAT(Act("/api/node/drain", otto, kDrain, "Origin: " + origin + "\r\n"),
                StartsWith("HTTP/1.1 403"))
        << origin;
  }
  for (const std::string site : {"cross-site", "same-site", "none"}) {
    EXPECT_THAT(Act("/api/node/drain", otto, kDrain, own + "Sec-Fetch-Site: " + site + "\r\n"),
                StartsWith("HTTP/1.1 403"))
        << site;
  }
  EXPECT_THAT(Ask("GET /api/node/drain?nodes=c001&reason=x", otto.headers()),
              StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(Drains(), 0u);
  EXPECT_THAT(Act("/api/node/drain", otto, kDrain, own + "Sec-Fetch-Site: same-origin\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(Drains(), 1u);
}

TEST_F(WebActionTest, NothingIsReplayedAfterLogout) {
  const PageSession otto = Open(Role::kOperator, "otto");
  LogOut(otto);
  EXPECT_THAT(Act("/api/node/drain", otto, kDrain), StartsWith("HTTP/1.1 401"));
  const PageSession again = Open(Role::kOperator, "otto");
  EXPECT_NE(again.token, otto.token);
  EXPECT_THAT(Act("/api/node/drain", {again.cookie, otto.token}, kDrain),
              StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(Drains(), 0u);
}

TEST_F(WebActionTest, BodiesAreSmallAndFlat) {
  const PageSession otto = Open(Role::kOperator, "otto");
  EXPECT_THAT(
      Act("/api/node/drain", otto,
          absl::StrCat(R"({"nodes": "c001", "reason": ")", std::string(5000, 'x'), R"("})")),
      StartsWith("HTTP/1.1 413"));
  const std::string nested(2000, '[');
  for (const absl::string_view body : std::initializer_list<absl::string_view>{
           "", "nodes=c001&reason=x", "[]", "1", R"({"nodes": ["c001"], "reason": "x"})",
           R"({"nodes": {"c": 1}, "reason": "x"})", R"({"nodes": null, "reason": "x"})",
           R"({"nodes": "c001", "reason": "\xff"})", R"({"nodes": "c001", )", nested}) {
    EXPECT_THAT(Act("/api/node/drain", otto, std::string(body)), StartsWith("HTTP/1.1 400"))
        << body;
  }
  EXPECT_THAT(Act("/api/node/explode", otto, kDrain), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(Drains(), 0u);
}

TEST_F(WebFlowTest, LogoutEndsTheSession) {
  const PageSession session = SessionFor(Issue(Role::kViewer, "victor"));
  EXPECT_THAT(Ask("GET /api/session", session.headers()), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(LogOut(session), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("__Host-muster=;"),
                                     HasSubstr("Max-Age=0")));
  EXPECT_THAT(Ask("GET /api/session", session.headers()), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(AuditedActions(), Contains("web.logout viewer:victor"));
}

// A browser gives it to whatever else listens on a port of the same host.
TEST_F(WebFlowTest, TheCookieAloneIsNoSession) {
  const PageSession session = SessionFor(Issue(Role::kOperator, "otto"));
  const PageSession other = SessionFor(Issue(Role::kOperator, "olga"));
  for (const std::string path : {"/api/session", "/api/overview", "/api/node?name=c001",
                                 "/api/audit", "/api/events", "/api/events/run?id=r-00000000"}) {
    EXPECT_THAT(Ask("GET " + path, session.cookie), StartsWith("HTTP/1.1 401")) << path;
    for (const std::string& token : {std::string("1"), std::string(64, 'a'), other.token}) {
      EXPECT_THAT(Ask("GET " + path, PageSession{session.cookie, token}.headers()),
                  StartsWith("HTTP/1.1 401"))
          << path;
    }
  }
  Post("/api/logout", "", session.cookie);
  const std::string answer = Ask("GET /api/session", session.headers());
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr(session.token))));
  EXPECT_FALSE(BodyOf(answer).contains("token"));
}

TEST_F(WebFlowTest, StreamsTellOfChangesAndEndWithTheSession) {
  const PageSession session = SessionFor(Issue(Role::kViewer, "victor"));
  HttpsClient client(controller_->web_port());
  client.Send(absl::StrCat("GET /api/events HTTP/1.1\r\nHost: h\r\n", session.headers(), "\r\n"));
  EXPECT_THAT(client.ReadUntil("event: status"),
              AllOf(HasSubstr("text/event-stream"), HasSubstr("retry: 2000"),
                    HasSubstr("event: overview\ndata: \"")));
  LogOut(session);
  EXPECT_THAT(client.ReadUntil("\r\n0\r\n"), HasSubstr("\r\n0\r\n"));
}

TEST_F(WebFlowTest, AStreamOfARunTellsItsEventsAndEnds) {
  controller_->Shutdown();
  controller_.reset();
  std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RunRecord run;
    run.run_id = "r-7k3m9q2x";
    run.state = RunRecord::kSucceeded;
    run.created_by = "admin:ada";
    run.created_at = run.finished_at.emplace(absl::Now());
    RETURN_IF_ERROR(txn.runs().Put(run));
    for (const char* const name : {"c001", "c002"}) {
      RunNodeRecord node;
      node.run_id = run.run_id;
      node.node = name;
      node.state = "done";
      node.changed = 7;
      RETURN_IF_ERROR(txn.runs().PutNode(node));
    }
    // The newest of a node is told, and one that changed nothing is not told at all.
    uint64_t sequence = 0;
    for (const v1::StepStatus status : {v1::STEP_STATUS_CHANGED, v1::STEP_STATUS_OK}) {
      v1::StepResult step;
      step.set_name(v1::StepStatus_Name(status));
      step.set_status(status);
      RETURN_IF_ERROR(txn.step_results().Put({.run_id = run.run_id,
                                              .node = "c003",
                                              .sequence = ++sequence,
                                              .step_id = step.name(),
                                              .status = status,
                                              .result = step.SerializeAsString(),
                                              .time = run.created_at}));
    }
    return absl::OkStatus();
  }));
  store.reset();
  Start();
  const std::string page = LogIn(Issue(Role::kViewer, "victor"));
  EXPECT_EQ(BodyOf(Ask("GET /api/run?id=r-7k3m9q2x", page))["run"]["nodes"].size(), 2u);
  HttpsClient client(controller_->web_port());
  client.Send(
      absl::StrCat("GET /api/events/run?id=r-7k3m9q2x HTTP/1.1\r\nHost: h\r\n", page, "\r\n"));
  EXPECT_THAT(
      client.ReadUntil("\r\n0\r\n"),
      AllOf(HasSubstr("event: change\ndata: ["), HasSubstr("\"node\":\"c001\""),
            HasSubstr("\"changed\":7"), HasSubstr("\"name\":\"STEP_STATUS_CHANGED\""),
            Not(HasSubstr("\"name\":\"STEP_STATUS_OK\"")), HasSubstr("event: end\ndata: {}")));
}

// A page that follows some work needs no second stream: a browser has few connections.
TEST_F(WebFlowTest, AStreamOfARolloutAlsoTellsOfChangesOfTheCluster) {
  controller_->Shutdown();
  controller_.reset();
  std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
  ASSERT_OK(store->Update([](Transaction& txn) -> absl::Status {
    RolloutRecord rollout;
    rollout.rollout_id = "u-7k3m9q2x";
    rollout.state = v1::ROLLOUT_STATE_PAUSED;
    rollout.created_by = "admin:ada";
    rollout.created_at = absl::Now();
    rollout.inventory_revision = 1;
    RETURN_IF_ERROR(txn.rollouts().Put(rollout));
    RolloutNodeRecord node;
    node.rollout_id = rollout.rollout_id;
    node.node = "c001";
    node.step = v1::ROLLOUT_STEP_PENDING;
    node.since = rollout.created_at;
    return txn.rollouts().PutNode(node);
  }));
  store.reset();
  Start();
  const PageSession session = SessionFor(Issue(Role::kViewer, "victor"));
  HttpsClient client(controller_->web_port());
  client.Send(absl::StrCat("GET /api/events/rollout?id=u-7k3m9q2x HTTP/1.1\r\nHost: h\r\n",
                           session.headers(), "\r\n"));
  EXPECT_THAT(client.ReadUntil("event: status"),
              AllOf(HasSubstr("event: overview\ndata: \""), HasSubstr("event: status")));
}

TEST_F(WebFlowTest, ARevokedPersonsSessionsAndStreamsEndAtOnce) {
  const auto people =
      v1::UserService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "ada")));
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("eve").value();
  v1::CreateUserRequest create;
  create.set_name("eve");
  create.set_role("viewer");
  create.set_csr_pem(key.csr_pem);
  v1::CreateUserResponse created;
  grpc::ClientContext creating;
  ASSERT_TRUE(people->CreateUser(&creating, create, &created).ok());
  const ClientIdentity eve = {key.key_pem, created.certificate_pem()};
  const std::string unused = TokenOf(MakeLink(eve));
  const std::string page = LogIn(eve);
  const std::string other = LogIn(Issue(Role::kViewer, "victor"));
  HttpsClient stream(controller_->web_port());
  stream.Send(absl::StrCat("GET /api/events HTTP/1.1\r\nHost: h\r\n", page, "\r\n"));
  stream.ReadUntil("retry");

  v1::RevokeUserRequest revoke;
  revoke.set_name("eve");
  v1::RevokeUserResponse revoked;
  grpc::ClientContext revoking;
  ASSERT_TRUE(people->RevokeUser(&revoking, revoke, &revoked).ok());
  EXPECT_THAT(Ask("GET /api/overview", page), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/api/login", unused), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(stream.ReadUntil("\r\n0\r\n"), HasSubstr("\r\n0\r\n"));
  EXPECT_THAT(Ask("GET /api/overview", other), StartsWith("HTTP/1.1 200"));
}

TEST_F(WebFlowTest, OnePersonHasSoManyStreams) {
  const std::string page = LogIn(Issue(Role::kViewer, "victor"));
  const std::string request = absl::StrCat("GET /api/events HTTP/1.1\r\nHost: h\r\n", page, "\r\n");
  std::vector<std::unique_ptr<HttpsClient>> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::make_unique<HttpsClient>(controller_->web_port()));
    clients.back()->Send(request);
    EXPECT_THAT(clients.back()->ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  }
  HttpsClient last(controller_->web_port());
  last.Send(request);
  EXPECT_THAT(last.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 429"));
}

TEST_F(WebFlowTest, CanBeOff) {
  controller_->Shutdown();
  controller_.reset();
  config_.web_listen = "off";
  Start();
  EXPECT_EQ(controller_->web_port(), 0);
  const auto stub =
      v1::WebService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "victor")));
  grpc::ClientContext context;
  v1::CreateLoginResponse response;
  const grpc::Status status = stub->CreateLogin(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(response.url(), "");
}

TEST_F(WebFlowTest, LinksNameTheAddressThatPeopleUse) {
  controller_->Shutdown();
  controller_.reset();
  config_.web_address = "muster.example.org:443";
  Start();
  const v1::CreateLoginResponse link = MakeLink(Issue(Role::kViewer, "victor"));
  EXPECT_THAT(link.url(), StartsWith("https://muster.example.org:443/#/login/"));
  EXPECT_FALSE(link.is_local());
}

TEST_F(WebFlowTest, ACertificateThatCannotBeUsedKeepsNobodyFromTheController) {
  Write("empty.crt", "");
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("web").value();
  Write("web.key", key.key_pem);
  Write("web.crt",
        pki::SignCsr(authority_, key.csr_pem, {.common_name = "web", .dns_sans = {"localhost"}},
                     {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)},
                     pki::Usage::kServer)
            .value());
  struct Case {
    const char* certificate;
    const char* key;
    std::string served;  // the name in the certificate
  };
  for (const Case& c :
       {Case{"web.crt", "web.key", "web"}, Case{"web.crt", "pki/controller.key", "controller"},
        Case{"none.crt", "web.key", "controller"}, Case{"empty.crt", "web.key", "controller"},
        Case{"web.crt", "none.key", "controller"}}) {
    SCOPED_TRACE(absl::StrCat(c.certificate, " ", c.key));
    controller_.reset();
    config_.web_certificate = folder_ / c.certificate;
    config_.web_key = folder_ / c.key;
    Start();
    EXPECT_THAT(HttpsClient(controller_->web_port()).CertificateName(), HasSubstr(c.served));
  }
}

}  // namespace
}  // namespace muster::controller
