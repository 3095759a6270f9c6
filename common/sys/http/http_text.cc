#include "common/sys/http/http_text.h"

#include <algorithm>
#include <memory>

#include <curl/curl.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace muster::sys {
namespace {

constexpr size_t kMaxUrl = 8 << 10;
constexpr size_t kMaxValidator = 1 << 10;

using UrlHandle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

UrlHandle Parse(const std::string& url) {
  UrlHandle handle(curl_url(), &curl_url_cleanup);
  if (url.size() > kMaxUrl || url.find('\0') != std::string::npos ||
      curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    handle.reset();
  return handle;
}

std::string Part(const UrlHandle& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK || text == nullptr) return "";
  std::string copy = text;
  curl_free(text);
  return copy;
}

// Only digits: SimpleAtoi would also accept signs and blanks.
bool ParseNumber(absl::string_view text, uint64_t& number) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         absl::SimpleAtoi(text, &number);
}

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

}  // namespace

absl::Status CheckHttpUrl(const std::string& url) {
  const auto wrong = [&url](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("url ", DescribeUrl(url), " ", what));
  };
  if (!absl::StartsWithIgnoreCase(url, "http://") && !absl::StartsWithIgnoreCase(url, "https://"))
    return wrong("does not begin with http:// or https://");
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    return wrong("contains a blank or a control character; encode it, for instance as %20");
  const UrlHandle handle = Parse(url);
  if (handle == nullptr || Part(handle, CURLUPART_HOST).empty())
    return wrong("is malformed; the form is https://host/path");
  return absl::OkStatus();
}

std::string DescribeUrl(const std::string& url) {
  const UrlHandle handle = Parse(url);
  if (handle == nullptr) return "(unreadable)";
  const std::string port = Part(handle, CURLUPART_PORT);
  return absl::StrCat(Part(handle, CURLUPART_SCHEME), "://", Part(handle, CURLUPART_HOST),
                      port.empty() ? "" : ":", port, Part(handle, CURLUPART_PATH));
}

std::vector<std::string> UrlSecrets(const std::string& url) {
  std::vector<std::string> secrets;
  const UrlHandle handle = Parse(url);
  if (handle == nullptr) return secrets;
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    std::string text = Part(handle, part);
    if (!text.empty()) secrets.push_back(std::move(text));
  }
  return secrets;
}

std::string EscapeInUrl(absl::string_view text, absl::string_view plain) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::StrContains(plain, c)) {
      escaped += c;
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", byte);
    }
  }
  return escaped;
}

std::optional<ContentRange> ParseContentRange(absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  if (!absl::StartsWithIgnoreCase(value, "bytes ")) return std::nullopt;
  value = absl::StripLeadingAsciiWhitespace(value.substr(6));
  const size_t dash = value.find('-');
  const size_t slash = value.find('/');
  if (dash == absl::string_view::npos || slash == absl::string_view::npos || slash < dash)
    return std::nullopt;
  ContentRange range;
  if (!ParseNumber(value.substr(0, dash), range.first) ||
      !ParseNumber(value.substr(dash + 1, slash - dash - 1), range.last) ||
      range.last < range.first)
    return std::nullopt;
  const absl::string_view total = value.substr(slash + 1);
  if (total == "*") return range;
  uint64_t number = 0;
  if (!ParseNumber(total, number) || range.last >= number) return std::nullopt;
  range.total = number;
  return range;
}

std::string ContentValidator(absl::string_view etag, absl::string_view last_modified) {
  etag = absl::StripAsciiWhitespace(etag);
  // A weak one ("W/…") promises nothing about bytes, and RFC 9110 keeps it out of If-Range.
  if (etag.size() > 2 && etag.size() <= kMaxValidator && etag.front() == '"' &&
      etag.back() == '"' && IsPrintable(etag))
    return std::string(etag);
  last_modified = absl::StripAsciiWhitespace(last_modified);
  if (last_modified.size() > kMaxValidator || !IsPrintable(last_modified)) return "";
  return std::string(last_modified);
}

}  // namespace muster::sys
