// A real HTTP server on a free port of loopback, for tests of downloads and of what is posted. No
// proxy is used from then on, whatever the environment says.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

struct MHD_Daemon;

namespace muster::testing {

struct HttpRequest {
  std::string path;
  std::string method;
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  // From "Range: bytes=N-".
  std::optional<uint64_t> offset() const;
};

struct HttpReply {
  unsigned status = 200;
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  std::optional<uint64_t> claimed_length = {};  // if it is a lie
  std::optional<size_t> cut_at = {};            // the connection breaks after so many bytes
  bool stalls = false;                          // instead of breaking, it sends nothing more there
};

// Answers by the handler of the path; 404 elsewhere. Thread-safe.
class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  HttpServer();
  // Over TLS, with that certificate and key (PEM).
  HttpServer(const std::string& certificate, const std::string& key);
  ~HttpServer();

  void Handle(const std::string& path, Handler handler);
  // Serves a file as a decent server does: ranges, If-Range, an ETag made from its content.
  void Serve(const std::string& path, std::string content);
  // The answer of Serve(); for handlers that differ from it in one thing.
  static HttpReply Answer(const HttpRequest& request, const std::string& content);

  std::string Url(const std::string& path) const;
  std::vector<HttpRequest> requests() const;
  uint64_t bytes_served() const { return bytes_served_; }

 private:
  friend struct HttpCall;

  void Start(const char* certificate, const char* key);
  HttpReply Reply(const HttpRequest& request);

  mutable absl::Mutex mutex_;
  std::map<std::string, Handler> handlers_ ABSL_GUARDED_BY(mutex_);
  std::vector<HttpRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> bytes_served_{0};
  std::atomic<bool> stopping_{false};
  bool is_tls_ = false;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace muster::testing
