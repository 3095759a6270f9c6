#include <algorithm>

#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

constexpr char kNotificationColumns[] =
    "n.sequence, n.kind, n.severity, n.nodes, n.subject, n.text, n.details, n.resolved, "
    "n.began_at, n.at, n.last_at, n.count, n.ended_at";

// Reads kNotificationColumns; `more` follows the columns up to the end of the statement.
soci::details::prepare_temp_type SelectNotification(soci::session& session, const char* more,
                                                    NotificationRecord& row) {
  return (session.prepare << "SELECT " << kNotificationColumns << more, into(row.sequence),
          into(row.kind), into(row.severity), into(row.nodes), into(row.subject), into(row.text),
          into(row.details), into(row.resolved), into(row.began_at), into(row.at),
          into(row.last_at), into(row.count), into(row.ended_at));
}

}  // namespace

absl::StatusOr<uint64_t> SociNotificationTable::Append(const NotificationRecord& row) {
  return Guard(context_.path, "notifications.Append", [&]() -> absl::StatusOr<uint64_t> {
    uint64_t sequence = 0;
    context_.session
        << "INSERT INTO notifications (kind, severity, nodes, subject, text, details, resolved, "
           "began_at, at, last_at, count, ended_at) VALUES (:kind, :severity, :nodes, :subject, "
           ":text, :details, :resolved, :began, :at, :last, :count, :ended)",
        use(row.kind), use(row.severity), use(row.nodes), use(row.subject), use(row.text),
        use(row.details), use(row.resolved), use(row.began_at), use(row.at), use(row.last_at),
        use(row.count), use(row.ended_at);
    context_.session << "SELECT last_insert_rowid()", into(sequence);
    return sequence;
  });
}

absl::Status SociNotificationTable::Update(const NotificationRecord& row) {
  return Guard(context_.path, "notifications.Update", [&]() -> absl::Status {
    context_.session << "UPDATE notifications SET count = :count, last_at = :last, "
                        "ended_at = :ended WHERE sequence = :sequence",
        use(row.count), use(row.last_at), use(row.ended_at), use(row.sequence);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<NotificationRecord>> SociNotificationTable::Newest(
    absl::string_view kind, absl::string_view subject, absl::string_view nodes) {
  return Guard(context_.path, "notifications.Newest",
               [&]() -> absl::StatusOr<std::optional<NotificationRecord>> {
                 NotificationRecord row;
                 const std::string of_kind(kind), about(subject), on(nodes);
                 soci::statement statement =
                     (SelectNotification(context_.session,
                                         " FROM notifications n WHERE kind = :kind AND "
                                         "subject = :subject AND nodes = :nodes "
                                         "ORDER BY sequence DESC LIMIT 1",
                                         row),
                      use(of_kind), use(about), use(on));
                 if (!ReadOne(statement)) return std::optional<NotificationRecord>();
                 return std::optional<NotificationRecord>(row);
               });
}

absl::StatusOr<std::vector<NotificationRecord>> SociNotificationTable::ListLasting(
    uint64_t after_sequence, uint32_t limit) {
  return Guard(context_.path, "notifications.ListLasting",
               [&]() -> absl::StatusOr<std::vector<NotificationRecord>> {
                 NotificationRecord row;
                 const int64_t count = limit;
                 soci::statement statement =
                     (SelectNotification(context_.session,
                                         " FROM notifications n WHERE ended_at IS NULL AND "
                                         "sequence > :after ORDER BY sequence LIMIT :count",
                                         row),
                      use(after_sequence), use(count));
                 return ReadAll(statement, row);
               });
}

absl::StatusOr<uint64_t> SociNotificationTable::Trim(uint64_t keep, absl::Time time) {
  return Guard(context_.path, "notifications.Trim", [&]() -> absl::StatusOr<uint64_t> {
    const int pending = NotificationDelivery::kPending;
    const int64_t kept = static_cast<int64_t>(keep);
    uint64_t lost = 0;
    context_.session << "SELECT COUNT(*) FROM notification_deliveries WHERE state = :pending AND "
                        "sequence <= (SELECT MAX(sequence) FROM notifications) - :keep",
        into(lost), use(pending), use(kept);
    context_.session << "DELETE FROM notifications WHERE sequence <= "
                        "(SELECT MAX(sequence) FROM notifications) - :keep",
        use(kept);
    context_.session << "DELETE FROM notifications WHERE last_at < :time AND ended_at IS NOT NULL "
                        "AND NOT EXISTS (SELECT 1 FROM notification_deliveries d WHERE "
                        "d.sequence = notifications.sequence AND d.state = :pending)",
        use(time), use(pending);
    return lost;
  });
}

absl::StatusOr<std::optional<uint64_t>> SociNotificationTable::Position() {
  return Guard(
      context_.path, "notifications.Position", [&]() -> absl::StatusOr<std::optional<uint64_t>> {
        uint64_t position = 0;
        soci::statement statement =
            (context_.session.prepare << "SELECT event_sequence FROM notification_position",
             into(position));
        if (!ReadOne(statement)) return std::optional<uint64_t>();
        return std::optional<uint64_t>(position);
      });
}

absl::Status SociNotificationTable::PutPosition(uint64_t event_sequence) {
  return Guard(context_.path, "notifications.PutPosition", [&]() -> absl::Status {
    context_.session << "INSERT INTO notification_position (id, event_sequence) VALUES (1, :at) "
                        "ON CONFLICT (id) DO UPDATE SET event_sequence = excluded.event_sequence",
        use(event_sequence);
    return absl::OkStatus();
  });
}

absl::Status SociNotificationDeliveryTable::Add(absl::string_view channel, uint64_t sequence,
                                                absl::Time now) {
  return Guard(context_.path, "notification_deliveries.Add", [&]() -> absl::Status {
    const std::string to(channel);
    const int state = NotificationDelivery::kPending;
    context_.session << "INSERT INTO notification_deliveries (channel, sequence, state, "
                        "message_id, attempts, error, changed_at) "
                        "VALUES (:channel, :sequence, :state, '', 0, '', :now)",
        use(to), use(sequence), use(state), use(now);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<NotificationDelivery>> SociNotificationDeliveryTable::ListPending(
    absl::string_view channel, uint32_t limit) {
  return Guard(
      context_.path, "notification_deliveries.ListPending",
      [&]() -> absl::StatusOr<std::vector<NotificationDelivery>> {
        NotificationDelivery row;
        NotificationRecord& n = row.notification;
        const std::string to(channel);
        const int64_t count = limit;
        // The state as a literal: only so does SQLite use the index of pending rows.
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT " << kNotificationColumns
                 << ", d.message_id, d.attempts FROM notification_deliveries d JOIN notifications "
                    "n "
                    "ON n.sequence = d.sequence WHERE d.channel = :channel AND d.state = 1 "
                    "ORDER BY d.sequence LIMIT :count",
             into(n.sequence), into(n.kind), into(n.severity), into(n.nodes), into(n.subject),
             into(n.text), into(n.details), into(n.resolved), into(n.began_at), into(n.at),
             into(n.last_at), into(n.count), into(n.ended_at), into(row.message_id),
             into(row.attempts), use(to), use(count));
        return ReadAll(statement, row);
      });
}

absl::Status SociNotificationDeliveryTable::SetMessage(absl::string_view channel,
                                                       uint64_t up_to_sequence,
                                                       absl::string_view message_id) {
  return Guard(context_.path, "notification_deliveries.SetMessage", [&]() -> absl::Status {
    const std::string of(channel), id(message_id);
    context_.session << "UPDATE notification_deliveries SET message_id = :id WHERE "
                        "channel = :channel AND state = 1 AND message_id = '' AND "
                        "sequence <= :sequence",
        use(id), use(of), use(up_to_sequence);
    return absl::OkStatus();
  });
}

absl::Status SociNotificationDeliveryTable::EndAttempt(absl::string_view channel,
                                                       absl::string_view message_id,
                                                       NotificationDelivery::State state,
                                                       absl::string_view error, absl::Time now) {
  return Guard(context_.path, "notification_deliveries.EndAttempt", [&]() -> absl::Status {
    const std::string of(channel), id(message_id), what(error);
    const int next = state;
    context_.session << "UPDATE notification_deliveries SET state = :state, "
                        "attempts = attempts + 1, error = :error, changed_at = :now "
                        "WHERE channel = :channel AND state = 1 AND message_id = :id",
        use(next), use(what), use(now), use(of), use(id);
    return absl::OkStatus();
  });
}

absl::StatusOr<uint64_t> SociNotificationDeliveryTable::FailOthers(
    const std::vector<std::string>& channels, absl::string_view error, absl::Time now) {
  return Guard(context_.path, "notification_deliveries.FailOthers",
               [&]() -> absl::StatusOr<uint64_t> {
                 std::string name;
                 soci::statement named =
                     (context_.session.prepare
                          << "SELECT DISTINCT channel FROM notification_deliveries WHERE state = 1",
                      into(name));
                 uint64_t failed = 0;
                 const std::string what(error);
                 for (const std::string& channel : ReadAll(named, name)) {
                   if (std::find(channels.begin(), channels.end(), channel) != channels.end())
                     continue;
                   soci::statement end =
                       (context_.session.prepare
                            << "UPDATE notification_deliveries SET state = 3, error = :error, "
                               "changed_at = :now WHERE channel = :channel AND state = 1",
                        use(what), use(now), use(channel));
                   end.execute(true);
                   failed += static_cast<uint64_t>(end.get_affected_rows());
                 }
                 return failed;
               });
}

absl::StatusOr<ChannelSummary> SociNotificationDeliveryTable::Summary(absl::string_view channel) {
  return Guard(context_.path, "notification_deliveries.Summary",
               [&]() -> absl::StatusOr<ChannelSummary> {
                 ChannelSummary summary;
                 const std::string of(channel);
                 context_.session << "SELECT COUNT(*) FROM notification_deliveries WHERE "
                                     "channel = :channel AND state = 1",
                     into(summary.pending), use(of);
                 context_.session << "SELECT MAX(changed_at) FROM notification_deliveries WHERE "
                                     "channel = :channel AND state = 2",
                     into(summary.delivered_at), use(of);
                 std::optional<absl::Time> failed_at;
                 std::string error;
                 soci::statement newest =
                     (context_.session.prepare
                          << "SELECT changed_at, error FROM notification_deliveries WHERE "
                             "channel = :channel AND state <> 2 AND error <> '' "
                             "ORDER BY changed_at DESC LIMIT 1",
                      into(failed_at), into(error), use(of));
                 if (ReadOne(newest)) {
                   summary.failed_at = failed_at;
                   summary.error = error;
                 }
                 return summary;
               });
}

}  // namespace muster::controller
