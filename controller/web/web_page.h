// The web page: its files, its logins, and the answers to what it asks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "controller/http/http_message.h"
#include "controller/login/web_sessions.h"
#include "controller/web/cached.h"
#include "controller/web/cached_page.h"
#include "controller/web/collaborators.h"
#include "controller/web/live_events.h"
#include "controller/web/task_pool.h"

namespace muster::v1 {
class Node;
}

namespace muster::controller {

// Thread-safe. Only its files, which say nothing of the cluster, are given to strangers.
class WebPage {
 public:
  // The name begins with a promise that browsers hold: set by this host alone, over TLS, for all
  // paths.
  static constexpr char kCookie[] = "__Host-muster";
  // The page sets this header with each request for more than its files: to the token of its
  // session, which only the answer to the login has. A login has none yet and sets it to anything,
  // which other sites cannot without being asked about first.
  static constexpr char kPageHeader[] = "x-muster-page";
  static constexpr size_t kMaxBodyBytes = 4096;

  explicit WebPage(WebCollaborators with);

  HttpReply Answer(const HttpRequest& request);
  // Ends the streams of events and what is being changed; before the server ends.
  void Stop() {
    events_.Stop();
    tasks_.Stop();
  }

 private:
  HttpReply AnswerFile(const HttpRequest& request) const;
  HttpReply AnswerCall(const HttpRequest& request, const WebSessions::Ticket& session);
  HttpReply AnswerPost(const HttpRequest& request);
  HttpReply LogIn(const HttpRequest& request);
  HttpReply LogOut(const HttpRequest& request);
  HttpReply Act(const HttpRequest& request);
  absl::StatusOr<WebSessions::Ticket> SessionOf(const HttpRequest& request);
  // Only a new session's page is told the token.
  HttpReply AnswerSession(const WebSessions::Ticket& session, bool is_new);
  HttpReply AnswerShared(CachedPage& page, absl::string_view rpc, const HttpRequest& request,
                         const WebSessions::Ticket& session);
  absl::Status Note(const HttpRequest& request, const Identity& identity, absl::string_view action);

  const WebCollaborators with_;
  std::map<std::string, RenderedPage, std::less<>> files_;  // by path
  // Both pages are made from it.
  Cached<std::vector<v1::Node>> nodes_;
  CachedPage overview_;
  CachedPage status_;
  LiveEvents events_;
  TaskPool tasks_;
};

}  // namespace muster::controller
