// The tables of notifications and their rows; included by tables.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// Something that people outside are told.
struct NotificationRecord {
  uint64_t sequence = 0;  // set by Append
  std::string kind;
  int severity = 0;   // notify::Severity
  std::string nodes;  // a host list; may be empty
  std::string subject;
  std::string text;
  std::string details;
  bool resolved = false;
  absl::Time began_at;  // of what it tells about; for `resolved`: of what has ended
  absl::Time at;
  absl::Time last_at;                  // of the last one that was folded into it
  uint32_t count = 1;                  // with those that were folded into it
  std::optional<absl::Time> ended_at;  // nullopt: what it tells about lasts
};

class NotificationTable {
 public:
  virtual ~NotificationTable() = default;
  // Gives the row the next sequence and returns it.
  virtual absl::StatusOr<uint64_t> Append(const NotificationRecord& row) = 0;
  // Stores count, last_at and ended_at of an existing row.
  virtual absl::Status Update(const NotificationRecord& row) = 0;
  // The newest about the same thing; nullopt: there is none.
  virtual absl::StatusOr<std::optional<NotificationRecord>> Newest(absl::string_view kind,
                                                                   absl::string_view subject,
                                                                   absl::string_view nodes) = 0;
  // Those that last, above the sequence, in order.
  virtual absl::StatusOr<std::vector<NotificationRecord>> ListLasting(uint64_t after_sequence,
                                                                      uint32_t limit) = 0;
  // Removes all but the newest `keep` rows, and those older than `time` that no channel has to
  // deliver any more and that do not last. Returns how many deliveries were lost by that.
  virtual absl::StatusOr<uint64_t> Trim(uint64_t keep, absl::Time time) = 0;

  // How far the audit log was read; nullopt: never.
  virtual absl::StatusOr<std::optional<uint64_t>> Position() = 0;
  virtual absl::Status PutPosition(uint64_t event_sequence) = 0;
};

// A notification on its way to a channel.
struct NotificationDelivery {
  enum State { kPending = 1, kDelivered = 2, kFailed = 3 };
  NotificationRecord notification;
  std::string message_id;  // of the message that carries it; "": none does yet
  uint32_t attempts = 0;
};

// What a channel has done.
struct ChannelSummary {
  uint64_t pending = 0;
  std::optional<absl::Time> delivered_at;  // the last time
  std::optional<absl::Time> failed_at;     // the last attempt that failed
  std::string error;                       // of that attempt
};

class NotificationDeliveryTable {
 public:
  virtual ~NotificationDeliveryTable() = default;
  virtual absl::Status Add(absl::string_view channel, uint64_t sequence, absl::Time now) = 0;
  // Oldest first.
  virtual absl::StatusOr<std::vector<NotificationDelivery>> ListPending(absl::string_view channel,
                                                                        uint32_t limit) = 0;
  // The message carries the channel's pending rows up to that sequence that no message carries.
  virtual absl::Status SetMessage(absl::string_view channel, uint64_t up_to_sequence,
                                  absl::string_view message_id) = 0;
  // Counts an attempt to send the message; `state` is how its rows go on. Error "": none.
  virtual absl::Status EndAttempt(absl::string_view channel, absl::string_view message_id,
                                  NotificationDelivery::State state, absl::string_view error,
                                  absl::Time now) = 0;
  // Ends what is pending for channels other than these; returns how many rows.
  virtual absl::StatusOr<uint64_t> FailOthers(const std::vector<std::string>& channels,
                                              absl::string_view error, absl::Time now) = 0;
  virtual absl::StatusOr<ChannelSummary> Summary(absl::string_view channel) = 0;
};

}  // namespace muster::controller
