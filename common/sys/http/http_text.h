// What of HTTP Muster reads itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

// OK for a url of http or https that names a host. InvalidArgument says what is wrong, without
// what the url may hold of secrets.
absl::Status CheckHttpUrl(const std::string& url);

// The url for people: scheme, host, port and path. Users, passwords, queries (which hold
// signatures) and fragments are left out.
std::string DescribeUrl(const std::string& url);

// What DescribeUrl() leaves out, for a look whether a text holds it.
std::vector<std::string> UrlSecrets(const std::string& url);

// The value of a Content-Range header: "bytes 5-9/10", or "bytes 5-9/*" for an unknown total.
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  std::optional<uint64_t> total;
};
// nullopt when it is none that makes sense.
std::optional<ContentRange> ParseContentRange(absl::string_view value);

// What a later request can name in If-Range to get the rest of the same content: the ETag when it
// is a strong one, else the date of Last-Modified. Empty: there is nothing to go by.
std::string ContentValidator(absl::string_view etag, absl::string_view last_modified);

}  // namespace muster::sys
