// Plain HTTP by libmicrohttpd: GET and HEAD only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct MHD_Daemon;

namespace muster::controller {

struct HttpReply {
  unsigned status = 404;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  int fd = -1;  // an open file to send instead of `body`; the server closes it
};

// Runs its own threads until it is destroyed. Silent connections are closed.
class HttpServer {
 public:
  static constexpr unsigned kIdleSeconds = 60;

  struct Options {
    std::string listen;             // "address:port"; port 0 takes a free one
    std::string setting;            // the setting that holds it, for errors
    unsigned max_connections = 16;  // more wait
    unsigned threads = 1;
  };
  // Answers a request for a path, without its query. Called in several threads.
  using Handler = std::function<HttpReply(absl::string_view path)>;

  // InvalidArgument: not an address. Unavailable: the port is taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  // For libmicrohttpd's callback.
  HttpReply Answer(absl::string_view path) const { return handler_(path); }

 private:
  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {}

  const Handler handler_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace muster::controller
