// The controller's notifications: what is posted, on its way to the channels of the inventory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/audit/audit.h"
#include "controller/notify/channel_delivery.h"
#include "controller/notify/expiry_notices.h"
#include "controller/notify/notification.h"
#include "muster/v1/controller_records.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller::notify {

// All must be thread-safe and outlive the notifications.
struct NotifyCollaborators {
  Store& store;
  Clock& clock;
  // The newest revision of the inventory. NotFound: there is none yet.
  std::function<absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>>()>
      latest_inventory;
  std::function<std::unique_ptr<Channel>(ChannelConfig)> make_channel;
  std::function<void(absl::string_view line)> warn;
  // What became of the last backups, and for how long people are content with one; infinite: for
  // ever.
  std::function<v1::BackupRecord()> last_backup = [] { return v1::BackupRecord(); };
  absl::Duration longest_backup = absl::InfiniteDuration();
  CertificateEnds certificate_ends = {};
};

// A channel and what it has done.
struct ChannelState {
  ChannelConfig config;
  ChannelSummary summary;
  uint64_t delivered = 0, failed = 0;  // since the start of the process
};

// Takes what is posted and reads the audit log in one thread, which writes both to the store; each
// channel has a thread that sends from there. Thread-safe.
class Notifications final : public Notifier {
 public:
  // What is posted and not stored yet; more is dropped. So many nodes can change at once.
  static constexpr size_t kMaxPosted = 20000;
  // What the store keeps, and for how long after it was delivered.
  static constexpr uint64_t kMaxStored = 50000;
  static constexpr absl::Duration kKept = absl::Hours(24 * 30);
  // How often the audit log and the inventory are looked at.
  static constexpr absl::Duration kLook = absl::Seconds(1);

  explicit Notifications(NotifyCollaborators with);
  ~Notifications() override;

  // Warns of certificates that end soon or have ended: with the controller's own nobody else is
  // told any more.
  void Start();
  // Ends the threads, within a second or so. What is posted after that is lost.
  void Stop();

  void Post(Notification notification) override;

  // By name in the order of the inventory. Blocks on the store.
  absl::StatusOr<std::vector<ChannelState>> Channels();
  // Sends a test message by the channel, past the queue, and waits for the answer, some twenty
  // seconds at most. The error is the receiver's. NotFound: there is no such channel; Unavailable:
  // another test is in progress.
  absl::StatusOr<Reply> Test(absl::string_view channel, const Actor& actor);
  // Notifications that were lost for want of room, since the start of the process.
  uint64_t dropped() const { return dropped_; }

 private:
  using Deliveries = std::map<std::string, std::unique_ptr<ChannelDelivery>>;

  absl::Time Step();
  // Follows the inventory.
  absl::Status Reconfigure(std::set<std::string>* woken);
  absl::Status StorePosted(std::set<std::string>* woken);
  // Stores what the audit log tells; true: there is more.
  absl::StatusOr<bool> ReadLog(std::set<std::string>* woken);
  // Once an hour, and after each backup: what ends soon or is overdue, and what need not be kept.
  void LookAhead(absl::Time now, std::set<std::string>* woken);
  void WarnOnce(const absl::Status& status);

  const NotifyCollaborators with_;
  std::atomic<uint64_t> dropped_{0};
  absl::Mutex mutex_;
  std::deque<Notification> posted_ ABSL_GUARDED_BY(mutex_);
  bool is_testing_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<DeliveryCounts>> counts_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> is_stopping_{false};
  // The worker's own.
  std::optional<uint64_t> revision_;
  std::vector<ChannelConfig> channels_;
  Deliveries deliveries_;
  absl::Time look_ahead_at_ = absl::InfinitePast();
  std::string last_backup_;
  std::string warned_;  // the last trouble that was logged
  Worker worker_;
};

}  // namespace muster::controller::notify
