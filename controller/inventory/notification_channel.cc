#include "controller/inventory/notification_channel.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text/ip_network.h"
#include "common/base/text/nearest_word.h"
#include "common/base/text/plain_text.h"
#include "controller/inventory/builder.h"
#include "controller/inventory/names.h"
#include "controller/inventory/words.h"

namespace muster::controller {
namespace {

using notify::Severity;

constexpr size_t kMaxUrl = 2048;
constexpr size_t kMaxMailAddress = 254;
constexpr size_t kMaxReceivers = 50;

constexpr Word<ChannelType> kTypes[] = {{"webhook", ChannelType::kWebhook},
                                        {"email", ChannelType::kEmail},
                                        {"alertmanager", ChannelType::kAlertmanager}};
constexpr Word<Severity> kSeverityWords[] = {
    {"info", Severity::kInfo}, {"warning", Severity::kWarning}, {"critical", Severity::kCritical}};

// The keys whose values are single words, and the types that have them.
struct TextKey {
  const char* key;
  std::string NotificationChannel::*field;
  bool is_secret;  // the name of one
  std::initializer_list<ChannelType> types;
};
const TextKey kTextKeys[] = {
    {"url",
     &NotificationChannel::url,
     false,
     {ChannelType::kWebhook, ChannelType::kEmail, ChannelType::kAlertmanager}},
    {"url_secret", &NotificationChannel::url_secret, true, {ChannelType::kWebhook}},
    {"key_secret", &NotificationChannel::key_secret, true, {ChannelType::kWebhook}},
    {"token_secret",
     &NotificationChannel::token_secret,
     true,
     {ChannelType::kWebhook, ChannelType::kAlertmanager}},
    {"ca",
     &NotificationChannel::ca,
     false,
     {ChannelType::kWebhook, ChannelType::kEmail, ChannelType::kAlertmanager}},
    {"from", &NotificationChannel::from, false, {ChannelType::kEmail}},
    {"user", &NotificationChannel::user, false, {ChannelType::kEmail, ChannelType::kAlertmanager}},
    {"password_secret",
     &NotificationChannel::password_secret,
     true,
     {ChannelType::kEmail, ChannelType::kAlertmanager}},
};

// "" where it is a url that the type can use.
std::string CheckUrl(const NotificationChannel& channel) {
  const bool is_mail = channel.type == ChannelType::kEmail;
  const char* const form = is_mail ? "smtp://HOST:PORT or smtps://HOST:PORT" : "https://HOST/PATH";
  const absl::string_view url = channel.url;
  const auto wrong = [&](absl::string_view what) {
    // Never shows what may be a password.
    return absl::StrCat("the url ", what, "; the form is ", form);
  };
  if (url.size() > kMaxUrl || !std::all_of(url.begin(), url.end(), absl::ascii_isgraph))
    return wrong("contains blanks or other characters that a url cannot have");
  absl::string_view rest = url;
  const bool has_scheme =
      is_mail ? absl::ConsumePrefix(&rest, "smtp://") || absl::ConsumePrefix(&rest, "smtps://")
              : absl::ConsumePrefix(&rest, "https://") || absl::ConsumePrefix(&rest, "http://");
  if (!has_scheme) return wrong(is_mail ? "is not one of a mail server" : "is not one of the web");
  const size_t end = rest.find_first_of("/?#");
  absl::string_view host = rest.substr(0, end);
  if (absl::StrContains(host, '@'))
    return wrong(
        "contains a user; name the secret with the whole url as url_secret, or a login by "
        "its keys");
  if (is_mail && end != absl::string_view::npos) return wrong("has a path");
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos && host.back() != ']') {
    int port = 0;
    if (!absl::SimpleAtoi(host.substr(colon + 1), &port) || port < 1 || port > 65535)
      return wrong("has no port after ':'");
    host = host.substr(0, colon);
  }
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]"))
    return wrong("lacks a ']'");
  const std::string fault = CheckAddress(absl::AsciiStrToLower(host));
  return fault.empty() ? "" : absl::StrCat("the host of the url: ", fault);
}

// Whether nobody on the way reads what is sent there.
bool IsPrivateUrl(absl::string_view url) {
  if (absl::ConsumePrefix(&url, "https://")) return true;
  if (!absl::ConsumePrefix(&url, "http://")) return false;
  const absl::string_view host = url.substr(0, url.find_first_of("/?#"));
  // Without the port; an address of IPv6 has colons of its own.
  const size_t end = absl::StartsWith(host, "[") ? host.find(']') + 1 : host.find(':');
  return IsLoopbackHost(host.substr(0, end));
}

// "" where it is the address of one mailbox, written plainly.
std::string CheckMailAddress(absl::string_view text) {
  const size_t at = text.find('@');
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("@.!#$%&'*+-/=?^_`{|}~", c);
  });
  if (is_plain && text.size() <= kMaxMailAddress && at != 0 && at != absl::string_view::npos &&
      at == text.rfind('@') && CheckAddress(absl::AsciiStrToLower(text.substr(at + 1))).empty())
    return "";
  return absl::StrCat("'", PlainText(text, Lines::kOne, kMaxMailAddress),
                      "' is not a mail address; the form is name@example.org");
}

// Never shows the text: it may be the secret itself.
std::string CheckSecretName(absl::string_view text) {
  const bool is_name = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-.", c);
  });
  if (is_name && !text.empty()) return "";
  return "this is not the name of a secret; write the name under which `muster secret set` has it";
}

std::string CheckKindWord(absl::string_view word) {
  if (notify::IsKindWord(word)) return "";
  std::vector<std::string> known;
  for (const notify::Kind& kind : notify::Kinds()) known.emplace_back(kind.name);
  return absl::StrCat("unknown kind '", word, "'", DidYouMean(word, known),
                      "; docs/notifications.md lists the kinds, and 'rollout' is all of rollout.*");
}

}  // namespace

absl::string_view ChannelTypeName(ChannelType type) { return WordOf(kTypes, type); }

bool Takes(const NotificationChannel& channel, absl::string_view kind, Severity severity) {
  if (severity < channel.severity) return false;
  return channel.kinds.empty() ||
         std::any_of(channel.kinds.begin(), channel.kinds.end(),
                     [&](const std::string& word) { return notify::TakesKind(word, kind); });
}

void InventoryBuilder::ReadChannel(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "notification channel");
  auto channel = std::make_shared<NotificationChannel>();
  channel->name = entry.key;
  channel->place = origin.ToPlace();
  const std::optional<Reference> type = ReadReference(document, reader, "type");
  const bool has_type =
      type.has_value() &&
      errors_.Check(type->origin, ParseWord(kTypes, "type", type->text, &channel->type));
  if (!type.has_value() && entry.value.IsMap())
    errors_.Add(origin, "a channel needs a type: webhook, email or alertmanager");
  ReadChannelTexts(document, reader, has_type, *channel);
  for (const Reference& kind : ReadRestriction(document, reader, "kinds")) {
    errors_.Check(kind.origin, CheckKindWord(kind.text));
    channel->kinds.push_back(kind.text);
  }
  if (const auto word = ReadReference(document, reader, "severity")) {
    errors_.Check(word->origin,
                  ParseWord(kSeverityWords, "severity", word->text, &channel->severity));
  }
  ReadReceivers(document, reader, *channel);
  errors_.Add(reader.Optional("tls", &channel->tls));
  errors_.Add(reader.Finish());
  if (has_type) CheckChannel(origin, *channel);
  if (!errors_.Check(origin, CheckName("notification channel", channel->name))) return;
  const auto same = [&](const auto& other) { return other->name == channel->name; };
  const auto& known = inventory_.channels_;
  if (const auto first = std::find_if(known.begin(), known.end(), same); first != known.end()) {
    errors_.Add(origin, absl::StrCat("duplicate notification channel ", channel->name,
                                     ", first in ", (*first)->place.ToString()));
    return;
  }
  if (known.size() == kMaxNotificationChannels) {
    errors_.Add(origin,
                absl::StrCat("more than ", kMaxNotificationChannels, " notification channels"));
    return;
  }
  inventory_.channels_.push_back(std::move(channel));
}

void InventoryBuilder::ReadChannelTexts(const yaml::Document& document, yaml::MapReader& reader,
                                        bool has_type, NotificationChannel& channel) {
  for (const TextKey& row : kTextKeys) {
    const auto value = ReadReference(document, reader, row.key);
    if (!value.has_value()) continue;
    channel.*row.field = value->text;
    if (has_type && std::find(row.types.begin(), row.types.end(), channel.type) == row.types.end())
      errors_.Add(value->origin, absl::StrCat("channels of type ", ChannelTypeName(channel.type),
                                              " have no '", row.key, "'"));
    if (row.is_secret) errors_.Check(value->origin, CheckSecretName(value->text));
    if (has_type && absl::string_view(row.key) == "url")
      errors_.Check(value->origin, CheckUrl(channel));
    if (absl::string_view(row.key) == "from")
      errors_.Check(value->origin, CheckMailAddress(value->text));
    if (absl::string_view(row.key) == "ca" &&
        !absl::StrContains(value->text, "-----BEGIN CERTIFICATE-----")) {
      errors_.Add(value->origin,
                  "'ca' is not a certificate in PEM; write the file's contents below `ca: |`");
    }
  }
}

void InventoryBuilder::ReadReceivers(const yaml::Document& document, yaml::MapReader& reader,
                                     NotificationChannel& channel) {
  for (const Reference& to : ReadReferences(document, reader, "to")) {
    errors_.Check(to.origin, CheckMailAddress(to.text));
    channel.to.push_back(to.text);
    if (channel.to.size() == kMaxReceivers + 1)
      errors_.Add(to.origin, absl::StrCat("more than ", kMaxReceivers,
                                          " receivers; use the address of a list"));
  }
}

void InventoryBuilder::CheckChannel(const Origin& origin, const NotificationChannel& channel) {
  const auto need = [&](bool holds, absl::string_view remedy) {
    if (!holds) errors_.Add(origin, absl::StrCat("channel ", channel.name, " ", remedy));
  };
  need(channel.url.empty() != channel.url_secret.empty(),
       channel.type == ChannelType::kWebhook ? "needs either url or url_secret" : "needs a url");
  need(channel.token_secret.empty() || channel.url.empty() ||
           absl::StartsWith(channel.url, "https://"),
       "would send its token in clear; use https, or no token_secret");
  need(channel.type == ChannelType::kWebhook ||
           channel.user.empty() == channel.password_secret.empty(),
       "needs user and password_secret together");
  if (channel.type == ChannelType::kAlertmanager) {
    need(channel.user.empty() || channel.token_secret.empty(),
         "has a token and a user; leave one out");
    need(channel.user.empty() || IsPrivateUrl(channel.url),
         "would send its password in clear; use https, or http to this machine (127.0.0.1)");
  }
  if (channel.type != ChannelType::kEmail) {
    need(channel.to.empty() && channel.tls, "has 'to' or 'tls', which are for email alone");
    return;
  }
  need(!channel.from.empty(), "needs 'from', the address of the sender");
  need(!channel.to.empty(), "needs 'to', the addresses of the receivers");
  need(channel.tls || channel.user.empty(), "would send its password in clear; leave out tls");
  need(channel.tls || !absl::StartsWith(channel.url, "smtps://"),
       "has tls: false, but smtps:// is TLS; use smtp://");
}

nlohmann::ordered_json ToValue(const NotificationChannel& channel) {
  nlohmann::ordered_json value = {{"type", std::string(ChannelTypeName(channel.type))}};
  for (const TextKey& row : kTextKeys) {
    if (!(channel.*row.field).empty()) value[row.key] = channel.*row.field;
  }
  if (!channel.to.empty()) value["to"] = channel.to;
  if (!channel.tls) value["tls"] = false;
  if (!channel.kinds.empty()) value["kinds"] = channel.kinds;
  if (channel.severity != Severity::kInfo)
    value["severity"] = std::string(SeverityName(channel.severity));
  return value;
}

}  // namespace muster::controller
