#include "controller/notify/curl_transport.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include <curl/curl.h>

#include "absl/base/call_once.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/plain_text.h"
#include "common/base/version.h"

namespace muster::controller::notify {
namespace {

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using TextList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

constexpr size_t kMaxAnswer = 200;        // bytes that are shown
constexpr size_t kMaxKept = 4096;         // bytes that are read for it
constexpr size_t kMaxReceived = 1 << 20;  // more ends the transfer

// The remedies for libcurl's errors.
struct Remedy {
  CURLcode code;
  const char* text;
};
constexpr Remedy kRemedies[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "check the name and the controller's resolver"},
    {CURLE_COULDNT_CONNECT, "check that the receiver runs and that no firewall blocks it"},
    {CURLE_OPERATION_TIMEDOUT, "check that the receiver answers and that no firewall blocks it"},
    {CURLE_PEER_FAILED_VERIFICATION,
     "check that `ca` has the receiver's authority and that its certificate is for this name"},
    {CURLE_SSL_CACERT_BADFILE, "check that `ca` is a certificate in PEM"},
    {CURLE_USE_SSL_FAILED, "the mail server offers no STARTTLS; use smtps://, or tls: false"},
    {CURLE_LOGIN_DENIED, "check user and password_secret"},
    {CURLE_GOT_NOTHING, "the receiver closed the connection"},
};

// What to do about a receiver's status. Those that are no fault of the message are tried again.
struct StatusRow {
  long first, last;
  bool is_final;
  const char* remedy;
};
constexpr StatusRow kHttpStatuses[] = {
    {300, 399, false, "the receiver redirects; use the final url"},
    {401, 401, false, "check token_secret, password_secret, or the token in the url"},
    {403, 403, false, "the receiver does not allow this controller to send"},
    {404, 404, false, "check the path of the url"},
    {407, 408, false, ""},
    {410, 410, false, "check the path of the url"},
    {425, 429, false, "the receiver limits the rate of messages"},
    {400, 499, true, "the receiver does not accept messages of this form"},
    {500, 599, false, ""},
};
constexpr StatusRow kSmtpStatuses[] = {
    {530, 538, false, "check user and password_secret"},
    {400, 499, false, ""},
    {500, 599, true, "check 'from' and 'to'"},
};

template <size_t N>
const StatusRow* Find(const StatusRow (&rows)[N], long status) {
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const StatusRow& row) {
    return row.first <= status && status <= row.last;
  });
  return found == std::end(rows) ? nullptr : found;
}

// One transfer, whichever the protocol.
class Transfer {
 public:
  // `shown` names the receiver in errors, which will have none of the `secrets`.
  Transfer(const SendLimits& limits, std::string shown, std::vector<std::string> secrets)
      : limits_(limits), shown_(std::move(shown)), secrets_(std::move(secrets)) {
    static absl::once_flag once;
    absl::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    curl_.reset(curl_easy_init());
  }

  template <typename Value>
  void Set(CURLoption option, Value value) {
    is_set_up_ = curl_easy_setopt(curl_.get(), option, value) == CURLE_OK && is_set_up_;
  }
  void SetCommon(const std::string& url, const std::string& ca, long protocols);
  // By the first way that the protocol has, which is "Basic" in HTTP. No user: no login.
  void SetLogin(const std::string& user, const std::string& password);
  void SetList(CURLoption option, const std::vector<std::string>& texts);
  // Sent by the reader of a mail.
  void SetUpload(const std::string& text);
  Reply Run(bool is_mail);

 private:
  static size_t OnData(char* data, size_t size, size_t count, void* self);
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnRead(char* data, size_t size, size_t count, void* self);
  static int OnTick(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& cancelled = static_cast<const Transfer*>(self)->limits_.cancelled;
    return cancelled && cancelled() ? 1 : 0;
  }

  bool HasSecret(absl::string_view text) const;
  Reply Failed(absl::StatusCode code, absl::string_view what, absl::string_view remedy,
               bool is_final) const;

  const SendLimits& limits_;
  const std::string shown_;
  const std::vector<std::string> secrets_;
  EasyHandle curl_{nullptr, &curl_easy_cleanup};
  std::vector<TextList> lists_;
  bool is_set_up_ = true;
  char reason_[CURL_ERROR_SIZE] = "";
  std::string body_;       // the beginning of what the receiver said
  std::string last_line_;  // of an SMTP server
  size_t received_ = 0;
  absl::string_view upload_;
};

size_t Transfer::OnData(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const size_t bytes = size * count;
  transfer.received_ += bytes;
  const size_t room = kMaxKept - std::min(kMaxKept, transfer.body_.size());
  transfer.body_.append(data, std::min(bytes, room));
  return transfer.received_ > kMaxReceived ? 0 : bytes;
}

size_t Transfer::OnHeader(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.last_line_.assign(data, std::min(size * count, kMaxKept));
  return size * count;
}

size_t Transfer::OnRead(char* data, size_t size, size_t count, void* self) {
  absl::string_view& upload = static_cast<Transfer*>(self)->upload_;
  const size_t bytes = std::min(size * count, upload.size());
  std::memcpy(data, upload.data(), bytes);
  upload.remove_prefix(bytes);
  return bytes;
}

void Transfer::SetCommon(const std::string& url, const std::string& ca, long protocols) {
  Set(CURLOPT_URL, url.c_str());
  Set(CURLOPT_ERRORBUFFER, reason_);
  Set(CURLOPT_NOSIGNAL, 1L);  // other threads use signals of their own
  Set(CURLOPT_FOLLOWLOCATION, 0L);
// The bit masks are deprecated since libcurl 7.85; older versions support nothing else.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  Set(CURLOPT_PROTOCOLS, protocols);
#pragma GCC diagnostic pop
  Set(CURLOPT_SSL_VERIFYPEER, 1L);
  Set(CURLOPT_SSL_VERIFYHOST, 2L);
  Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  if (!ca.empty()) {
    curl_blob blob = {const_cast<char*>(ca.data()), ca.size(), CURL_BLOB_COPY};
    Set(CURLOPT_CAINFO_BLOB, &blob);
    // That authority and no other.
    Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  Set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::max<int64_t>(1, absl::ToInt64Milliseconds(limits_.connect))));
  Set(CURLOPT_TIMEOUT_MS,
      static_cast<long>(std::max<int64_t>(1, absl::ToInt64Milliseconds(limits_.total))));
  Set(CURLOPT_WRITEFUNCTION, &Transfer::OnData);
  Set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  Set(CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  Set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  Set(CURLOPT_NOPROGRESS, 0L);
  Set(CURLOPT_XFERINFOFUNCTION, &Transfer::OnTick);
  Set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
}

void Transfer::SetLogin(const std::string& user, const std::string& password) {
  if (user.empty()) return;
  Set(CURLOPT_USERNAME, user.c_str());
  Set(CURLOPT_PASSWORD, password.c_str());
}

void Transfer::SetList(CURLoption option, const std::vector<std::string>& texts) {
  TextList list(nullptr, &curl_slist_free_all);
  for (const std::string& text : texts) {
    curl_slist* const longer = curl_slist_append(list.get(), text.c_str());
    if (longer == nullptr) {
      is_set_up_ = false;
      return;
    }
    list.release();
    list.reset(longer);
  }
  Set(option, list.get());
  lists_.push_back(std::move(list));
}

void Transfer::SetUpload(const std::string& text) {
  upload_ = text;
  Set(CURLOPT_UPLOAD, 1L);
  Set(CURLOPT_READFUNCTION, &Transfer::OnRead);
  Set(CURLOPT_READDATA, static_cast<void*>(this));
  Set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(text.size()));
}

bool Transfer::HasSecret(absl::string_view text) const {
  return std::any_of(secrets_.begin(), secrets_.end(), [&](const std::string& secret) {
    return !secret.empty() && absl::StrContains(text, secret);
  });
}

Reply Transfer::Failed(absl::StatusCode code, absl::string_view what, absl::string_view remedy,
                       bool is_final) const {
  return {absl::Status(code, absl::StrCat(shown_, ": ", what, remedy.empty() ? "" : "; ", remedy)),
          is_final, ""};
}

Reply Transfer::Run(bool is_mail) {
  if (curl_ == nullptr || !is_set_up_)
    return Failed(absl::StatusCode::kInternal, "libcurl refuses a setting",
                  "check that libcurl 7.77 or newer is installed", false);
  CURLcode code = curl_easy_perform(curl_.get());
  // Our message has arrived, and the rest of that long answer is of no interest.
  if (code == CURLE_WRITE_ERROR && received_ > kMaxReceived) code = CURLE_OK;
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  std::string answer =
      PlainText(absl::StripAsciiWhitespace(is_mail ? last_line_ : body_), Lines::kOne, kMaxAnswer);
  if (HasSecret(answer)) answer = "(an answer with one of our secrets)";
  if (!is_mail) answer = absl::StrCat(status, answer.empty() ? "" : " ", answer);
  const StatusRow* const row = is_mail ? Find(kSmtpStatuses, status) : Find(kHttpStatuses, status);
  if (code == CURLE_ABORTED_BY_CALLBACK)
    return Failed(absl::StatusCode::kCancelled, "the transfer was stopped", "", false);
  // How libcurl puts it that a mail server has said no.
  const bool is_no = code == CURLE_SEND_ERROR || code == CURLE_WEIRD_SERVER_REPLY;
  if (row != nullptr && (code == CURLE_OK || (is_mail && is_no))) {
    Reply reply =
        Failed(absl::StatusCode::kFailedPrecondition,
               absl::StrCat("the receiver answered ", answer), row->remedy, row->is_final);
    reply.answer = answer;
    return reply;
  }
  if (code == CURLE_OK && (is_mail || (status >= 200 && status <= 299)))
    return {absl::OkStatus(), false, answer};
  std::string reason = *reason_ == '\0' ? curl_easy_strerror(code) : reason_;
  if (HasSecret(reason) || absl::StrContains(reason, '@')) reason = curl_easy_strerror(code);
  const auto remedy = std::find_if(std::begin(kRemedies), std::end(kRemedies),
                                   [&](const Remedy& each) { return each.code == code; });
  return Failed(absl::StatusCode::kUnavailable, PlainText(reason, Lines::kOne, kMaxAnswer),
                remedy == std::end(kRemedies) ? "" : remedy->text, false);
}

// "https://host:8443" of a url.
std::string Origin(absl::string_view url) {
  const size_t host = url.find("://");
  return std::string(
      url.substr(0, host == absl::string_view::npos ? 0 : url.find_first_of("/?#", host + 3)));
}

}  // namespace

Reply Post(const HttpPost& post, const SendLimits& limits) {
  // A path may hold what makes a secret url one; a query always may.
  const std::string shown =
      post.is_url_secret ? Origin(post.url) : post.url.substr(0, post.url.find_first_of("?#"));
  std::vector<std::string> secrets = {post.token, post.password};
  if (post.is_url_secret) secrets.push_back(post.url.substr(Origin(post.url).size()));
  if (!post.token.empty() && !absl::StartsWith(post.url, "https://"))
    return {absl::FailedPreconditionError(
                absl::StrCat(shown, ": a token is sent over https alone; change the url")),
            false, ""};
  Transfer transfer(limits, shown, secrets);
  transfer.SetCommon(post.url, post.ca, CURLPROTO_HTTP | CURLPROTO_HTTPS);
  transfer.Set(CURLOPT_USERAGENT, absl::StrCat("musterd/", kVersion).c_str());
  transfer.Set(CURLOPT_POST, 1L);
  transfer.Set(CURLOPT_POSTFIELDS, post.body.c_str());
  transfer.Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  transfer.SetLogin(post.user, post.password);
  // Without "Expect: 100-continue", for which small receivers make everybody wait a second.
  std::vector<std::string> headers = {"Content-Type: application/json", "Expect:"};
  for (const auto& [name, value] : post.headers) headers.push_back(absl::StrCat(name, ": ", value));
  if (!post.token.empty()) headers.push_back(absl::StrCat("Authorization: Bearer ", post.token));
  transfer.SetList(CURLOPT_HTTPHEADER, headers);
  return transfer.Run(/*is_mail=*/false);
}

Reply Send(const SmtpMail& mail, const SendLimits& limits) {
  Transfer transfer(limits, mail.url, {mail.password});
  transfer.SetCommon(mail.url, mail.ca, CURLPROTO_SMTP | CURLPROTO_SMTPS);
  transfer.Set(CURLOPT_USE_SSL,
               static_cast<long>(mail.needs_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
  transfer.SetLogin(mail.user, mail.password);
  transfer.Set(CURLOPT_MAIL_FROM, absl::StrCat("<", mail.from, ">").c_str());
  std::vector<std::string> receivers;
  for (const std::string& to : mail.to) receivers.push_back(absl::StrCat("<", to, ">"));
  transfer.SetList(CURLOPT_MAIL_RCPT, receivers);
  // One that the server does not know keeps nothing from the others.
  transfer.Set(CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
  transfer.SetUpload(mail.text);
  return transfer.Run(/*is_mail=*/true);
}

}  // namespace muster::controller::notify
