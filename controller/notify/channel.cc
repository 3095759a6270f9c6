#include "controller/notify/channel.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "controller/notify/curl_transport.h"
#include "controller/notify/signature.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::notify {
namespace {

using Cancelled = std::function<bool()>;

// As whom notifications read secrets: what `muster secret set --role` has to name.
constexpr char kReader[] = "notifications";

absl::StatusOr<std::string> SecretOf(SecretSource& secrets, const std::string& name) {
  if (name.empty()) return std::string();
  absl::StatusOr<std::string> value = secrets.Get(name, std::nullopt, {kReader, ""});
  if (value.ok()) return value;
  return Annotate(value.status(), absl::StrCat("secret ", name));
}

Reply NotSent(const absl::Status& why) { return {why, false, ""}; }

class Webhook final : public Channel {
 public:
  Webhook(ChannelConfig config, SecretSource& secrets)
      : config_(std::move(config)), secrets_(secrets) {}

  Reply Send(const Message& message, const Cancelled& cancelled) override {
    absl::StatusOr<HttpPost> post = Compose(message);
    if (!post.ok()) return NotSent(post.status());
    return Post(*post, {.cancelled = cancelled});
  }

 private:
  absl::StatusOr<HttpPost> Compose(const Message& message) const {
    HttpPost post;
    post.url = config_->url;
    if (!config_->url_secret.empty()) {
      ASSIGN_OR_RETURN(const std::string url, SecretOf(secrets_, config_->url_secret));
      post.url = std::string(absl::StripAsciiWhitespace(url));
      post.is_url_secret = true;
    }
    ASSIGN_OR_RETURN(post.token, SecretOf(secrets_, config_->token_secret));
    ASSIGN_OR_RETURN(const std::string key, SecretOf(secrets_, config_->key_secret));
    post.ca = config_->ca;
    post.body = WebhookBody(message);
    const std::string timestamp = absl::StrCat(absl::ToUnixSeconds(message.now));
    post.headers = {{"Idempotency-Key", message.id}, {"X-Muster-Timestamp", timestamp}};
    if (!key.empty())
      post.headers.emplace_back("X-Muster-Signature", Signature(key, timestamp, post.body));
    return post;
  }

  const ChannelConfig config_;
  SecretSource& secrets_;
};

class Alertmanager final : public Channel {
 public:
  Alertmanager(ChannelConfig config, SecretSource& secrets)
      : config_(std::move(config)), secrets_(secrets) {}

  Reply Send(const Message& message, const Cancelled& cancelled) override {
    absl::StatusOr<std::string> token = SecretOf(secrets_, config_->token_secret);
    if (!token.ok()) return NotSent(token.status());
    absl::StatusOr<std::string> password = SecretOf(secrets_, config_->password_secret);
    if (!password.ok()) return NotSent(password.status());
    HttpPost post;
    post.url = absl::StrCat(absl::StripSuffix(config_->url, "/"), "/api/v2/alerts");
    post.token = *std::move(token);
    post.user = config_->user;
    post.password = *std::move(password);
    post.ca = config_->ca;
    post.body = AlertsBody(message);
    return Post(post, {.cancelled = cancelled});
  }
  bool keeps_state() const override { return true; }

 private:
  const ChannelConfig config_;
  SecretSource& secrets_;
};

class Mail final : public Channel {
 public:
  Mail(ChannelConfig config, SecretSource& secrets)
      : config_(std::move(config)), secrets_(secrets) {}

  Reply Send(const Message& message, const Cancelled& cancelled) override {
    absl::StatusOr<std::string> password = SecretOf(secrets_, config_->password_secret);
    if (!password.ok()) return NotSent(password.status());
    return notify::Send(SmtpMail{.url = config_->url,
                                 .needs_tls = config_->tls,
                                 .user = config_->user,
                                 .password = *std::move(password),
                                 .ca = config_->ca,
                                 .from = config_->from,
                                 .to = config_->to,
                                 .text = MailText(message, config_->from, config_->to)},
                        {.cancelled = cancelled});
  }

 private:
  const ChannelConfig config_;
  SecretSource& secrets_;
};

template <typename T>
std::unique_ptr<Channel> Make(ChannelConfig config, SecretSource& secrets) {
  return std::make_unique<T>(std::move(config), secrets);
}

struct Maker {
  ChannelType type;
  std::unique_ptr<Channel> (*make)(ChannelConfig, SecretSource&);
};
constexpr Maker kMakers[] = {
    {ChannelType::kWebhook, &Make<Webhook>},
    {ChannelType::kEmail, &Make<Mail>},
    {ChannelType::kAlertmanager, &Make<Alertmanager>},
};

}  // namespace

std::unique_ptr<Channel> MakeChannel(ChannelConfig config, SecretSource& secrets) {
  for (const Maker& maker : kMakers) {
    if (maker.type == config->type) return maker.make(std::move(config), secrets);
  }
  return nullptr;
}

}  // namespace muster::controller::notify
