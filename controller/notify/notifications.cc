#include "controller/notify/notifications.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/notify/audit_tail.h"
#include "controller/notify/backup_notices.h"
#include "controller/notify/drift_notices.h"
#include "controller/notify/expiry_notices.h"
#include "controller/notify/ledger.h"

namespace muster::controller::notify {
namespace {

// Rows that one transaction stores: others wait for it.
constexpr size_t kMaxAtOnce = 1000;
constexpr absl::Duration kHour = absl::Hours(1);
constexpr absl::Duration kStoreRetry = absl::Seconds(5);

// What a test sends.
NotificationRecord TestRecord(const std::string& channel, const Actor& actor, absl::Time now) {
  NotificationRecord row;
  row.kind = "notify.test";
  row.severity = static_cast<int>(Severity::kInfo);
  row.subject = channel;
  row.text = absl::StrCat("test of channel ", channel, " by ", actor.name);
  row.details = "Somebody ran `muster notify test`. Nothing has happened.";
  row.began_at = row.at = row.last_at = now;
  row.ended_at = now;
  return row;
}

// All at once: each may wait a second for its transfer.
template <typename Deliveries>
void End(Deliveries& deliveries) {
  for (auto& [name, delivery] : deliveries) delivery->RequestStop();
  deliveries.clear();
}

}  // namespace

Notifications::Notifications(NotifyCollaborators with)
    : with_(std::move(with)), worker_(with_.clock, [this] { return Step(); }) {}

Notifications::~Notifications() { Stop(); }

void Notifications::Start() {
  for (const std::string& ending : OwnEndings(with_.certificate_ends, with_.clock.Now()))
    with_.warn(ending);
  worker_.Start();
}

void Notifications::Stop() {
  is_stopping_ = true;
  worker_.Stop();
  // The worker has ended: they are ours.
  End(deliveries_);
}

void Notifications::Post(Notification notification) {
  if (notification.at == absl::InfinitePast()) notification.at = with_.clock.Now();
  notification = Cleaned(std::move(notification));
  {
    absl::MutexLock lock(&mutex_);
    if (posted_.size() >= kMaxPosted) {
      ++dropped_;
      return;
    }
    posted_.push_back(std::move(notification));
  }
  worker_.Wake();
}

absl::Time Notifications::Step() {
  const absl::Time now = with_.clock.Now();
  std::set<std::string> woken;
  absl::Status status = Reconfigure(&woken);
  if (status.ok()) status = StorePosted(&woken);
  bool is_more = false;
  if (status.ok()) {
    const absl::StatusOr<bool> more = ReadLog(&woken);
    status = more.status();
    is_more = more.value_or(false);
  }
  WarnOnce(status);
  if (status.ok()) LookAhead(now, &woken);
  for (const std::string& channel : woken) {
    const auto found = deliveries_.find(channel);
    if (found != deliveries_.end()) found->second->Wake();
  }
  if (!status.ok()) return now + kStoreRetry;
  absl::MutexLock lock(&mutex_);
  return is_more || !posted_.empty() ? now : now + kLook;
}

absl::Status Notifications::Reconfigure(std::set<std::string>* woken) {
  const auto latest = with_.latest_inventory();
  if (absl::IsNotFound(latest.status())) return absl::OkStatus();
  RETURN_IF_ERROR(latest.status());
  if (revision_ == latest->first) return absl::OkStatus();
  channels_ = latest->second->channels();
  const std::string& cluster = latest->second->cluster();
  Deliveries next;
  std::vector<std::string> names;
  for (const ChannelConfig& config : channels_) {
    names.push_back(config->name);
    const auto found = deliveries_.find(config->name);
    if (found != deliveries_.end() && found->second->cluster() == cluster &&
        ToValue(*found->second->config()) == ToValue(*config)) {
      next[config->name] = std::move(found->second);
      deliveries_.erase(found);
    }
  }
  // Before their successors begin: two would send the same.
  End(deliveries_);
  for (const ChannelConfig& config : channels_) {
    if (next.count(config->name) > 0) continue;
    std::shared_ptr<DeliveryCounts> counts;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<DeliveryCounts>& known = counts_[config->name];
      if (known == nullptr) known = std::make_shared<DeliveryCounts>();
      counts = known;
    }
    auto delivery = std::make_unique<ChannelDelivery>(
        with_.store, with_.clock, config, with_.make_channel(config), cluster, std::move(counts));
    delivery->Start();
    next[config->name] = std::move(delivery);
  }
  deliveries_ = std::move(next);
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    const absl::Time now = with_.clock.Now();
    RETURN_IF_ERROR(EndDriftNotices(txn, *latest->second, channels_, now, woken));
    return txn.notification_deliveries()
        .FailOthers(names, "the inventory has no such channel any more", now)
        .status();
  }));
  revision_ = latest->first;
  return absl::OkStatus();
}

absl::Status Notifications::StorePosted(std::set<std::string>* woken) {
  std::vector<Notification> batch;
  {
    absl::MutexLock lock(&mutex_);
    const auto end = posted_.begin() + static_cast<ptrdiff_t>(std::min(posted_.size(), kMaxAtOnce));
    batch.assign(posted_.begin(), end);
  }
  if (batch.empty()) return absl::OkStatus();
  std::set<std::string> channels;
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const Notification& each : batch)
      RETURN_IF_ERROR(Record(txn, each, channels_, with_.clock.Now(), &channels));
    return absl::OkStatus();
  }));
  woken->merge(channels);
  absl::MutexLock lock(&mutex_);
  posted_.erase(posted_.begin(), posted_.begin() + static_cast<ptrdiff_t>(batch.size()));
  return absl::OkStatus();
}

absl::StatusOr<bool> Notifications::ReadLog(std::set<std::string>* woken) {
  // Most looks find nothing, and need no place among the writers.
  bool is_news = false;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<uint64_t> position, txn.notifications().Position());
    ASSIGN_OR_RETURN(const auto next, txn.events().ListAfter(position.value_or(0), 1));
    is_news = !position.has_value() || !next.empty();
    return absl::OkStatus();
  }));
  if (!is_news) return false;
  bool is_more = false;
  std::set<std::string> channels;
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(is_more, ReadAuditLog(txn, channels_, with_.clock.Now(), &channels));
    return absl::OkStatus();
  }));
  woken->merge(channels);
  return is_more;
}

void Notifications::LookAhead(absl::Time now, std::set<std::string>* woken) {
  const v1::BackupRecord backup = with_.last_backup();
  std::string record = backup.SerializeAsString();
  const bool is_news = record != last_backup_;
  last_backup_ = std::move(record);
  if (!is_news && now < look_ahead_at_ && look_ahead_at_ - now <= kHour) return;
  look_ahead_at_ = now + kHour;
  std::set<std::string> channels;
  uint64_t lost = 0;
  const absl::Status looked = with_.store.Update([&](Transaction& txn) -> absl::Status {
    if (!channels_.empty()) {
      ASSIGN_OR_RETURN(std::vector<Notification> notices,
                       ExpiryNotices(txn, with_.certificate_ends, now));
      ASSIGN_OR_RETURN(std::vector<Notification> of_backups,
                       BackupNotices(txn, backup, with_.longest_backup, now));
      std::move(of_backups.begin(), of_backups.end(), std::back_inserter(notices));
      for (Notification& notice : notices)
        RETURN_IF_ERROR(Record(txn, Cleaned(std::move(notice)), channels_, now, &channels));
    }
    ASSIGN_OR_RETURN(lost, txn.notifications().Trim(kMaxStored, now - kKept));
    return absl::OkStatus();
  });
  if (!looked.ok()) {
    look_ahead_at_ = now + kStoreRetry;
    return;
  }
  dropped_ += lost;
  woken->merge(channels);
}

void Notifications::WarnOnce(const absl::Status& status) {
  const std::string text(status.message());
  if (text == warned_) return;
  warned_ = text;
  if (!status.ok()) with_.warn(absl::StrCat("notifications wait: ", text));
}

absl::StatusOr<std::vector<ChannelState>> Notifications::Channels() {
  const auto latest = with_.latest_inventory();
  if (absl::IsNotFound(latest.status())) return std::vector<ChannelState>();
  RETURN_IF_ERROR(latest.status());
  std::vector<ChannelState> states;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    for (const ChannelConfig& config : latest->second->channels()) {
      ASSIGN_OR_RETURN(ChannelSummary summary, txn.notification_deliveries().Summary(config->name));
      states.push_back({config, std::move(summary)});
    }
    return absl::OkStatus();
  }));
  absl::MutexLock lock(&mutex_);
  for (ChannelState& state : states) {
    const auto counts = counts_.find(state.config->name);
    if (counts == counts_.end()) continue;
    state.delivered = counts->second->delivered;
    state.failed = counts->second->failed;
  }
  return states;
}

absl::StatusOr<Reply> Notifications::Test(absl::string_view channel, const Actor& actor) {
  ASSIGN_OR_RETURN(const auto latest, with_.latest_inventory());
  ChannelConfig config;
  std::vector<std::string> known;
  for (const ChannelConfig& each : latest.second->channels()) {
    known.push_back(each->name);
    if (each->name == channel) config = each;
  }
  if (config == nullptr)
    return absl::NotFoundError(
        absl::StrCat("no notification channel '", channel, "'", DidYouMean(channel, known),
                     known.empty() ? "; the inventory has none: add 'notifications'" : ""));
  {
    absl::MutexLock lock(&mutex_);
    if (is_testing_)
      return absl::UnavailableError("another test of a channel is in progress; try again");
    is_testing_ = true;
  }
  const absl::Time now = with_.clock.Now();
  const absl::Status audited = with_.store.Update(
      [&](Transaction& txn) { return Audit(txn, now, actor, "notify.test", config->name); });
  absl::StatusOr<Reply> reply = Reply();
  if (!audited.ok()) {
    reply = audited;
  } else {
    const Message message =
        Compose(NewUuid(), latest.second->cluster(), {TestRecord(config->name, actor, now)}, now);
    reply = with_.make_channel(config)->Send(message, [this] { return is_stopping_.load(); });
  }
  absl::MutexLock lock(&mutex_);
  is_testing_ = false;
  return reply;
}

}  // namespace muster::controller::notify
