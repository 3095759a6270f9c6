#include "agent/disk/boot_report.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/http/http_text.h"

namespace muster::agent::disk {
namespace {

constexpr uint64_t kMaxAnswer = 4096;
constexpr absl::Duration kPatience = absl::Seconds(20);

}  // namespace

std::string ReportUrl(absl::string_view url, const ReportWords& words) {
  std::string text(url);
  char before = '?';
  for (const auto& [name, value] : words) {
    absl::StrAppend(&text, std::string(1, before), name, "=", sys::EscapeInUrl(value, "-_."));
    before = '&';
  }
  return text;
}

absl::Status Report(const std::string& url, const ReportWords& words, const std::string& folder,
                    sys::FileSystem& files, sys::HttpClient& http) {
  if (url.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(files.MakeDirectory(folder, 0700));
  return http.Fetch({.url = ReportUrl(url, words),
                     .path = folder + "/answer",
                     .max_bytes = kMaxAnswer,
                     .timeout = kPatience});
}

}  // namespace muster::agent::disk
