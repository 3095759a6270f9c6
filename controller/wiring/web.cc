#include "controller/wiring/web.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/ip_network.h"
#include "common/sys/file_system.h"
#include "controller/config.h"
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

absl::StatusOr<HttpServer::Options> OptionsOf(const Config& config, const Core& core) {
  HttpServer::Options options = {.listen = config.web_listen,
                                 .setting = "web_listen",
                                 .max_connections = kMaxConnections,
                                 .threads = kThreads,
                                 .idle_seconds = kIdleSeconds,
                                 .max_body_bytes = WebPage::kMaxBodyBytes};
  if (config.web_certificate.empty()) {
    options.certificate_pem = core.resources.tls.certificate_pem;
    options.key_pem = core.resources.tls.key_pem;
    return options;
  }
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(options.certificate_pem, files.Read(config.web_certificate));
  ASSIGN_OR_RETURN(options.key_pem, files.Read(config.web_key));
  return options;
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
  ASSIGN_OR_RETURN(const HttpServer::Options options, OptionsOf(config, core));
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
  ASSIGN_OR_RETURN(web->server, HttpServer::Start(options, [page = &web->page,
                                                            &core](const HttpRequest& request) {
                     const absl::Status open = core.shares.CheckOpen();
                     if (!open.ok())
                       return HttpReply{.status = 503, .body = std::string(open.message())};
                     return page->Answer(request);
                   }));
  front.web_logins.SetPlace(PlaceOfPage(config, web->server->port()));
  return web;
}

}  // namespace muster::controller
