#include "controller/notify/message.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

Message Of(std::vector<NotificationRecord> rows) {
  uint64_t sequence = 0;
  for (NotificationRecord& row : rows) row.sequence = ++sequence;
  return Compose("m-1", "lab", std::move(rows), kNow + absl::Minutes(1));
}

TEST(Message, OfOneIsItsLine) {
  NotificationRecord row = Row("c001", "run r-1 failed");
  EXPECT_EQ(Of({row}).Title(), "[lab] warning: c001: run r-1 failed");
  row.count = 3;
  EXPECT_EQ(Of({row}).Title(), "[lab] warning: c001: run r-1 failed (3 times)");
  row.resolved = true;
  row.count = 1;
  EXPECT_EQ(Of({row}).Title(), "[lab] resolved: c001: run r-1 failed");
  row.nodes = "";
  EXPECT_EQ(Of({row}).Title(), "[lab] resolved: run r-1 failed");
}

TEST(Message, OfManyFoldsNodes) {
  std::vector<NotificationRecord> rows;
  for (int i = 101; i <= 300; ++i) rows.push_back(Row(absl::StrCat("c", i), "GPU gone"));
  rows.push_back(Row("c900", "all is lost", "node.cloned", Severity::kCritical));
  const Message message = Of(rows);
  ASSERT_THAT(message.entries, SizeIs(2));
  EXPECT_EQ(message.entries[0].kind, "node.cloned") << "the most severe first";
  EXPECT_EQ(message.entries[1].nodes, "c[101-300]");
  EXPECT_EQ(message.entries[1].count, 200u);
  EXPECT_EQ(message.Title(), "[lab] 2 notifications: 1 critical, 1 warning");
  EXPECT_THAT(PlainBody(message),
              AllOf(HasSubstr("c[101-300]: GPU gone\n"), Not(HasSubstr("times"))));
  EXPECT_EQ(message.severity(), Severity::kCritical);
}

TEST(Message, OnlyWhatIsSaidOfANodeIsSaid) {
  const std::string drained = "gpu_lost: it does not answer; drained";
  const std::string kept = "gpu_lost: it does not answer; not drained: too many nodes are bad";
  NotificationRecord with_details = Row("c005", drained, "health.condition");
  with_details.details = "see: muster health c005";
  const Message message =
      Of({Row("c001", drained, "health.condition"), Row("c002", kept, "health.condition"),
          Row("c003", drained, "health.condition"), with_details});
  std::vector<std::string> headlines;
  for (const MessageEntry& entry : message.entries) headlines.push_back(Headline(entry));
  EXPECT_THAT(headlines,
              UnorderedElementsAre("warning: c[001,003]: " + drained, "warning: c002: " + kept,
                                   "warning: c005: " + drained));
}

TEST(Message, WithoutNodesNothingIsFolded) {
  EXPECT_THAT(Of({Row("", "one"), Row("", "two")}).entries, SizeIs(2));
}

TEST(Message, ForPeopleIsBounded) {
  std::vector<NotificationRecord> rows;
  for (int i = 0; i < 5000; ++i) {
    rows.push_back(Row("", std::string(400, 'x')));
    rows.back().details = std::string(8000, 'y');
  }
  const Message message = Of(rows);
  EXPECT_LT(PlainBody(message).size(), 70'000u);
  EXPECT_THAT(PlainBody(message), HasSubstr("and 4950 more"));
  const auto json = nlohmann::json::parse(WebhookBody(message));
  EXPECT_THAT(json["notifications"], SizeIs(500));
  EXPECT_EQ(json["left_out"], 4500);
}

TEST(Message, ForAWebhook) {
  NotificationRecord row = Row("c[003-004]", "it \"failed\"\xff");
  row.details = "c003: no\nc004: no";
  const auto json = nlohmann::json::parse(WebhookBody(Of({row})));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["id"], "m-1");
  EXPECT_EQ(json["cluster"], "lab");
  EXPECT_EQ(json["severity"], "warning");
  EXPECT_EQ(json["left_out"], 0);
  EXPECT_THAT(json["text"].get<std::string>(), StartsWith("[lab] warning: c[003-004]: it"));
  const auto& entry = json["notifications"][0];
  EXPECT_EQ(entry["kind"], "run.failed");
  EXPECT_EQ(entry["key"], "r-1");
  EXPECT_EQ(entry["nodes"], "c[003-004]");
  EXPECT_EQ(entry["node_count"], 2);
  EXPECT_EQ(entry["resolved"], false);
  EXPECT_EQ(entry["details"], "c003: no\nc004: no");
  EXPECT_EQ(entry["at"], "2030-03-17T17:46:40.000Z");
  EXPECT_EQ(entry["count"], 1);
}

TEST(Message, ForAlertmanagerIsAnAlertEach) {
  NotificationRecord lasting = Row("c001", "GPU gone", "health.condition");
  lasting.ended_at.reset();
  NotificationRecord resolved = Row("c[002-003]", "GPU is back", "health.condition");
  resolved.resolved = true;
  resolved.began_at = kNow - absl::Hours(1);
  const auto alerts =
      nlohmann::json::parse(AlertsBody(Of({lasting, resolved, Row("c004", "failed")})));
  ASSERT_THAT(alerts, SizeIs(3));
  EXPECT_EQ(alerts[0]["labels"]["alertname"], "MusterHealthCondition");
  EXPECT_EQ(alerts[0]["labels"]["node"], "c001");
  EXPECT_EQ(alerts[0]["labels"]["cluster"], "lab");
  EXPECT_EQ(alerts[0]["labels"]["key"], "r-1");
  EXPECT_EQ(alerts[0]["annotations"]["summary"], "GPU gone");
  EXPECT_EQ(alerts[0]["startsAt"], "2030-03-17T17:46:40.000Z");
  EXPECT_EQ(alerts[0]["endsAt"], "2030-03-17T17:52:40.000Z") << "five minutes from this message";
  EXPECT_EQ(alerts[1]["labels"]["nodes"], "c[002-003]");
  EXPECT_EQ(alerts[1]["startsAt"], "2030-03-17T16:46:40.000Z");
  EXPECT_EQ(alerts[1]["endsAt"], "2030-03-17T17:46:40.000Z");
  EXPECT_EQ(alerts[2]["labels"]["alertname"], "MusterRunFailed");
  EXPECT_EQ(alerts[2]["endsAt"], "2030-03-17T17:57:40.000Z");
}

// The header ends where it should, whatever the text is.
TEST(Message, ForMailHasNoHeaderOfATextsMaking) {
  const std::string hostile = "x\r\nBcc: all@example.org\r\n\r\nbody";
  const std::string mail = MailText(Of({Row("c001", hostile)}), "muster@example.org",
                                    {"ann@example.org", "bob@example.org"});
  const std::string head = mail.substr(0, mail.find("\r\n\r\n"));
  for (absl::string_view line : absl::StrSplit(head, "\r\n")) {
    EXPECT_FALSE(absl::StartsWith(line, "Bcc")) << line;
    EXPECT_LE(line.size(), 998u);
  }
  EXPECT_THAT(head, HasSubstr("To: ann@example.org,\r\n bob@example.org\r\n"));
  EXPECT_THAT(head, HasSubstr("Message-ID: <m-1@example.org>\r\n"));
  EXPECT_THAT(head, HasSubstr("From: Muster <muster@example.org>\r\n"));
  EXPECT_THAT(head, HasSubstr("Date: Sun, 17 Mar 2030 17:47:40 +0000\r\n"));
  EXPECT_THAT(head, HasSubstr("Auto-Submitted: auto-generated\r\n"));
  std::string body;
  ASSERT_TRUE(
      absl::Base64Unescape(absl::StrReplaceAll(mail.substr(head.size()), {{"\r\n", ""}}), &body));
  EXPECT_THAT(body, HasSubstr("run.failed r-1"));
}

TEST(Message, ForMailEncodesASubjectThatIsNotAscii) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "größer";
  const std::string mail = MailText(Of({Row("c001", text)}), "a@b.c", {"d@e.f"});
  const size_t at = mail.find("Subject: ");
  const std::string subject = mail.substr(at + 9, mail.find("\r\nMessage-ID") - at - 9);
  std::string decoded;
  for (absl::string_view word : absl::StrSplit(subject, "\r\n ")) {
    EXPECT_LE(word.size(), 75u);
    ASSERT_TRUE(absl::StartsWith(word, "=?UTF-8?B?") && absl::EndsWith(word, "?=")) << word;
    std::string part;
    ASSERT_TRUE(absl::Base64Unescape(word.substr(10, word.size() - 12), &part));
    EXPECT_NE(static_cast<unsigned char>(part[0]) & 0xC0, 0x80) << "within a character";
    decoded += part;
  }
  EXPECT_THAT(decoded, StartsWith("[lab] warning: c001: größergrößer"));
}

}  // namespace
}  // namespace muster::controller::notify
