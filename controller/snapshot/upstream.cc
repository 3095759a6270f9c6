#include "controller/snapshot/upstream.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/http/http_client.h"
#include "common/sys/http/http_text.h"

namespace muster::controller::snapshot {

std::string UrlOf(absl::string_view uri, absl::string_view path) {
  while (absl::EndsWith(uri, "/")) uri.remove_suffix(1);
  return absl::StrCat(uri, "/", sys::EscapeInUrl(path, "/-._~+:=@,"));
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
