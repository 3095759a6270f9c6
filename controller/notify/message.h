// What one channel is told at once: a notification, or many of them folded. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/notify/kinds/kinds.h"
#include "controller/store/tables.h"

namespace muster::controller::notify {

// Notifications that differ in their nodes alone.
struct MessageEntry {
  std::string kind;
  Severity severity = Severity::kInfo;
  bool resolved = false;
  std::string subject;
  std::string nodes;  // a host list; may be empty
  std::string text;
  std::string details;
  absl::Time began_at, at, last_at;
  uint64_t count = 0;    // with those that were folded into a record before
  uint64_t records = 0;  // of the message
};

struct Message {
  // The same in each attempt to send it: receivers know by it what they have already.
  std::string id;
  std::string cluster;
  absl::Time now;  // the time of the attempt
  std::vector<NotificationRecord> records;
  std::vector<MessageEntry> entries;  // the records, folded; the most severe first

  Severity severity() const;  // the highest; of those that are not resolved, if there are any
  std::string Title() const;  // one line: "[lab] critical: c001: GPU 3 does not answer"
};

// `records` has at least one.
Message Compose(std::string id, std::string cluster, std::vector<NotificationRecord> records,
                absl::Time now);

// "critical: c[001-003]: GPU 3 does not answer"; "resolved: …".
std::string Headline(const MessageEntry& entry);

// The message for people: each entry with its details, at most some tens of kilobytes.
std::string PlainBody(const Message& message);
// The JSON of a webhook, as docs/notifications.md has it.
std::string WebhookBody(const Message& message);
// The array of alerts for Alertmanager's POST /api/v2/alerts. What lasts ends `kAlertLease` after
// this message, unless it is sent again.
inline constexpr absl::Duration kAlertLease = absl::Minutes(5);
std::string AlertsBody(const Message& message);

// A mail with its headers, lines ending in CRLF. The addresses must have been checked; nothing else
// can add a header.
std::string MailText(const Message& message, absl::string_view from,
                     const std::vector<std::string>& to);

}  // namespace muster::controller::notify
