// Links into the page, for people.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "muster/v1/web.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class Store;
class WebSessions;

// WebService. Thread-safe.
class WebService final : public v1::WebService::Service {
 public:
  // Where people's browsers reach the page.
  struct Place {
    std::string url;  // "https://login1:7482"; "": there is no page
    bool is_local = false;
  };

  // The references must outlive the object.
  WebService(WebSessions& sessions, Store& store, Clock& clock)
      : sessions_(sessions), store_(store), clock_(clock) {}

  // Call before the service is offered; without it there is no page.
  void SetPlace(Place place) { place_ = std::move(place); }

  grpc::Status CreateLogin(grpc::ServerContext* context, const v1::CreateLoginRequest* request,
                           v1::CreateLoginResponse* response) override;

 private:
  absl::Status CreateLogin(const grpc::ServerContext& context, v1::CreateLoginResponse& response);

  WebSessions& sessions_;
  Store& store_;
  Clock& clock_;
  Place place_;
};

}  // namespace muster::controller
