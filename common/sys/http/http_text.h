// The parts of HTTP that Muster parses itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

// OK for an http or https url that names a host. InvalidArgument says what is wrong, without any
// secrets of the url.
absl::Status CheckHttpUrl(const std::string& url);

// The url for people: scheme, host, port and path. Users, passwords, queries (which hold
// signatures) and fragments are left out.
std::string DescribeUrl(const std::string& url);

// The parts that DescribeUrl() leaves out, for checking whether a text contains them.
std::vector<std::string> UrlSecrets(const std::string& url);

// The text as a part of a url: all but letters, digits and `plain` becomes %XX.
std::string EscapeInUrl(absl::string_view text, absl::string_view plain);

// The value of a Content-Range header: "bytes 5-9/10", or "bytes 5-9/*" for an unknown total.
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  std::optional<uint64_t> total;
};
// nullopt if the value makes no sense.
std::optional<ContentRange> ParseContentRange(absl::string_view value);

// The validator that a later request can name in If-Range to get the rest of the same content: the
// ETag if it is a strong one, else the date of Last-Modified. Empty: there is neither.
std::string ContentValidator(absl::string_view etag, absl::string_view last_modified);

}  // namespace muster::sys
