#include "controller/web/web_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/value/proto_value.h"
#include "controller/audit/audit.h"
#include "controller/http/http_stream.h"
#include "controller/http/later_reply.h"
#include "controller/service/front/give_way.h"
#include "controller/service/node_service.h"
#include "controller/store/store.h"
#include "controller/web/actions.h"
#include "controller/web/endpoints.h"
#include "controller/web/json_text.h"
#include "controller/web/overview.h"
#include "controller/web/page_files.h"

namespace muster::controller {
namespace {

constexpr char kJson[] = "application/json";
constexpr absl::string_view kEvents = "/api/events";
constexpr absl::string_view kListNodes = "/muster.v1.NodeService/ListNodes";
constexpr absl::string_view kGetStatus = "/muster.v1.NodeService/GetStatus";
// The list of nodes, half as old as the pages that are made from it.
constexpr absl::Duration kOldestNodes = absl::Milliseconds(250);
// Shorter texts are not worth compressing.
constexpr size_t kMinGzipBytes = 1024;

// With every reply. The page loads its own files and nothing else, runs no script but these, is in
// no frame and tells no other site where somebody came from. Not among them:
// Strict-Transport-Security, which holds for a host's name whatever the port, and would lock people
// out of everything else that the host serves without TLS.
constexpr std::pair<const char*, const char*> kSecurityHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
};

struct StatusRow {
  absl::StatusCode code;
  unsigned http;
};
constexpr StatusRow kStatuses[] = {
    {absl::StatusCode::kInvalidArgument, 400},    {absl::StatusCode::kUnauthenticated, 401},
    {absl::StatusCode::kPermissionDenied, 403},   {absl::StatusCode::kNotFound, 404},
    {absl::StatusCode::kFailedPrecondition, 409}, {absl::StatusCode::kResourceExhausted, 429},
    {absl::StatusCode::kUnavailable, 503},
};
constexpr unsigned kInternalError = 500;

HttpReply ErrorReply(const absl::Status& error) {
  const auto row = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                [&](const StatusRow& each) { return each.code == error.code(); });
  return {.status = row == std::end(kStatuses) ? kInternalError : row->http,
          .content_type = kJson,
          .body = ToJsonText({{"error", std::string(error.message())}})};
}

bool TakesGzip(const HttpRequest& request) {
  return absl::StrContains(request.Header("accept-encoding"), "gzip");
}

// As much of the page as the browser lacks. A browser asks each time whether its copy is current.
HttpReply PageReply(const RenderedPage& page, absl::string_view content_type,
                    const HttpRequest& request) {
  HttpReply reply = {.status = 200, .content_type = std::string(content_type)};
  reply.headers = {{"ETag", page.etag}, {"Cache-Control", "no-cache"}, {"Vary", "Accept-Encoding"}};
  if (request.Header("if-none-match") == page.etag) {
    reply.status = 304;
  } else if (TakesGzip(request) && page.text.size() >= kMinGzipBytes && !page.gzip.empty()) {
    reply.headers.emplace_back("Content-Encoding", "gzip");
    reply.body = page.gzip;
  } else {
    reply.body = page.text;
  }
  return reply;
}

HttpReply JsonReply(std::string text, const HttpRequest& request) {
  HttpReply reply = {.status = 200, .content_type = kJson};
  reply.headers = {{"Cache-Control", "no-store"}, {"Vary", "Accept-Encoding"}};
  if (TakesGzip(request) && text.size() >= kMinGzipBytes) {
    if (std::string packed = Gzip(text); !packed.empty()) {
      reply.headers.emplace_back("Content-Encoding", "gzip");
      text = std::move(packed);
    }
  }
  reply.body = std::move(text);
  return reply;
}

// Whether the request comes from the page itself, as far as the browser says. `Host` is what the
// browser asked for, also behind a proxy.
bool IsFromPage(const HttpRequest& request) {
  const absl::string_view site = request.Header("sec-fetch-site");
  const absl::string_view origin = request.Header("origin");
  return !request.Header(WebPage::kPageHeader).empty() && (site.empty() || site == "same-origin") &&
         (origin.empty() || origin == absl::StrCat("https://", request.Header("host")));
}

std::string Cookie(absl::string_view value, absl::Duration lasts) {
  return absl::StrCat(WebPage::kCookie, "=", value, "; Path=/; Secure; HttpOnly; SameSite=Strict",
                      "; Max-Age=", absl::ToInt64Seconds(lasts));
}

// The reply with the headers that all replies have.
HttpReply Secured(HttpReply reply) {
  for (const auto& [name, value] : kSecurityHeaders) reply.headers.emplace_back(name, value);
  const bool says_how_to_keep =
      std::any_of(reply.headers.begin(), reply.headers.end(),
                  [](const auto& header) { return header.first == "Cache-Control"; });
  if (!says_how_to_keep) reply.headers.emplace_back("Cache-Control", "no-store");
  return reply;
}

}  // namespace

WebPage::WebPage(WebCollaborators with)
    : with_(std::move(with)),
      nodes_(with_.clock, kOldestNodes,
             [this](const auto&) -> absl::StatusOr<std::shared_ptr<const std::vector<v1::Node>>> {
               ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, with_.nodes.ListWithoutDetails());
               return std::make_shared<const std::vector<v1::Node>>(std::move(nodes));
             }),
      overview_(
          with_.clock,
          [this]() -> absl::StatusOr<std::string> {
            ASSIGN_OR_RETURN(const auto nodes, nodes_.Get());
            return OverviewJson(*nodes, with_.inventory().get());
          },
          [this] { nodes_.Get().status().IgnoreError(); }),  // which make says
      status_(
          with_.clock,
          [this]() -> absl::StatusOr<std::string> {
            ASSIGN_OR_RETURN(const auto nodes, nodes_.Get());
            v1::GetStatusResponse status;
            RETURN_IF_ERROR(with_.nodes.FillStatus(*nodes, status));
            status.clear_store_bytes();  // changes all the time, and nobody looks at it here
            return ToJsonText(ProtoToValue(status));
          },
          [this] { nodes_.Get().status().IgnoreError(); }),
      events_(with_, {{"overview", overview_}, {"status", status_}}),
      tasks_(with_.clock) {
  for (const PageFile& file : PageFiles())
    files_.emplace(std::string(file.path), Render(std::string(file.text)));
}

HttpReply WebPage::Answer(const HttpRequest& request) {
  GiveWay();
  HttpReply reply;
  if (request.method == "POST") {
    reply = AnswerPost(request);
  } else if (!absl::StartsWith(request.path, "/api/")) {
    reply = AnswerFile(request);
  } else {
    const auto session = SessionOf(request);
    reply = session.ok() ? AnswerCall(request, *session) : ErrorReply(session.status());
  }
  return Secured(std::move(reply));
}

HttpReply WebPage::AnswerFile(const HttpRequest& request) const {
  const auto found = files_.find(request.path);
  if (found == files_.end()) return {.status = 404, .body = "not found; the page is at /\n"};
  const absl::Span<const PageFile> files = PageFiles();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const PageFile& each) { return each.path == request.path; });
  const bool is_text = absl::StartsWith(file->content_type, "text/");
  return PageReply(found->second,
                   absl::StrCat(file->content_type, is_text ? "; charset=utf-8" : ""), request);
}

HttpReply WebPage::AnswerShared(CachedPage& page, absl::string_view rpc, const HttpRequest& request,
                                const WebSessions::Ticket& session) {
  std::shared_ptr<const RenderedPage> rendered;
  const absl::StatusOr<std::string> called =
      CallInPlace(with_, session.identity, rpc, [&]() -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(rendered, page.Get());
        return "";
      });
  return called.ok() ? PageReply(*rendered, kJson, request) : ErrorReply(called.status());
}

absl::StatusOr<WebSessions::Ticket> WebPage::SessionOf(const HttpRequest& request) {
  return with_.sessions.Find(request.Cookie(kCookie), request.Header(kPageHeader));
}

HttpReply WebPage::AnswerSession(const WebSessions::Ticket& session, bool is_new) {
  nlohmann::ordered_json said = {{"name", session.identity.name},
                                 {"role", std::string(RoleName(session.identity.role))},
                                 {"ends_at", absl::ToUnixSeconds(session.ends_at)},
                                 {"cluster", with_.cluster},
                                 {"version", kVersion}};
  if (is_new) said["token"] = session.token;
  return {.status = 200, .content_type = kJson, .body = ToJsonText(said)};
}

HttpReply WebPage::AnswerCall(const HttpRequest& request, const WebSessions::Ticket& session) {
  if (request.path == "/api/session") return AnswerSession(session, /*is_new=*/false);
  if (request.path == "/api/overview") return AnswerShared(overview_, kListNodes, request, session);
  if (request.path == "/api/status") return AnswerShared(status_, kGetStatus, request, session);
  absl::string_view stream = request.path;
  if (absl::ConsumePrefix(&stream, kEvents)) {
    absl::StatusOr<HttpReply> reply = events_.Open(stream, request, session);
    return reply.ok() ? *std::move(reply) : ErrorReply(reply.status());
  }
  for (const Endpoint& endpoint : Endpoints()) {
    if (endpoint.path != request.path) continue;
    absl::StatusOr<std::string> json = CallInPlace(with_, session.identity, endpoint.rpc,
                                                   [&] { return endpoint.answer(with_, request); });
    return json.ok() ? JsonReply(*std::move(json), request) : ErrorReply(json.status());
  }
  return ErrorReply(absl::NotFoundError("there is no such path"));
}

HttpReply WebPage::AnswerPost(const HttpRequest& request) {
  if (!IsFromPage(request))
    return ErrorReply(absl::PermissionDeniedError("only the page itself may ask for this"));
  if (request.path == "/api/login") return LogIn(request);
  if (request.path == "/api/logout") return LogOut(request);
  return Act(request);
}

HttpReply WebPage::Act(const HttpRequest& request) {
  const absl::StatusOr<WebSessions::Ticket> session = SessionOf(request);
  if (!session.ok()) return ErrorReply(session.status());
  const Action* const action = FindAction(request.path);
  if (action == nullptr) return ErrorReply(absl::NotFoundError("there is no such path"));
  absl::StatusOr<nlohmann::json> fields = ReadFields(request.body);
  if (!fields.ok()) return ErrorReply(fields.status());
  // Slurm may take half a minute to answer: the page's few threads serve others meanwhile.
  auto later = std::make_shared<LaterReply>();
  const absl::Status taken = tasks_.Do(
      [this, action, later, request, identity = session->identity, fields = *std::move(fields)] {
        GiveWay();
        const Actor actor = {identity.Actor(), request.peer};
        absl::StatusOr<std::string> json = CallInPlace(
            with_, identity, action->rpc, [&] { return action->act(with_, actor, fields); });
        later->Finish(
            Secured(json.ok() ? JsonReply(*std::move(json), request) : ErrorReply(json.status())));
      });
  if (!taken.ok()) return ErrorReply(taken);
  HttpReply reply;
  reply.later = std::move(later);
  return reply;
}

absl::Status WebPage::Note(const HttpRequest& request, const Identity& identity,
                           absl::string_view action) {
  return with_.store.Update([&](Transaction& txn) {
    return Audit(txn, with_.clock.Now(), {identity.Actor(), request.peer}, action, identity.name);
  });
}

HttpReply WebPage::LogIn(const HttpRequest& request) {
  const absl::StatusOr<WebSessions::Ticket> session =
      with_.sessions.Redeem(absl::StripAsciiWhitespace(request.body));
  if (!session.ok()) return ErrorReply(session.status());
  if (const absl::Status noted = Note(request, session->identity, "web.login"); !noted.ok()) {
    with_.sessions.End(session->secret);
    return ErrorReply(noted);
  }
  HttpReply reply = AnswerSession(*session, /*is_new=*/true);
  reply.headers.emplace_back("Set-Cookie",
                             Cookie(session->secret, session->ends_at - with_.clock.Now()));
  return reply;
}

HttpReply WebPage::LogOut(const HttpRequest& request) {
  const absl::StatusOr<WebSessions::Ticket> session = SessionOf(request);
  if (session.ok()) {
    with_.sessions.End(session->secret);
    if (const absl::Status noted = Note(request, session->identity, "web.logout"); !noted.ok())
      return ErrorReply(noted);
  }
  HttpReply reply = {.status = 200, .content_type = kJson, .body = "{}"};
  reply.headers.emplace_back("Set-Cookie", Cookie("", absl::ZeroDuration()));
  return reply;
}

}  // namespace muster::controller
