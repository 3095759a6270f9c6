#include "controller/notify/channel_delivery.h"

#include <algorithm>
#include <utility>

#include "common/base/id.h"
#include "common/base/status.h"

namespace muster::controller::notify {
namespace {

// The most that one message carries: folded, so many take a few megabytes for a moment.
constexpr uint32_t kMaxFolded = 5000;
// For channels that fold by themselves.
constexpr uint32_t kMaxAlerts = 500;
// What lasts is repeated in at most so many messages.
constexpr int kMaxRepeats = 20;

// The time that was set, unless the clock was set back since.
absl::Time Waiting(absl::Time until, absl::Duration longest, absl::Time now) {
  return until - now > longest ? now : until;
}

}  // namespace

ChannelDelivery::ChannelDelivery(Store& store, Clock& clock, ChannelConfig config,
                                 std::unique_ptr<Channel> channel, std::string cluster,
                                 std::shared_ptr<DeliveryCounts> counts)
    : store_(store),
      clock_(clock),
      config_(std::move(config)),
      channel_(std::move(channel)),
      cluster_(std::move(cluster)),
      counts_(std::move(counts)),
      worker_(clock, [this] { return Step(); }) {}

absl::Time ChannelDelivery::Step() {
  if (outcome_.has_value() && !StoreOutcome().ok()) return clock_.Now() + kStoreRetry;
  const absl::Time now = clock_.Now();
  if (const absl::Time retry = Waiting(retry_at_, kLongestRetry, now); now < retry) return retry;
  absl::StatusOr<std::vector<NotificationDelivery>> pending = Pending();
  if (!pending.ok()) return now + kStoreRetry;
  if (pending->empty()) return RepeatLasting();
  absl::Time not_before = now;
  const absl::StatusOr<std::optional<Message>> message =
      NextMessage(*std::move(pending), &not_before);
  if (!message.ok()) return now + kStoreRetry;
  return message->has_value() ? Attempt(**message) : not_before;
}

absl::StatusOr<std::vector<NotificationDelivery>> ChannelDelivery::Pending() {
  std::vector<NotificationDelivery> pending;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(pending,
                     txn.notification_deliveries().ListPending(
                         config_->name, channel_->keeps_state() ? kMaxAlerts : kMaxFolded));
    return absl::OkStatus();
  }));
  return pending;
}

absl::StatusOr<std::optional<Message>> ChannelDelivery::NextMessage(
    std::vector<NotificationDelivery> pending, absl::Time* not_before) {
  const absl::Time now = clock_.Now();
  std::string id = pending.front().message_id;
  size_t count = pending.size();
  if (!id.empty()) {
    const auto other = std::find_if(
        pending.begin(), pending.end(),
        [&](const NotificationDelivery& delivery) { return delivery.message_id != id; });
    count = static_cast<size_t>(other - pending.begin());
  } else if (!channel_->keeps_state()) {
    *not_before = pace_.Next(now);
    if (*not_before > now) return std::optional<Message>();
  }
  if (id.empty()) {
    id = NewUuid();
    const uint64_t last = pending[count - 1].notification.sequence;
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
      return txn.notification_deliveries().SetMessage(config_->name, last, id);
    }));
  }
  std::vector<NotificationRecord> records;
  for (size_t i = 0; i < count; ++i) records.push_back(std::move(pending[i].notification));
  return std::optional<Message>(Compose(std::move(id), cluster_, std::move(records), now));
}

absl::Time ChannelDelivery::Attempt(const Message& message) {
  const Reply reply = channel_->Send(message, [this] { return worker_.is_stopping(); });
  if (worker_.is_stopping() && !reply.status.ok()) return absl::InfiniteFuture();
  const absl::Time now = clock_.Now();
  NotificationDelivery::State state = NotificationDelivery::kPending;
  if (reply.status.ok()) {
    state = NotificationDelivery::kDelivered;
    pace_.Sent(now);
    backoff_.Reset();
    retry_at_ = absl::InfinitePast();
  } else if (reply.is_final || now - message.records.back().at > kGivenUp) {
    // The newest: after a day without the receiver the next message has all of that day.
    state = NotificationDelivery::kFailed;
  } else {
    // Never at once, as the backoff alone might have it.
    retry_at_ = now + std::max(backoff_.Next(), absl::Seconds(1));
  }
  outcome_ =
      Outcome{message.id, message.records.size(), state, std::string(reply.status.message())};
  const absl::Status stored = StoreOutcome();
  // What is tried again anyway needs no row that says so.
  if (!stored.ok() && state == NotificationDelivery::kPending) outcome_.reset();
  if (outcome_.has_value()) return now + kStoreRetry;
  return state == NotificationDelivery::kPending ? retry_at_ : now;
}

absl::Status ChannelDelivery::StoreOutcome() {
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return txn.notification_deliveries().EndAttempt(config_->name, outcome_->message_id,
                                                    outcome_->state, outcome_->error, clock_.Now());
  }));
  // Whoever reads the counts finds in the store what was counted.
  if (outcome_->state == NotificationDelivery::kDelivered) counts_->delivered += outcome_->count;
  if (outcome_->state == NotificationDelivery::kFailed) counts_->failed += outcome_->count;
  outcome_.reset();
  return absl::OkStatus();
}

absl::Time ChannelDelivery::RepeatLasting() {
  if (!channel_->keeps_state()) return absl::InfiniteFuture();
  const absl::Time now = clock_.Now();
  if (const absl::Time at = Waiting(repeat_at_, kRepeat, now); now < at) return at;
  repeat_at_ = now + kRepeat;
  uint64_t after = 0;
  for (int i = 0; i < kMaxRepeats && !worker_.is_stopping(); ++i) {
    std::vector<NotificationRecord> lasting;
    const absl::Status read = store_.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(lasting, txn.notifications().ListLasting(after, kMaxAlerts));
      return absl::OkStatus();
    });
    if (!read.ok() || lasting.empty()) break;
    after = lasting.back().sequence;
    lasting.erase(std::remove_if(lasting.begin(), lasting.end(),
                                 [&](const NotificationRecord& row) {
                                   return !Takes(*config_, row.kind,
                                                 static_cast<Severity>(row.severity));
                                 }),
                  lasting.end());
    if (lasting.empty()) continue;
    // The next round comes soon, and what is new shows its errors.
    const Reply reply = channel_->Send(Compose(NewUuid(), cluster_, std::move(lasting), now),
                                       [this] { return worker_.is_stopping(); });
    if (!reply.status.ok()) break;
  }
  return repeat_at_;
}

}  // namespace muster::controller::notify
