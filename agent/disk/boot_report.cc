#include "agent/disk/boot_report.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/sys/http/http_client.h"

namespace muster::agent::disk {
namespace {

constexpr uint64_t kMaxAnswer = 4096;
constexpr absl::Duration kPatience = absl::Seconds(20);

std::string Escape(absl::string_view text) {
  std::string escaped;
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.') {
      escaped.push_back(each);
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", c);
    }
  }
  return escaped;
}

}  // namespace

std::string ReportUrl(absl::string_view url, const ReportWords& words) {
  std::string text(url);
  char before = '?';
  for (const auto& [name, value] : words) {
    absl::StrAppend(&text, std::string(1, before), name, "=", Escape(value));
    before = '&';
  }
  return text;
}

absl::Status Report(const std::string& url, const ReportWords& words, const std::string& scratch,
                    sys::HttpClient& http) {
  if (url.empty()) return absl::OkStatus();
  return http.Fetch({.url = ReportUrl(url, words),
                     .path = scratch,
                     .max_bytes = kMaxAnswer,
                     .timeout = kPatience});
}

}  // namespace muster::agent::disk
