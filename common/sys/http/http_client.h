// Files from the network.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::sys {

// What a server is about to send.
struct HttpContent {
  uint64_t offset = 0;            // bytes of the file that stay; the rest is written behind them
  std::optional<uint64_t> total;  // bytes of the whole content, when the server says
  std::string validator;          // see ContentValidator(); empty: the server gives none
};

struct HttpDownload {
  std::string url;
  // Where the content goes; made with 0600 when missing.
  std::string path;
  // So many bytes of the file are there already: the server is asked for the rest.
  uint64_t offset = 0;
  // With an offset: the rest is wanted of the content with this validator only, otherwise all of
  // it. Empty: whatever the server has.
  std::string validator = {};
  // "http://proxy:3128". Empty: http_proxy, https_proxy and no_proxy of the environment decide.
  std::string proxy = {};
  // Of the whole content.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  absl::Duration connect_timeout = absl::Seconds(15);
  // So long without a byte ends the transfer.
  absl::Duration stall_timeout = absl::Seconds(30);
  absl::Duration timeout = absl::InfiniteDuration();
  // Called once, after the file was cut to `offset` and before a byte is written. An error ends
  // the transfer and is returned unchanged.
  std::function<absl::Status(const HttpContent&)> on_content = {};
  // Often; with the bytes that the file holds.
  std::function<void(uint64_t bytes, std::optional<uint64_t> total)> on_progress = {};
  // Asked at least once a second; true ends the transfer.
  std::function<bool()> cancelled = {};
};

// Thread-safe.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Blocks until the file holds the whole content, which is not synced to the disk. After an error
  // it holds what came until then, which a later call can continue. Errors name the url without
  // its secrets, and the remedy:
  //   Unavailable         the network or the server fails, or cut the transfer: try again
  //   NotFound, PermissionDenied, FailedPrecondition   this url will not do: try another one
  //   Aborted             what the file holds is of another content: begin anew
  //   OutOfRange          more than `max_bytes`
  //   ResourceExhausted   the disk is full
  //   Cancelled, DeadlineExceeded, InvalidArgument
  virtual absl::Status Fetch(const HttpDownload& download) = 0;
};

// On libcurl. Certificates are verified; at most five redirects are followed, to http and https
// alone; user and password are not passed on to another host.
class CurlHttpClient final : public HttpClient {
 public:
  CurlHttpClient();
  absl::Status Fetch(const HttpDownload& download) override;
};

}  // namespace muster::sys
