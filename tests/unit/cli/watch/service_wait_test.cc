#include "cli/watch/service_wait.h"

#include <gtest/gtest.h>

#include "muster/v1/validation.pb.h"
#include "tests/fakes/fake_clock.h"

namespace muster::cli {
namespace {

v1::Validation Of(const char* service, bool is_behind) {
  v1::Validation validation;
  validation.set_service_is_behind(is_behind);
  v1::NodeVerdict& node = *validation.add_nodes();
  node.set_node("c001");
  node.set_service(service);
  return validation;
}

class ServiceWaitTest : public ::testing::Test {
 protected:
  ServiceWaitTest() {
    finished_.add_nodes()->set_node("c001");
    finished_.mutable_nodes(0)->set_outcome(v1::OUTCOME_PASS);
  }
  // The gate is done at the look with this number, from 1 on; 0: never.
  void Take(int through_at) {
    TakeServices(
        clock_,
        [&]() -> absl::StatusOr<v1::Validation> {
          ++looks_;
          if (!error_.ok() && looks_ > 1) return error_;
          return looks_ == through_at ? Of("in service", false) : Of("being validated: v-1", true);
        },
        [&] { return stopped_; }, finished_);
  }
  const std::string& service() const { return finished_.nodes(0).service(); }

  muster::testing::FakeClock clock_;
  const absl::Time begin_ = clock_.Now();
  v1::Validation finished_;
  absl::Status error_;
  bool stopped_ = false;
  int looks_ = 0;
};

TEST_F(ServiceWaitTest, AGateThatIsThroughIsNotWaitedFor) {
  Take(1);
  EXPECT_EQ(service(), "in service");
  EXPECT_EQ(finished_.nodes(0).outcome(), v1::OUTCOME_PASS);
  EXPECT_FALSE(finished_.service_is_behind());
  EXPECT_EQ(clock_.Now(), begin_);
}

TEST_F(ServiceWaitTest, TakesWhatTheGateMadeOfIt) {
  Take(3);
  EXPECT_EQ(service(), "in service");
  EXPECT_FALSE(finished_.service_is_behind());
  EXPECT_EQ(clock_.Now() - begin_, 2 * kServiceInterval);
}

TEST_F(ServiceWaitTest, AGateThatStaysBehindIsLeftAndSaidToBe) {
  Take(0);
  EXPECT_EQ(service(), "being validated: v-1");
  EXPECT_TRUE(finished_.service_is_behind());
  EXPECT_GE(clock_.Now() - begin_, kServiceWait);
  EXPECT_LT(clock_.Now() - begin_, kServiceWait + kServiceInterval);
}

TEST_F(ServiceWaitTest, CtrlCEndsTheWait) {
  stopped_ = true;
  Take(0);
  EXPECT_EQ(looks_, 1);
  EXPECT_TRUE(finished_.service_is_behind());
}

TEST_F(ServiceWaitTest, AControllerThatGoesAwayLeavesTheVerdict) {
  error_ = absl::UnavailableError("connection refused");
  Take(0);
  EXPECT_EQ(looks_, 2);
  EXPECT_EQ(service(), "");
  EXPECT_EQ(finished_.nodes(0).outcome(), v1::OUTCOME_PASS);
}

}  // namespace
}  // namespace muster::cli
