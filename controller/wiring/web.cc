#include "controller/wiring/web.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/ip_network.h"
#include "common/sys/file_system.h"
#include "controller/config.h"
#include "controller/log.h"
#include "controller/wiring/core.h"
#include "controller/wiring/front.h"
#include "controller/wiring/work.h"

namespace muster::controller {
namespace {

// Each open page has one connection for events; browsers open a few more while it loads.
constexpr unsigned kMaxConnections = 512;
constexpr unsigned kThreads = 4;
constexpr unsigned kIdleSeconds = 30;

// Addresses that say where to listen, not where to go.
bool IsAnyAddress(absl::string_view host) { return host == "0.0.0.0" || host == "[::]"; }

absl::StatusOr<std::unique_ptr<HttpServer>> StartWithFiles(HttpServer::Options options,
                                                           const Config& config,
                                                           const HttpServer::Handler& handler) {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(options.certificate_pem, files.Read(config.web_certificate));
  // Without a certificate the server would speak plain HTTP.
  if (options.certificate_pem.empty())
    return absl::FailedPreconditionError(absl::StrCat(config.web_certificate, " is empty"));
  ASSIGN_OR_RETURN(options.key_pem, files.Read(config.web_key));
  return HttpServer::Start(options, handler);
}

// With web_certificate, or with the controller's own certificate: also where the other one cannot
// be used, as on a machine that a backup was restored to, because agents need the controller.
absl::StatusOr<std::unique_ptr<HttpServer>> StartPage(const Config& config, const Core& core,
                                                      const HttpServer::Handler& handler) {
  HttpServer::Options options = {.listen = config.web_listen,
                                 .setting = "web_listen",
                                 .max_connections = kMaxConnections,
                                 .threads = kThreads,
                                 .idle_seconds = kIdleSeconds,
                                 .max_body_bytes = WebPage::kMaxBodyBytes};
  absl::Status unusable;
  if (!config.web_certificate.empty()) {
    absl::StatusOr<std::unique_ptr<HttpServer>> server = StartWithFiles(options, config, handler);
    if (server.ok()) return server;
    unusable = server.status();
  }
  options.certificate_pem = core.resources.tls.certificate_pem;
  options.key_pem = core.resources.tls.key_pem;
  ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server, HttpServer::Start(options, handler));
  if (!unusable.ok())
    LogError(absl::StrCat(
        "web_certificate: ", unusable.message(),
        "; the page is served with the controller's own certificate, which browsers do not know. "
        "Make web_certificate and web_key of controller.yaml name files that the account muster "
        "can read and that belong together, then run `systemctl restart musterd`"));
  return server;
}

}  // namespace

WebService::Place PlaceOfPage(const Config& config, uint16_t port) {
  const std::string listens = HostOf(config.web_listen);
  if (!config.web_address.empty())
    return {absl::StrCat("https://", config.web_address), /*is_local=*/false};
  const std::string host = IsAnyAddress(listens) ? HostOf(config.controller_address) : listens;
  // The controller's certificate has names, and "localhost" among them.
  return {absl::StrCat("https://", IsLoopbackHost(host) ? "localhost" : host, ":", port),
          IsLoopbackHost(listens)};
}

absl::StatusOr<std::unique_ptr<WebFront>> StartWebFront(const Config& config, Core& core,
                                                        Work& work, Front& front) {
  if (config.web_listen == "off") return nullptr;
  auto web = std::make_unique<WebFront>(WebCollaborators{
      .store = *core.resources.store,
      .clock = core.clock,
      .denylist = core.denylist,
      .shares = core.shares,
      .durations = front.durations,
      .sessions = front.web_sessions,
      .nodes = front.nodes,
      .runs = front.runs,
      .rollouts = front.rollouts,
      .validations = front.validations,
      .events = front.events,
      .health = front.health,
      .readings = front.readings,
      .timeline = front.timeline,
      .run_feeds = work.runs,
      .rollout_feeds = work.rollouts,
      .validation_feeds = work.validations,
      .inventory = [&core]() -> std::shared_ptr<const Inventory> {
        absl::StatusOr<InventoryVersion> latest = core.inventory.Latest();
        return latest.ok() ? std::move(latest->inventory) : nullptr;
      },
      .cluster = config.cluster,
  });
  const auto answer = [page = &web->page, &core](const HttpRequest& request) {
    const absl::Status open = core.shares.CheckOpen();
    if (!open.ok()) return HttpReply{.status = 503, .body = std::string(open.message())};
    return page->Answer(request);
  };
  ASSIGN_OR_RETURN(web->server, StartPage(config, core, answer));
  front.web_logins.SetPlace(PlaceOfPage(config, web->server->port()));
  return web;
}

}  // namespace muster::controller
