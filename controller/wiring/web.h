// The web page of this controller, over HTTPS.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "controller/http/http_server.h"
#include "controller/service/web_service.h"
#include "controller/web/web_page.h"

namespace muster::controller {

struct Config;
struct Core;
struct Front;
struct Work;

// The page and its server; the server ends first.
struct WebFront {
  explicit WebFront(WebCollaborators with) : page(std::move(with)) {}
  ~WebFront() { page.Stop(); }

  WebPage page;
  std::unique_ptr<HttpServer> server;
};

// nullptr: the setting web_listen is "off". The references must outlive it.
absl::StatusOr<std::unique_ptr<WebFront>> StartWebFront(const Config& config, Core& core,
                                                        Work& work, Front& front);
// Where browsers reach the page that listens on `port`.
WebService::Place PlaceOfPage(const Config& config, uint16_t port);

}  // namespace muster::controller
