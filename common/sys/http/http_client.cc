#include "common/sys/http/http_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <curl/curl.h>

#include "absl/base/call_once.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"
#include "common/sys/http/http_text.h"
#include "common/sys/place.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {
namespace {

constexpr long kMaxRedirects = 5;
// Written back in pieces of this size, so that a large file does not fill the memory with dirty
// pages, which would block everybody else's writes.
constexpr uint64_t kWriteBackBytes = uint64_t{8} << 20;

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// How libcurl's errors are reported. All others are Unavailable without a remedy.
struct Failure {
  CURLcode code;
  absl::StatusCode status;
  const char* remedy;
};
constexpr Failure kFailures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, absl::StatusCode::kUnavailable,
     "check the name and the node's resolver (getent hosts NAME)"},
    {CURLE_COULDNT_RESOLVE_PROXY, absl::StatusCode::kUnavailable,
     "check the name of the proxy and the node's resolver"},
    {CURLE_COULDNT_CONNECT, absl::StatusCode::kUnavailable,
     "check that the server runs and that no firewall blocks it"},
    {CURLE_PARTIAL_FILE, absl::StatusCode::kUnavailable, "the server interrupted the transfer"},
    {CURLE_GOT_NOTHING, absl::StatusCode::kUnavailable, "the server closed the connection"},
    {CURLE_PEER_FAILED_VERIFICATION, absl::StatusCode::kFailedPrecondition,
     "check the node's clock and that it knows the server's authority (package ca-certificates)"},
    {CURLE_SSL_CACERT_BADFILE, absl::StatusCode::kFailedPrecondition,
     "install the package ca-certificates"},
    {CURLE_TOO_MANY_REDIRECTS, absl::StatusCode::kFailedPrecondition,
     "the server redirects endlessly; use the final url"},
    {CURLE_UNSUPPORTED_PROTOCOL, absl::StatusCode::kFailedPrecondition,
     "only http and https are supported"},
    {CURLE_URL_MALFORMAT, absl::StatusCode::kFailedPrecondition,
     "the url or its redirect is malformed"},
};

// How a server's refusal is reported.
struct Refusal {
  long first, last;
  absl::StatusCode status;
  const char* remedy;
};
constexpr Refusal kRefusals[] = {
    {401, 401, absl::StatusCode::kPermissionDenied, "it requires a user and a password"},
    {403, 403, absl::StatusCode::kPermissionDenied,
     "it does not allow this node to fetch the file"},
    {404, 404, absl::StatusCode::kNotFound, "check the path"},
    {407, 407, absl::StatusCode::kPermissionDenied, "the proxy requires a user and a password"},
    {408, 408, absl::StatusCode::kUnavailable, ""},
    {410, 410, absl::StatusCode::kNotFound, "check the path"},
    {416, 416, absl::StatusCode::kAborted, "the content is shorter than the part fetched before"},
    {425, 429, absl::StatusCode::kUnavailable, "the server limits the rate of requests"},
    {400, 499, absl::StatusCode::kFailedPrecondition, ""},
    {500, 599, absl::StatusCode::kUnavailable, ""},
};

// One request, from its headers to its last byte.
class Transfer {
 public:
  explicit Transfer(const HttpDownload& download) : download_(download) {}

  absl::Status Run();

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    static_cast<Transfer*>(self)->Header(absl::string_view(data, size * count));
    return size * count;
  }
  static size_t OnData(char* data, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->error_ = transfer->Data(absl::string_view(data, size * count));
    return transfer->error_.ok() ? size * count : CURL_WRITEFUNC_ERROR;
  }
  static int OnTick(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto* transfer = static_cast<const Transfer*>(self);
    return transfer->download_.cancelled && transfer->download_.cancelled() ? 1 : 0;
  }

  bool SetUp();
  void Header(absl::string_view line);
  absl::Status Begin();
  absl::Status Data(absl::string_view data);
  absl::Status Outcome(CURLcode code);
  long response_code() const {
    long code = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
  // Puts the url in front; after a redirect, that of the last one.
  absl::Status Error(absl::StatusCode code, absl::string_view what) const;

  const HttpDownload& download_;
  const EasyHandle curl_{curl_easy_init(), &curl_easy_cleanup};
  HeaderList headers_{nullptr, &curl_slist_free_all};
  char reason_[CURL_ERROR_SIZE] = "";
  UniqueFd file_;
  absl::Status error_;  // our own error, which libcurl only knows as "write failed"

  // From the response; each redirect's begins anew.
  std::string etag_, last_modified_, content_range_;
  bool begun_ = false;
  uint64_t have_ = 0;  // bytes in the file
  uint64_t written_back_ = 0;
  std::optional<uint64_t> total_;
};

void Transfer::Header(absl::string_view line) {
  if (absl::StartsWith(line, "HTTP/")) {
    etag_.clear();
    last_modified_.clear();
    content_range_.clear();
    return;
  }
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return;
  const absl::string_view name = line.substr(0, colon);
  const std::string value(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  if (absl::EqualsIgnoreCase(name, "etag")) etag_ = value;
  if (absl::EqualsIgnoreCase(name, "last-modified")) last_modified_ = value;
  if (absl::EqualsIgnoreCase(name, "content-range")) content_range_ = value;
}

absl::Status Transfer::Error(absl::StatusCode code, absl::string_view what) const {
  char* effective = nullptr;
  curl_easy_getinfo(curl_.get(), CURLINFO_EFFECTIVE_URL, &effective);
  const std::string asked = DescribeUrl(download_.url);
  const std::string answered = effective == nullptr ? asked : DescribeUrl(effective);
  return absl::Status(
      code, absl::StrCat(asked, asked == answered ? "" : absl::StrCat(" (now ", answered, ")"),
                         ": ", what));
}

// The server has answered: decides what happens to the file.
absl::Status Transfer::Begin() {
  begun_ = true;
  HttpContent content;
  content.validator = ContentValidator(etag_, last_modified_);
  const long code = response_code();
  if (code == 206) {
    const std::optional<ContentRange> range = ParseContentRange(content_range_);
    if (download_.offset == 0 || !range.has_value() || range->first != download_.offset)
      return Error(absl::StatusCode::kAborted, "the server sent a different part than requested");
    if (!download_.validator.empty() && !content.validator.empty() &&
        content.validator != download_.validator)
      return Error(absl::StatusCode::kAborted,
                   "the content has changed since its first part was fetched");
    content.offset = download_.offset;
    content.total = range->total;
  } else if (code == 200) {
    curl_off_t length = -1;
    curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length >= 0) content.total = static_cast<uint64_t>(length);
  } else {
    return Error(absl::StatusCode::kFailedPrecondition,
                 absl::StrCat("the server answered ", code, ", which contains no file"));
  }
  if (content.total.value_or(0) > download_.max_bytes)
    return Error(absl::StatusCode::kOutOfRange,
                 absl::StrCat("the file has ", *content.total, " bytes, at most ",
                              download_.max_bytes, " are accepted"));
  if (::ftruncate(file_.get(), static_cast<off_t>(content.offset)) != 0 ||
      ::lseek(file_.get(), static_cast<off_t>(content.offset), SEEK_SET) < 0)
    return FileError(errno, "writing", download_.path);
  have_ = written_back_ = content.offset;
  total_ = content.total;
  return download_.on_content ? download_.on_content(content) : absl::OkStatus();
}

absl::Status Transfer::Data(absl::string_view data) {
  if (!begun_) RETURN_IF_ERROR(Begin());
  if (data.size() > download_.max_bytes - have_)
    return Error(absl::StatusCode::kOutOfRange,
                 absl::StrCat("the server sends more than ", download_.max_bytes, " bytes"));
  while (!data.empty()) {
    const ssize_t written = ::write(file_.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, "writing", download_.path);
    data.remove_prefix(static_cast<size_t>(written));
    have_ += static_cast<uint64_t>(written);
  }
  if (have_ - written_back_ >= kWriteBackBytes) {
    ::sync_file_range(file_.get(), static_cast<off64_t>(written_back_),
                      static_cast<off64_t>(have_ - written_back_), SYNC_FILE_RANGE_WRITE);
    written_back_ = have_;
  }
  if (download_.on_progress) download_.on_progress(have_, total_);
  return absl::OkStatus();
}

bool Transfer::SetUp() {
  bool good = true;
  const auto set = [&](CURLoption option, auto value) {
    good = curl_easy_setopt(curl_.get(), option, value) == CURLE_OK && good;
  };
  set(CURLOPT_URL, download_.url.c_str());
  set(CURLOPT_ERRORBUFFER, reason_);
  set(CURLOPT_NOSIGNAL, 1L);  // other threads use signals of their own
  set(CURLOPT_USERAGENT, "muster-agent");
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMaxRedirects);
// The bit masks are deprecated since libcurl 7.85; older versions support nothing else.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#pragma GCC diagnostic pop
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  if (!download_.proxy.empty()) set(CURLOPT_PROXY, download_.proxy.c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(
                                     std::max(download_.connect_timeout, absl::Milliseconds(1)))));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME,
      static_cast<long>(std::max<int64_t>(1, absl::ToInt64Seconds(download_.stall_timeout))));
  if (download_.timeout != absl::InfiniteDuration())
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(
                                std::max(download_.timeout, absl::Milliseconds(1)))));
  set(CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Transfer::OnData);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::OnTick);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
  if (!download_.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(download_.body.size()));
    set(CURLOPT_POSTFIELDS, download_.body.data());
    headers_.reset(curl_slist_append(nullptr, "Content-Type: application/octet-stream"));
    set(CURLOPT_HTTPHEADER, headers_.get());
  }
  if (download_.offset > 0) {
    set(CURLOPT_RANGE, absl::StrCat(download_.offset, "-").c_str());
    if (!download_.validator.empty())
      headers_.reset(
          curl_slist_append(nullptr, absl::StrCat("If-Range: ", download_.validator).c_str()));
    set(CURLOPT_HTTPHEADER, headers_.get());
  }
  return good;
}

absl::Status Transfer::Outcome(CURLcode code) {
  if (!error_.ok()) return error_;
  if (code == CURLE_OK && !begun_) code = (error_ = Begin()).ok() ? code : CURLE_WRITE_ERROR;
  if (!error_.ok()) return error_;
  if (code == CURLE_OK) {
    if (total_.has_value() && have_ < *total_)
      return Error(absl::StatusCode::kUnavailable,
                   absl::StrCat("the server sent ", have_, " of ", *total_, " bytes"));
    return absl::OkStatus();
  }
  if (code == CURLE_ABORTED_BY_CALLBACK)
    return Error(absl::StatusCode::kCancelled, "the transfer was stopped");
  if (code == CURLE_OPERATION_TIMEDOUT) {
    double seconds = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_TOTAL_TIME, &seconds);
    // The timer fires slightly before the sum of the transfer's times reaches it.
    if (absl::Seconds(seconds) + absl::Milliseconds(50) >= download_.timeout)
      return Error(absl::StatusCode::kDeadlineExceeded,
                   absl::StrCat("not finished within ", absl::FormatDuration(download_.timeout),
                                ", ", have_, " bytes received"));
    return Error(absl::StatusCode::kUnavailable,
                 begun_ ? absl::StrCat("nothing received for ",
                                       absl::FormatDuration(download_.stall_timeout), " after ",
                                       have_, " bytes")
                        : "no answer; check that the server runs and that no firewall blocks it");
  }
  if (code == CURLE_HTTP_RETURNED_ERROR) {
    const long answer = response_code();
    for (const Refusal& refusal : kRefusals) {
      if (answer < refusal.first || answer > refusal.last) continue;
      return Error(refusal.status,
                   absl::StrCat("the server answered ", answer, *refusal.remedy == '\0' ? "" : "; ",
                                refusal.remedy));
    }
  }
  std::string reason = *reason_ == '\0' ? curl_easy_strerror(code) : reason_;
  // A proxy that cannot be parsed is quoted as a whole.
  if (absl::StrContains(reason, '@')) reason = curl_easy_strerror(code);
  for (const std::string& url : {download_.url, download_.proxy})
    for (const std::string& secret : UrlSecrets(url))
      if (absl::StrContains(reason, secret)) reason = curl_easy_strerror(code);
  for (const Failure& failure : kFailures) {
    if (failure.code == code)
      return Error(failure.status, absl::StrCat(reason, "; ", failure.remedy));
  }
  return Error(absl::StatusCode::kUnavailable, reason);
}

absl::Status Transfer::Run() {
  RETURN_IF_ERROR(CheckHttpUrl(download_.url));
  if (curl_ == nullptr) return absl::InternalError("libcurl cannot be used");
  ASSIGN_OR_RETURN(file_,
                   OpenFile(download_.path, O_WRONLY | O_CREAT, LastLink::kRefuse, "opening"));
  if (!SetUp()) return absl::InternalError("libcurl does not accept its options");
  return Outcome(curl_easy_perform(curl_.get()));
}

}  // namespace

CurlHttpClient::CurlHttpClient() {
  static absl::once_flag once;
  absl::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

absl::Status CurlHttpClient::Fetch(const HttpDownload& download) {
  return Transfer(download).Run();
}

}  // namespace muster::sys
