#include "controller/notify/message.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"

namespace muster::controller::notify {
namespace {

// A message for people has at most so many entries, and so many bytes of details.
constexpr size_t kMaxShownEntries = 50;
constexpr size_t kMaxShownDetails = size_t{32} << 10;

struct Fold {
  MessageEntry entry;
  std::vector<std::string> nodes;
};

void Add(const NotificationRecord& record, Fold& fold) {
  MessageEntry& entry = fold.entry;
  if (entry.count == 0) {
    entry.kind = record.kind;
    entry.severity = static_cast<Severity>(record.severity);
    entry.resolved = record.resolved;
    entry.subject = record.subject;
    entry.text = record.text;
    entry.details = record.details;
    entry.began_at = record.began_at;
    entry.at = record.at;
    entry.last_at = record.last_at;
  }
  entry.began_at = std::min(entry.began_at, record.began_at);
  entry.at = std::min(entry.at, record.at);
  entry.last_at = std::max(entry.last_at, record.last_at);
  entry.count += record.count;
  ++entry.records;
  // Written by us from names; as it stands where it should not be a host list after all.
  if (record.nodes.empty()) return;
  auto names = ExpandHostlist(record.nodes);
  if (!names.ok()) names = std::vector<std::string>{record.nodes};
  fold.nodes.insert(fold.nodes.end(), names->begin(), names->end());
}

bool IsBefore(const MessageEntry& a, const MessageEntry& b) {
  return std::make_tuple(a.resolved, -static_cast<int>(a.severity), a.at) <
         std::make_tuple(b.resolved, -static_cast<int>(b.severity), b.at);
}

}  // namespace

Message Compose(std::string id, std::string cluster, std::vector<NotificationRecord> records,
                absl::Time now) {
  Message message;
  message.id = std::move(id);
  message.cluster = std::move(cluster);
  message.now = now;
  // The text says what was done: "drained" must not be said of a node that was not.
  using Key =
      std::tuple<std::string, std::string, int, bool, std::string, std::string, std::string>;
  std::map<Key, Fold> folds;
  for (const NotificationRecord& record : records) {
    // Without nodes there is nothing to fold by: each is shown.
    const std::string alone = record.nodes.empty() ? absl::StrCat(record.sequence) : "";
    Add(record, folds[Key(record.kind, record.subject, record.severity, record.resolved,
                          record.text, record.details, alone)]);
  }
  for (auto& [key, fold] : folds) {
    std::sort(fold.nodes.begin(), fold.nodes.end());
    fold.nodes.erase(std::unique(fold.nodes.begin(), fold.nodes.end()), fold.nodes.end());
    fold.entry.nodes = FoldHostlist(std::move(fold.nodes));
    message.entries.push_back(std::move(fold.entry));
  }
  std::stable_sort(message.entries.begin(), message.entries.end(), IsBefore);
  message.records = std::move(records);
  return message;
}

Severity Message::severity() const { return entries.front().severity; }

std::string Headline(const MessageEntry& entry) {
  return absl::StrCat(
      entry.resolved ? "resolved" : SeverityName(entry.severity), ": ", entry.nodes,
      entry.nodes.empty() ? "" : ": ", entry.text,
      entry.count > entry.records ? absl::StrCat(" (", entry.count, " times)") : "");
}

std::string Message::Title() const {
  if (entries.size() == 1) return absl::StrCat("[", cluster, "] ", Headline(entries.front()));
  std::map<Severity, size_t> counts;
  size_t resolved = 0;
  for (const MessageEntry& entry : entries) {
    if (entry.resolved) ++resolved;
    if (!entry.resolved) ++counts[entry.severity];
  }
  std::string text = absl::StrCat("[", cluster, "] ", Counted(entries.size(), "notification"));
  const char* before = ": ";
  for (auto it = counts.rbegin(); it != counts.rend(); ++it) {
    absl::StrAppend(&text, before, it->second, " ", SeverityName(it->first));
    before = ", ";
  }
  if (resolved > 0) absl::StrAppend(&text, before, resolved, " resolved");
  return text;
}

std::string PlainBody(const Message& message) {
  std::string text;
  size_t details = 0;
  for (size_t i = 0; i < message.entries.size() && i < kMaxShownEntries; ++i) {
    const MessageEntry& entry = message.entries[i];
    absl::StrAppend(&text, i == 0 ? "" : "\n", Headline(entry), "\n", "  ", entry.kind, " ",
                    entry.subject, ", ",
                    absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", entry.at, absl::UTCTimeZone()), "\n");
    details += entry.details.size();
    if (entry.details.empty() || details > kMaxShownDetails) continue;
    absl::StrAppend(&text, "  ", absl::StrReplaceAll(entry.details, {{"\n", "\n  "}}), "\n");
  }
  if (message.entries.size() > kMaxShownEntries) {
    absl::StrAppend(&text, "\nand ", message.entries.size() - kMaxShownEntries,
                    " more; `muster status` has the whole\n");
  }
  return text;
}

}  // namespace muster::controller::notify
