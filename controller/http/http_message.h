// A request and its reply, whoever carries them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::controller {

class HttpStream;
class LaterReply;

struct HttpRequest {
  std::string method = "GET";  // also for HEAD, whose reply is sent without its body
  std::string path;            // decoded, without its query: "/api/node"
  std::string peer;            // as gRPC writes it: "ipv4:10.0.0.1:53122"
  std::string body;            // of a POST; bounded by the server
  using Values = std::map<std::string, std::string, std::less<>>;
  Values headers;  // names in lower case; of a name that occurs twice, the first
  Values cookies;
  Values query;

  // "" where there is none.
  absl::string_view Header(absl::string_view name) const { return Find(headers, name); }
  absl::string_view Cookie(absl::string_view name) const { return Find(cookies, name); }
  absl::string_view Query(absl::string_view name) const { return Find(query, name); }

 private:
  static absl::string_view Find(const Values& values, absl::string_view name) {
    const auto found = values.find(std::string(name));
    return found == values.end() ? absl::string_view() : absl::string_view(found->second);
  }
};

struct HttpReply {
  unsigned status = 404;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  int fd = -1;  // an open file to send instead of `body`; the server closes it
  // The part of the file that is sent; nullopt: all of it.
  struct Part {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  std::optional<Part> part = std::nullopt;
  std::vector<std::pair<std::string, std::string>> headers = {};  // besides the content's type
  std::shared_ptr<HttpStream> stream = nullptr;                   // sent instead of `body`
  std::shared_ptr<LaterReply> later = nullptr;  // the reply that is awaited instead of this one
  // Called, in a thread of the server, when the last byte of the reply has been handed to the
  // network; never for HEAD, and not for a reader that left before.
  std::function<void()> on_sent = nullptr;
};

}  // namespace muster::controller
