// Messages over HTTP and SMTP, by libcurl.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "controller/notify/reply.h"

namespace muster::controller::notify {

struct SendLimits {
  absl::Duration connect = absl::Seconds(10);  // name and connection, with TLS
  absl::Duration total = absl::Seconds(20);
  // Asked at least once a second; true ends the transfer. Empty: never.
  std::function<bool()> cancelled = {};
};

struct HttpPost {
  std::string url;
  bool is_url_secret = false;  // errors then name its host alone
  std::vector<std::pair<std::string, std::string>> headers;
  std::string token;  // secret; sent as "Authorization: Bearer", over https alone; "": none
  std::string user, password;  // by "Authorization: Basic"; "": none
  std::string ca;              // PEM; "": the system's
  std::string body;
};
// Blocks within the limits. Certificates are verified, redirects are not followed. Thread-safe.
Reply Post(const HttpPost& post, const SendLimits& limits);

struct SmtpMail {
  std::string url;        // smtp:// or smtps://
  bool needs_tls = true;  // with smtp://: STARTTLS, or nothing is sent
  std::string user, password;
  std::string ca;
  std::string from;
  std::vector<std::string> to;
  std::string text;  // with headers, lines ending in CRLF
};
// As Post().
Reply Send(const SmtpMail& mail, const SendLimits& limits);

}  // namespace muster::controller::notify
