#include "controller/snapshot/upstream.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/sys/http/http_client.h"

namespace muster::controller::snapshot {

std::string UrlOf(absl::string_view uri, absl::string_view path) {
  while (absl::EndsWith(uri, "/")) uri.remove_suffix(1);
  std::string url = absl::StrCat(uri, "/");
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::StrContains("/-._~+:=@,", c)) {
      url += c;
    } else {
      absl::StrAppendFormat(&url, "%%%02X", byte);
    }
  }
  return url;
}

absl::Status Fetch(sys::HttpClient& http,
                   const google::protobuf::RepeatedPtrField<std::string>& uris,
                   absl::string_view path, const std::string& to, uint64_t max_bytes,
                   const std::function<bool()>& cancelled) {
  absl::Status status = absl::FailedPreconditionError("the repository has no address");
  for (const std::string& uri : uris) {
    sys::HttpDownload download;
    download.url = UrlOf(uri, path);
    download.path = to;
    download.max_bytes = max_bytes;
    download.cancelled = cancelled;
    status = http.Fetch(download);
    if (status.ok() || absl::IsCancelled(status)) return status;
    unlink(to.c_str());  // another server's may be another file
  }
  return status;
}

}  // namespace muster::controller::snapshot
