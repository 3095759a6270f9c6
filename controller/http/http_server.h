// HTTP/1.1 by libmicrohttpd, plain or in TLS 1.3.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "controller/http/http_message.h"

struct MHD_Daemon;

namespace muster::controller {

class StreamWaker;

// Runs its own threads until it is destroyed. Connections that move nothing are closed: silent
// clients, and those that do not take what they have asked for.
class HttpServer {
 public:
  struct Options {
    std::string listen;             // "address:port"; port 0 takes a free one
    std::string setting;            // the setting that holds it, for errors
    unsigned max_connections = 16;  // more wait
    unsigned threads = 1;
    unsigned idle_seconds = 60;
    unsigned max_connections_per_peer = 0;  // more of one address are closed; 0: no limit
    // What a connection may take in memory; longer headers are refused. 0: libmicrohttpd's own.
    size_t max_connection_bytes = 0;
    // PEM, of TLS; both empty: plain HTTP.
    std::string certificate_pem = {};
    std::string key_pem = {};
    // The largest body of a POST; 0: only GET and HEAD are answered.
    size_t max_body_bytes = 0;
  };
  // Answers a request. Called in several threads.
  using Handler = std::function<HttpReply(const HttpRequest& request)>;

  // InvalidArgument: not an address. Unavailable: the port is taken. FailedPrecondition: the key
  // does not fit the certificate.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options, Handler handler);
  // Ends its streams; what is still awaited is answered with 503.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  // For libmicrohttpd's callback.
  HttpReply Answer(const HttpRequest& request);
  size_t max_body_bytes() const { return max_body_bytes_; }

 private:
  HttpServer(Handler handler, size_t max_body_bytes)
      : handler_(std::move(handler)), max_body_bytes_(max_body_bytes) {}

  // libmicrohttpd does not stop while a connection sleeps: streams, and replies that are awaited,
  // have to be ended before.
  void Remember(const std::shared_ptr<StreamWaker>& waker);
  void Remember(const std::shared_ptr<LaterReply>& later);

  const Handler handler_;
  const size_t max_body_bytes_;
  MHD_Daemon* daemon_ = nullptr;
  absl::Mutex mutex_;
  std::vector<std::weak_ptr<StreamWaker>> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<LaterReply>> awaited_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::controller
