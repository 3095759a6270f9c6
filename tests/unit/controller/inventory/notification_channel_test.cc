#include "controller/inventory/notification_channel.h"

#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kCa[] = "-----BEGIN CERTIFICATE-----";

absl::StatusOr<Inventory> ParseChannels(const std::string& text, VariableCheck check = nullptr) {
  return ParseInventory(
      {{"f", absl::StrCat("cluster: x\nnodes: {c1: {role: compute}}\nnotifications:\n", text)}},
      check);
}

TEST(NotificationChannel, HasTheKeysOfItsType) {
  const auto inventory = ParseChannels(absl::StrCat(R"(
  chat:
    type: webhook
    url_secret: chat_url
    key_secret: chat-key
    kinds: [rollout, run.failed]
    severity: warning
  ops:
    type: email
    url: smtp://mail.example.org:587
    ca: ")",
                                                    kCa, R"("
    user: muster
    password_secret: smtp_password
    from: muster+hpc@example.org
    to: [ops@example.org, night@example.org]
  relay: {type: email, url: "smtp://10.0.0.1", tls: false, from: a@b.c, to: d@e.f}
  alerts: {type: alertmanager, url: "https://[fd00::1]:9093/am", token_secret: am}
  here: {type: alertmanager, url: "http://127.0.0.1:9093", user: muster, password_secret: am}
)"));
  ASSERT_OK(inventory);
  ASSERT_THAT(inventory->channels(), SizeIs(5));
  const NotificationChannel& chat = *inventory->channels()[0];
  EXPECT_EQ(chat.name, "chat");
  EXPECT_EQ(chat.type, ChannelType::kWebhook);
  EXPECT_EQ(chat.url_secret, "chat_url");
  EXPECT_EQ(chat.key_secret, "chat-key");
  EXPECT_THAT(chat.kinds, ElementsAre("rollout", "run.failed"));
  EXPECT_EQ(chat.severity, notify::Severity::kWarning);
  const NotificationChannel& ops = *inventory->channels()[1];
  EXPECT_EQ(ops.type, ChannelType::kEmail);
  EXPECT_EQ(ops.ca, kCa);
  EXPECT_EQ(ops.user, "muster");
  EXPECT_EQ(ops.password_secret, "smtp_password");
  EXPECT_EQ(ops.from, "muster+hpc@example.org");
  EXPECT_THAT(ops.to, ElementsAre("ops@example.org", "night@example.org"));
  EXPECT_TRUE(ops.tls);
  EXPECT_EQ(ops.severity, notify::Severity::kInfo);
  EXPECT_FALSE(inventory->channels()[2]->tls);
  EXPECT_EQ(inventory->channels()[3]->type, ChannelType::kAlertmanager);
  EXPECT_EQ(inventory->channels()[4]->user, "muster");
  EXPECT_EQ(inventory->channels()[4]->password_secret, "am");
}

TEST(NotificationChannel, TakesKindsAndSeverities) {
  const auto inventory = ParseChannels(
      "  a: {type: webhook, url: \"https://x/\", kinds: [rollout], severity: warning}\n"
      "  b: {type: webhook, url: \"https://x/\"}\n");
  ASSERT_OK(inventory);
  const NotificationChannel& some = *inventory->channels()[0];
  EXPECT_TRUE(Takes(some, "rollout.paused", notify::Severity::kCritical));
  EXPECT_TRUE(Takes(some, "rollout.paused", notify::Severity::kWarning));
  EXPECT_FALSE(Takes(some, "rollout.completed", notify::Severity::kInfo));
  EXPECT_FALSE(Takes(some, "run.failed", notify::Severity::kCritical));
  EXPECT_TRUE(Takes(*inventory->channels()[1], "run.failed", notify::Severity::kInfo));
}

TEST(NotificationChannel, FaultsHaveTheirPlace) {
  for (const char* channel :
       {"a: {url: \"https://x/\"}",
        "a: {type: pigeon, url: \"https://x/\"}",
        "a: nonsense",
        "a: {type: webhook}",
        "a: {type: webhook, url: \"https://x/\", url_secret: y}",
        "a: {type: webhook, url: \"ftp://x/\"}",
        "a: {type: webhook, url: \"https://me:pa55@x/\"}",
        "a: {type: webhook, url: \"https://x:y/\"}",
        "a: {type: webhook, url: \"https://x/a b\"}",
        "a: {type: webhook, url: \"https:///a\"}",
        "a: {type: webhook, url: \"https://x/\", to: a@b.c}",
        "a: {type: webhook, url: \"https://x/\", from: a@b.c}",
        "a: {type: webhook, url: \"https://x/\", kinds: rolout.paused}",
        "a: {type: webhook, url: \"https://x/\", severity: grave}",
        "a: {type: webhook, url: \"http://x/\", token_secret: t}",
        "a: {type: webhook, url: \"https://x/\", key_secret: \"a b\"}",
        "a: {type: webhook, url: \"https://x/\", ca: /etc/ssl/ca.pem}",
        "a: {type: webhook, url: \"https://x/\", sevrity: info}",
        "a: {type: email, url: \"smtp://x\", to: a@b.c}",
        "a: {type: email, url: \"smtp://x\", from: a@b.c}",
        "a: {type: email, url: \"smtp://x/path\", from: a@b.c, to: a@b.c}",
        "a: {type: email, url: \"smtp://x\", from: \"a@b.c\\r\\nBcc: x\", to: \"A <a@b.c>\"}",
        "a: {type: email, url: \"smtp://x\", from: a@b.c, to: a@b.c, user: me}",
        "a: {type: email, url: \"smtp://x\", from: a@b.c, to: a@b.c, tls: false, user: me, "
        "password_secret: p}",
        "a: {type: email, url: \"smtps://x\", from: a@b.c, to: a@b.c, tls: false}",
        "a: {type: alertmanager, url: \"https://x/\", key_secret: k}",
        "a: {type: alertmanager, url: \"https://x/\", user: me}",
        "a: {type: alertmanager, url: \"https://x/\", user: me, password_secret: p, "
        "token_secret: t}",
        "a: {type: alertmanager, url: \"http://127.0.0.1.x/\", user: me, password_secret: p}"}) {
    EXPECT_THAT(ParseChannels(absl::StrCat("  ", channel, "\n")),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << channel;
  }
}

TEST(NotificationChannel, AnEmptyListOfKindsIsNotEveryKind) {
  for (const char* value : {"", " []"}) {
    const std::string text =
        absl::StrCat("  a:\n    type: webhook\n    url: https://x/\n    kinds:", value, "\n");
    EXPECT_THAT(ParseChannels(text, [](absl::string_view) { return std::string(); }),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << value;
    // A stored one is of a version that took it.
    EXPECT_OK(ParseChannels(text));
  }
}

TEST(NotificationChannel, AreBounded) {
  std::string text;
  for (size_t i = 0; i <= kMaxNotificationChannels; ++i)
    absl::StrAppend(&text, "  a", i, ": {type: webhook, url: \"https://x/\"}\n");
  EXPECT_THAT(ParseChannels(text), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// They are shown and compared, and no playbook sees them.
TEST(NotificationChannel, AChangeShows) {
  const auto before = ParseChannels("  a: {type: webhook, url: \"https://x/\"}\n");
  const auto now = ParseChannels(
      "  a: {type: webhook, url: \"https://x/\", severity: critical}\n"
      "  b: {type: email, url: \"smtp://x\", from: a@b.c, to: d@e.f}\n");
  ASSERT_OK(before);
  ASSERT_OK(now);
  EXPECT_THAT(absl::StrJoin(DiffInventory(*before, *now), "\n"), Said());
  EXPECT_THAT(DiffInventory(*now, *now), IsEmpty());
  EXPECT_EQ(ContentDigest(*before), ContentDigest(*now));
}

}  // namespace
}  // namespace muster::controller
