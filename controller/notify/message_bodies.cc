// The forms in which the three types of channels get a message.
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "controller/notify/message.h"

namespace muster::controller::notify {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxJsonEntries = 500;
constexpr absl::Duration kEventAlert = absl::Minutes(10);
constexpr size_t kMaxSubject = 200;
constexpr size_t kMailLine = 76;
// "=?UTF-8?B?…?=" is at most 75 characters long: so many bytes before base64.
constexpr size_t kEncodedWord = 45;

std::string Stamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string Dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// "MusterRunFailed" of "run.failed".
std::string AlertName(absl::string_view kind) {
  std::string name = "Muster";
  bool is_first = true;
  for (const char c : kind) {
    const bool is_letter = absl::ascii_isalnum(static_cast<unsigned char>(c));
    if (is_letter) name += is_first ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    is_first = !is_letter;
  }
  return name;
}

// Words for a header: RFC 2047 where the text is not plain ASCII.
std::string HeaderText(absl::string_view text) {
  const std::string plain = PlainText(text, Lines::kOne, kMaxSubject);
  if (std::all_of(plain.begin(), plain.end(), absl::ascii_isprint)) return plain;
  std::vector<std::string> words;
  for (size_t at = 0; at < plain.size();) {
    size_t end = std::min(plain.size(), at + kEncodedWord);
    // Not within a character.
    while (end < plain.size() && (static_cast<unsigned char>(plain[end]) & 0xC0) == 0x80) --end;
    words.push_back(absl::StrCat(
        "=?UTF-8?B?", absl::Base64Escape(absl::string_view(plain).substr(at, end - at)), "?="));
    at = end;
  }
  return absl::StrJoin(words, "\r\n ");
}

std::string Base64Lines(absl::string_view text) {
  const std::string all = absl::Base64Escape(text);
  std::string lines;
  for (size_t at = 0; at < all.size(); at += kMailLine)
    absl::StrAppend(&lines, absl::string_view(all).substr(at, kMailLine), "\r\n");
  return lines;
}

}  // namespace

std::string WebhookBody(const Message& message) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < message.entries.size() && i < kMaxJsonEntries; ++i) {
    const MessageEntry& entry = message.entries[i];
    const auto names = ExpandHostlist(entry.nodes);
    list.push_back({{"kind", entry.kind},
                    {"severity", std::string(SeverityName(entry.severity))},
                    {"resolved", entry.resolved},
                    {"key", entry.subject},
                    {"nodes", entry.nodes},
                    {"node_count", entry.nodes.empty() || !names.ok() ? 0 : names->size()},
                    {"text", entry.text},
                    {"details", entry.details},
                    {"began_at", Stamp(entry.began_at)},
                    {"at", Stamp(entry.at)},
                    {"last_at", Stamp(entry.last_at)},
                    {"count", entry.count}});
  }
  const size_t left_out = message.entries.size() - list.size();
  return Dump(
      {{"version", 1},
       {"id", message.id},
       {"cluster", message.cluster},
       {"severity", std::string(SeverityName(message.severity()))},
       {"text",
        absl::StrCat(message.Title(),
                     message.entries.size() == 1 ? "" : absl::StrCat("\n", PlainBody(message)))},
       {"notifications", std::move(list)},
       {"left_out", left_out}});
}

std::string AlertsBody(const Message& message) {
  ordered_json alerts = ordered_json::array();
  for (const NotificationRecord& record : message.records) {
    ordered_json labels = {
        {"alertname", AlertName(record.kind)},
        {"cluster", message.cluster},
        {"kind", record.kind},
        {"key", record.subject},
        {"severity", std::string(SeverityName(static_cast<Severity>(record.severity)))}};
    const auto names = ExpandHostlist(record.nodes);
    if (!record.nodes.empty())
      labels[names.ok() && names->size() == 1 ? "node" : "nodes"] = record.nodes;
    absl::Time ends = record.at;
    if (!record.resolved && !record.ended_at.has_value()) {
      ends = std::max(message.now, record.at) + kAlertLease;
    } else if (!record.resolved) {
      // It has happened, and shows for a while. What was replaced by its end goes with the latter.
      const Kind* const kind = FindKind(record.kind);
      const bool lasts = kind != nullptr && kind->lasts;
      ends = lasts ? *record.ended_at : std::max(message.now, record.at) + kEventAlert;
    }
    alerts.push_back({{"labels", std::move(labels)},
                      {"annotations", {{"summary", record.text}, {"description", record.details}}},
                      {"startsAt", Stamp(record.began_at)},
                      {"endsAt", Stamp(std::max(ends, record.began_at))}});
  }
  return Dump(alerts);
}

std::string MailText(const Message& message, absl::string_view from,
                     const std::vector<std::string>& to) {
  const absl::string_view domain = from.substr(from.find('@') + 1);
  return absl::StrCat(
      "Date: ", absl::FormatTime("%a, %d %b %Y %H:%M:%S +0000", message.now, absl::UTCTimeZone()),
      "\r\nFrom: Muster <", from, ">\r\nTo: ", absl::StrJoin(to, ",\r\n "),
      "\r\nSubject: ", HeaderText(message.Title()), "\r\nMessage-ID: <", message.id, "@", domain,
      ">\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
      "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n",
      Base64Lines(absl::StrCat(message.Title(), "\n\n", PlainBody(message))));
}

}  // namespace muster::controller::notify
