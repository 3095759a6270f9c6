// What the store has for one channel, on its way there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/worker.h"
#include "controller/notify/channel.h"
#include "controller/notify/pace.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::notify {

// Since the start of the process.
struct DeliveryCounts {
  std::atomic<uint64_t> delivered{0};
  std::atomic<uint64_t> failed{0};
};

// Sends the channel's pending notifications, one message at a time, in a thread of its own: a
// receiver that hangs holds up nothing else. The message that carries a notification is stored
// before it is sent, so that a restarted controller sends it under the same id. Thread-safe.
class ChannelDelivery {
 public:
  static constexpr absl::Duration kFirstRetry = absl::Seconds(2);
  static constexpr absl::Duration kLongestRetry = absl::Minutes(5);
  static constexpr absl::Duration kStoreRetry = absl::Seconds(5);
  // A message of which no notification is newer has failed: each is tried for so long, at least.
  static constexpr absl::Duration kGivenUp = absl::Hours(24);
  // How often a channel that keeps state hears again of what lasts.
  static constexpr absl::Duration kRepeat = absl::Minutes(1);

  // The references must outlive the object.
  ChannelDelivery(Store& store, Clock& clock, ChannelConfig config,
                  std::unique_ptr<Channel> channel, std::string cluster,
                  std::shared_ptr<DeliveryCounts> counts);

  void Start() { worker_.Start(); }
  void Wake() { worker_.Wake(); }
  // Cuts the transfer in progress short; the destructor waits for that, a second or so.
  void RequestStop() { worker_.RequestStop(); }

  const ChannelConfig& config() const { return config_; }
  const std::string& cluster() const { return cluster_; }

 private:
  // What became of the current message.
  struct Outcome {
    std::string message_id;
    uint64_t count;  // of its notifications
    NotificationDelivery::State state;
    std::string error;
  };

  absl::Time Step();
  absl::StatusOr<std::vector<NotificationDelivery>> Pending();
  // The message that the first of `pending` belong to, stored as such; nullopt: not before
  // `*not_before`.
  absl::StatusOr<std::optional<Message>> NextMessage(std::vector<NotificationDelivery> pending,
                                                     absl::Time* not_before);
  absl::Time Attempt(const Message& message);
  absl::Status StoreOutcome();
  absl::Time RepeatLasting();

  Store& store_;
  Clock& clock_;
  const ChannelConfig config_;
  const std::unique_ptr<Channel> channel_;
  const std::string cluster_;
  const std::shared_ptr<DeliveryCounts> counts_;
  // The worker's own.
  absl::BitGen random_;
  Backoff backoff_{kFirstRetry, kLongestRetry, random_};
  Pace pace_;
  std::optional<Outcome> outcome_;  // until it is stored, nothing else is sent
  absl::Time retry_at_ = absl::InfinitePast();
  absl::Time repeat_at_ = absl::InfinitePast();
  Worker worker_;
};

}  // namespace muster::controller::notify
