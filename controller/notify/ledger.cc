#include "controller/notify/ledger.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::notify {
namespace {

constexpr size_t kMaxWord = 128;  // bytes of a kind or key
constexpr size_t kMaxText = 400;  // of the line
constexpr size_t kMaxDetails = 8192;
constexpr size_t kMaxNodeName = 64;

bool Lasts(const std::string& kind) {
  const Kind* const row = FindKind(kind);
  return row != nullptr && row->lasts;
}

// Whether `earlier` has told it already.
bool IsRepetition(const NotificationRecord& row, const NotificationRecord& earlier) {
  if (earlier.resolved || row.severity > earlier.severity || row.text != earlier.text) return false;
  if (Lasts(row.kind) && earlier.ended_at.has_value()) return false;
  // A clock that was set back by more than that folds nothing.
  return row.at - earlier.at < kFoldTime && earlier.at - row.at < kFoldTime;
}

absl::Status Insert(Transaction& txn, const NotificationRecord& row,
                    const std::vector<ChannelConfig>& channels, absl::Time now,
                    std::set<std::string>* woken) {
  ASSIGN_OR_RETURN(const uint64_t sequence, txn.notifications().Append(row));
  for (const ChannelConfig& channel : channels) {
    if (!Takes(*channel, row.kind, static_cast<Severity>(row.severity))) continue;
    RETURN_IF_ERROR(txn.notification_deliveries().Add(channel->name, sequence, now));
    woken->insert(channel->name);
  }
  return absl::OkStatus();
}

absl::Status RecordOne(Transaction& txn, const Notification& notification,
                       const std::vector<std::string>& nodes,
                       const std::vector<ChannelConfig>& channels, absl::Time now,
                       std::set<std::string>* woken) {
  NotificationRecord row;
  row.kind = notification.kind;
  row.severity = static_cast<int>(notification.severity);
  row.nodes = FoldHostlist(nodes);
  row.subject = notification.key;
  row.text = notification.text;
  row.details = notification.details;
  row.resolved = notification.resolved;
  row.at = row.began_at = row.last_at =
      notification.at == absl::InfinitePast() ? now : notification.at;
  if (row.resolved || !Lasts(row.kind)) row.ended_at = row.at;
  ASSIGN_OR_RETURN(std::optional<NotificationRecord> earlier,
                   txn.notifications().Newest(row.kind, row.subject, row.nodes));
  const bool is_open = earlier.has_value() && !earlier->ended_at.has_value();
  if (row.resolved) {
    if (!is_open) return absl::OkStatus();
    // As severe as its beginning: whoever was told of that is told of the end.
    row.severity = earlier->severity;
  }
  if (!row.resolved && earlier.has_value() && IsRepetition(row, *earlier)) {
    ++earlier->count;
    earlier->last_at = std::max(earlier->last_at, row.at);
    return txn.notifications().Update(*earlier);
  }
  if (is_open) {
    row.began_at = std::min(earlier->began_at, row.at);
    earlier->ended_at = row.at;
    RETURN_IF_ERROR(txn.notifications().Update(*earlier));
  }
  return Insert(txn, row, channels, now, woken);
}

}  // namespace

Notification Cleaned(Notification notification) {
  const auto clean = [](std::string& text, Lines lines, size_t limit) {
    text = PlainText(text, lines, limit);
  };
  clean(notification.kind, Lines::kOne, kMaxWord);
  clean(notification.key, Lines::kOne, kMaxWord);
  clean(notification.text, Lines::kOne, kMaxText);
  clean(notification.details, Lines::kMany, kMaxDetails);
  for (std::string& node : notification.nodes) clean(node, Lines::kOne, kMaxNodeName);
  return notification;
}

absl::Status Record(Transaction& txn, const Notification& notification,
                    const std::vector<ChannelConfig>& channels, absl::Time now,
                    std::set<std::string>* woken) {
  if (!Lasts(notification.kind) || notification.nodes.size() < 2)
    return RecordOne(txn, notification, notification.nodes, channels, now, woken);
  for (const std::string& node : notification.nodes)
    RETURN_IF_ERROR(RecordOne(txn, notification, {node}, channels, now, woken));
  return absl::OkStatus();
}

}  // namespace muster::controller::notify
