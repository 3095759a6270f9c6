// A store in memory, channels as the inventory has them, and rows to send.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/inventory/notification_channel.h"
#include "controller/notify/channel.h"
#include "controller/notify/ledger.h"
#include "controller/store/soci/store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::notify {

inline const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

inline ChannelConfig MakeConfig(const std::string& name, std::vector<std::string> kinds = {},
                                Severity severity = Severity::kInfo) {
  auto config = std::make_shared<NotificationChannel>();
  config->name = name;
  config->url = "http://127.0.0.1:1/";
  config->kinds = std::move(kinds);
  config->severity = severity;
  return config;
}

inline NotificationRecord Row(const std::string& nodes, const std::string& text,
                              const std::string& kind = "run.failed",
                              Severity severity = Severity::kWarning) {
  NotificationRecord row;
  row.kind = kind;
  row.severity = static_cast<int>(severity);
  row.nodes = nodes;
  row.subject = "r-1";
  row.text = text;
  row.began_at = row.at = row.last_at = kNow;
  row.ended_at = kNow;
  return row;
}

inline Notification Bad(const std::string& node, Severity severity = Severity::kCritical) {
  Notification bad;
  bad.kind = "health.condition";
  bad.severity = severity;
  bad.nodes = {node};
  bad.key = "gpu.xid";
  bad.text = "GPU 3 does not answer";
  return bad;
}
inline Notification Good(const std::string& node) {
  Notification good = Bad(node, Severity::kInfo);
  good.resolved = true;
  good.text = "GPU 3 answers";
  return good;
}

class NotifyTest : public ::testing::Test {
 protected:
  NotifyTest() : store_(*OpenStore(":memory:")) {}

  // The channels that have to be woken.
  std::set<std::string> Record(const Notification& notification) {
    std::set<std::string> woken;
    EXPECT_OK(store_->Update([&](Transaction& txn) {
      return notify::Record(txn, notification, channels_, clock_.Now(), &woken);
    }));
    return woken;
  }
  std::vector<NotificationDelivery> Pending(const std::string& channel) {
    std::vector<NotificationDelivery> pending;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(pending, txn.notification_deliveries().ListPending(channel, 10000));
      return absl::OkStatus();
    }));
    return pending;
  }
  ChannelSummary Summary(const std::string& channel) {
    ChannelSummary summary;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(summary, txn.notification_deliveries().Summary(channel));
      return absl::OkStatus();
    }));
    return summary;
  }

  muster::testing::FakeClock clock_{kNow};
  std::unique_ptr<Store> store_;
  std::vector<ChannelConfig> channels_ = {MakeConfig("chat")};
};

}  // namespace muster::controller::notify
