// A store with acts and changes of conditions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "controller/timeline/timeline.h"
#include "muster/v1/health.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::timeline {

class TimelineFixture : public ::testing::Test {
 protected:
  static constexpr int64_t kBegin = 1'900'000'000;

  // `second` counts from kBegin.
  void Act(int second, const std::string& action, const std::string& subject,
           const std::string& detail = "", const Actor& actor = {"operator:ann", "10.1.2.3"}) {
    ASSERT_OK(store_->Update(
        [&](Transaction& txn) { return Audit(txn, At(second), actor, action, subject, detail); }));
  }
  void Change(int second, const std::string& node, const std::string& name,
              v1::ConditionStatus status, const std::string& evidence = "seen") {
    v1::Condition condition;
    condition.set_name(name);
    condition.set_status(status);
    condition.set_evidence(evidence);
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.health().AppendEvent(
          {0, At(second), "u-" + node, node, name, condition.SerializeAsString()});
    }));
  }
  static absl::Time At(int second) { return absl::FromUnixSeconds(kBegin + second); }

  v1::TimelinePosition NewestPlace() {
    v1::TimelinePosition newest;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      newest = Newest(txn).value();
      return absl::OkStatus();
    }));
    return newest;
  }

  const std::unique_ptr<Store> store_ = OpenStore(":memory:").value();
};

}  // namespace muster::controller::timeline
