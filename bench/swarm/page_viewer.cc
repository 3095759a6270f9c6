#include "bench/swarm/page_viewer.h"

#include <curl/curl.h>

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/status.h"

namespace muster::bench {
namespace {

constexpr char kCookieName[] = "__Host-muster";
constexpr char kBeforeToken[] = "\"token\":\"";

// Paths that a page's text names: of href="/app.css", from './api.js'.
void AddNamed(absl::string_view text, absl::string_view before, absl::string_view after,
              std::vector<std::string>& paths) {
  for (size_t at = 0; (at = text.find(before, at)) != absl::string_view::npos;) {
    at += before.size();
    const size_t end = text.find(after, at);
    if (end == absl::string_view::npos) return;
    paths.push_back(absl::StrCat("/", text.substr(at, end - at)));
  }
}

}  // namespace

// One connection, which is kept.
class PageViewer::Request {
 public:
  explicit Request(const PageViewer& viewer) : viewer_(viewer), curl_(curl_easy_init()) {
    curl_easy_setopt(curl_, CURLOPT_CAINFO, viewer.roots_.c_str());
    curl_easy_setopt(curl_, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_COOKIEFILE, "");
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Request::Write);
    curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, &Request::Progress);
    curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
    if (!viewer.cookie_.empty())
      curl_easy_setopt(curl_, CURLOPT_COOKIE,
                       absl::StrCat(kCookieName, "=", viewer.cookie_).c_str());
    // A login has no token yet, and needs the header all the same.
    const std::string token = viewer.token_.empty() ? "1" : viewer.token_;
    headers_ = curl_slist_append(nullptr, absl::StrCat("X-Muster-Page: ", token).c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
  }
  ~Request() {
    curl_easy_cleanup(curl_);
    curl_slist_free_all(headers_);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // `encoding`: "gzip" is unpacked; nullptr asks for none.
  absl::Status Do(absl::string_view path, const char* encoding) {
    body_.clear();
    curl_easy_setopt(curl_, CURLOPT_URL, absl::StrCat(viewer_.origin_, path).c_str());
    curl_easy_setopt(curl_, CURLOPT_ACCEPT_ENCODING, encoding);
    const CURLcode code = curl_easy_perform(curl_);
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK)
      return absl::UnavailableError(absl::StrCat(path, ": ", curl_easy_strerror(code)));
    if (status != 200)
      return absl::InternalError(absl::StrCat(path, " answers ", status, ": ", body_));
    return absl::OkStatus();
  }
  // Logs in with the secret of a link; returns the session's cookie. Its token is in body().
  absl::StatusOr<std::string> LogIn(const std::string& secret) {
    curl_easy_setopt(curl_, CURLOPT_COPYPOSTFIELDS, secret.c_str());
    RETURN_IF_ERROR(Do("/api/login", nullptr));
    curl_slist* cookies = nullptr;
    curl_easy_getinfo(curl_, CURLINFO_COOKIELIST, &cookies);
    std::string value;
    for (const curl_slist* each = cookies; each != nullptr; each = each->next) {
      const std::vector<std::string> fields = absl::StrSplit(each->data, '\t');
      if (fields.size() > 6 && fields[5] == kCookieName) value = fields[6];
    }
    curl_slist_free_all(cookies);
    if (value.empty()) return absl::InternalError("the login gives no cookie");
    return value;
  }
  // Reads until the viewer stops; `take` gets each piece.
  void Stream(absl::string_view path, std::function<void(absl::string_view)> take) {
    take_ = std::move(take);
    Do(path, nullptr).IgnoreError();
  }
  const std::string& body() const { return body_; }
  size_t wire_bytes() const {
    curl_off_t bytes = 0;
    curl_easy_getinfo(curl_, CURLINFO_SIZE_DOWNLOAD_T, &bytes);
    return static_cast<size_t>(bytes);
  }

 private:
  static size_t Write(char* data, size_t size, size_t count, void* self) {
    auto& request = *static_cast<Request*>(self);
    const absl::string_view piece(data, size * count);
    if (request.take_) {
      request.take_(piece);
    } else {
      absl::StrAppend(&request.body_, piece);
    }
    return size * count;
  }
  static int Progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Request*>(self)->viewer_.is_stopping_ ? 1 : 0;
  }

  const PageViewer& viewer_;
  CURL* const curl_;
  curl_slist* headers_ = nullptr;
  std::string body_;
  std::function<void(absl::string_view)> take_;
};

absl::StatusOr<std::unique_ptr<PageViewer>> PageViewer::LogIn(SwarmCluster& cluster) {
  ASSIGN_OR_RETURN(const std::string said, cluster.Ask({"web", "login"}));
  // "https://localhost:7482/#/login/5f0c…", in a line of its own.
  const size_t link = said.find("https://");
  const size_t place = said.find("/#/login/", link);
  if (link == std::string::npos || place == std::string::npos)
    return absl::InternalError(absl::StrCat("no link in: ", said));
  const size_t secret = place + std::string("/#/login/").size();
  std::unique_ptr<PageViewer> viewer(
      new PageViewer(said.substr(link, place - link), cluster.folder() + "/etc/pki/ca.crt"));
  Request login(*viewer);
  ASSIGN_OR_RETURN(viewer->cookie_,
                   login.LogIn(said.substr(secret, said.find('\n', secret) - secret)));
  const std::string& answer = login.body();
  const size_t token = answer.find(kBeforeToken);
  if (token == std::string::npos) return absl::InternalError("the login gives no token");
  const size_t begin = token + sizeof(kBeforeToken) - 1;
  viewer->token_ = answer.substr(begin, answer.find('"', begin) - begin);
  viewer->request_ = std::make_unique<Request>(*viewer);
  return viewer;
}

PageViewer::~PageViewer() {
  is_stopping_ = true;
  if (follower_.joinable()) follower_.join();
}

absl::StatusOr<PageViewer::View> PageViewer::FirstView() {
  View view;
  Request request(*this);  // a browser that comes anew
  const absl::Time start = absl::Now();
  std::vector<std::string> paths = {"/"};
  const auto load = [&](const std::string& path) -> absl::Status {
    RETURN_IF_ERROR(request.Do(path, "gzip"));
    view.bytes += request.wire_bytes();
    return absl::OkStatus();
  };
  std::set<std::string> seen;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string path = paths[i];
    if (!seen.insert(path).second) continue;
    RETURN_IF_ERROR(load(path));
    if (path == "/")
      for (const absl::string_view before : {"href=\"/", "src=\"/"})
        AddNamed(request.body(), before, "\"", paths);
    if (absl::EndsWith(path, ".js")) AddNamed(request.body(), "from './", "'", paths);
  }
  for (const char* path : {"/api/session", "/api/overview", "/api/status"})
    RETURN_IF_ERROR(load(path));
  view.time = absl::Now() - start;
  return view;
}

absl::StatusOr<std::string> PageViewer::Get(absl::string_view path) {
  RETURN_IF_ERROR(request_->Do(path, "gzip"));
  return request_->body();
}

absl::Status PageViewer::Follow(std::function<void(absl::string_view name)> on_event) {
  if (follower_.joinable()) return absl::FailedPreconditionError("it follows already");
  follower_ = std::thread([this, on_event = std::move(on_event)] {
    std::string rest;
    Request(*this).Stream("/api/events", [&](absl::string_view piece) {
      absl::StrAppend(&rest, piece);
      for (size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
        absl::string_view line = absl::string_view(rest).substr(0, end);
        if (absl::ConsumePrefix(&line, "event: ")) on_event(line);
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace muster::bench
