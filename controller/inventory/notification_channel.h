// Where notifications go: an entry of `notifications:`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "controller/inventory/inventory.h"
#include "controller/notify/kinds/kinds.h"

namespace muster::controller {

// Each channel has a thread.
inline constexpr size_t kMaxNotificationChannels = 16;

enum class ChannelType { kWebhook, kEmail, kAlertmanager };
absl::string_view ChannelTypeName(ChannelType type);  // "webhook", "email", "alertmanager"

// Immutable once the inventory is parsed. Secrets are names: their values are in the store.
struct NotificationChannel {
  std::string name;
  ChannelType type = ChannelType::kWebhook;
  std::string url;                 // http, https; smtp, smtps. "": it is a secret
  std::string url_secret;          // the secret that is the url; "": `url` is
  std::string key_secret;          // that signs what a webhook gets; "": nothing is signed
  std::string token_secret;        // sent as a bearer's token; "": none
  std::string ca;                  // PEM; trusted instead of the system's authorities; "": those
  std::vector<std::string> kinds;  // kinds and families; empty: all
  notify::Severity severity = notify::Severity::kInfo;  // the least that is taken
  // For e-mail; `user` and `password_secret` for Alertmanager, too.
  std::string from;
  std::vector<std::string> to;
  std::string user;             // "": no login
  std::string password_secret;  // set exactly where `user` is
  bool tls = true;              // never in clear, and never to a server that cannot prove its name
  Place place;
};

// Whether the channel takes a notification of that kind and severity.
bool Takes(const NotificationChannel& channel, absl::string_view kind, notify::Severity severity);

// What was written, for `show` and differences.
nlohmann::ordered_json ToValue(const NotificationChannel& channel);

}  // namespace muster::controller
