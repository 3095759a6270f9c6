// Downloads files over HTTP, and tells servers something.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::sys {

// The content that a server is about to send.
struct HttpContent {
  uint64_t offset = 0;            // bytes of the file that stay; the rest follows them
  std::optional<uint64_t> total;  // bytes of the whole content, if the server says
  std::string validator;          // see ContentValidator(); empty: the server gives none
};

struct HttpDownload {
  std::string url;
  // The file that receives the content; created with 0600 if missing.
  std::string path;
  // Bytes that the file already holds: the server is asked for the rest.
  uint64_t offset = 0;
  // With an offset: ask for the rest only if the content has this validator, otherwise for all of
  // it. Empty: take whatever the server has.
  std::string validator = {};
  // "http://proxy:3128". Empty: the environment's http_proxy, https_proxy and no_proxy decide.
  std::string proxy = {};
  // What is sent, by POST; empty: nothing, by GET.
  std::string body = {};
  // Limit on the whole content.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  absl::Duration connect_timeout = absl::Seconds(15);
  // The transfer ends if no byte arrives for this long.
  absl::Duration stall_timeout = absl::Seconds(30);
  absl::Duration timeout = absl::InfiniteDuration();
  // Called once, after the file was cut to `offset` and before a byte is written. An error ends the
  // transfer and is returned unchanged.
  std::function<absl::Status(const HttpContent&)> on_content = {};
  // Called often, with the number of bytes that the file holds.
  std::function<void(uint64_t bytes, std::optional<uint64_t> total)> on_progress = {};
  // Asked at least once a second; true ends the transfer.
  std::function<bool()> cancelled = {};
};

// Thread-safe.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Blocks until the file holds the whole content, which is not synced to the disk. After an error
  // it holds the bytes that came until then, and a later call can continue. Errors name the url
  // without its secrets, and the remedy:
  //   Unavailable         the network or the server failed, or cut the transfer: try again
  //   NotFound, PermissionDenied, FailedPrecondition   this url will not do: try another one
  //   Aborted             the file holds the beginning of other content: start again
  //   OutOfRange          more than `max_bytes`
  //   ResourceExhausted   the disk is full
  //   Cancelled, DeadlineExceeded, InvalidArgument
  virtual absl::Status Fetch(const HttpDownload& download) = 0;
};

// Uses libcurl. Certificates are verified; at most five redirects are followed, only to http and
// https; user and password are not passed on to another host.
class CurlHttpClient final : public HttpClient {
 public:
  CurlHttpClient();
  absl::Status Fetch(const HttpDownload& download) override;
};

}  // namespace muster::sys
