#include "controller/slurm/seen_slurm.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::slurm {
namespace {

using ::muster::testing::FakeSlurmControl;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What the agent and the inventory say where slurmctld is not to be found.
const absl::Status kMissing[] = {
    absl::NotFoundError("login2, where slurmctld runs: scontrol is not installed"),
    absl::FailedPreconditionError("login2, where slurmctld runs, has not joined")};

class SeenSlurmTest : public ::testing::Test {
 protected:
  SeenSlurmTest() { below_.Add("c001"); }
  std::vector<std::function<absl::Status()>> Calls() {
    return {[this] { return slurm_.Nodes().status(); },
            [this] { return slurm_.JobsOn({"c001"}).status(); },
            [this] {
              return slurm_.Drain({{"c001", ""}}, "muster:v-1 x").status();
            },
            [this] {
              return slurm_.Undrain({{"c001", "muster:v-1 x"}}).status();
            },
            [this] {
              return slurm_.Requeue({{"12", "c001"}}).status();
            }};
  }
  void ExpectAll(absl::StatusCode code) {
    for (const auto& call : Calls()) EXPECT_EQ(call().code(), code);
  }

  FakeSlurmControl below_;
  bool is_given_up_ = false;
  absl::StatusOr<bool> was_seen_ = false;
  int asked_ = 0;
  SeenSlurm slurm_{below_, [this] { return is_given_up_; },
                   [this] {
                     ++asked_;
                     return was_seen_;
                   }};
};

TEST_F(SeenSlurmTest, WhereNoNodeWasSeenThereIsNoneYet) {
  for (const absl::Status& missing : kMissing) {
    below_.status = missing;
    ExpectAll(missing.code());
  }
  // A slurmctld that knows no node has no job either.
  below_.status = absl::OkStatus();
  below_.nodes.clear();
  ASSERT_OK(slurm_.Nodes());
  below_.status = kMissing[0];
  ExpectAll(absl::StatusCode::kNotFound);
}

TEST_F(SeenSlurmTest, OnceItWasSeenItIsAwayAndNotMissing) {
  ASSERT_OK(slurm_.Nodes());
  for (const absl::Status& missing : kMissing) {
    below_.status = missing;
    ExpectAll(absl::StatusCode::kUnavailable);
    EXPECT_THAT(slurm_.JobsOn({"c001"}),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr(std::string(missing.message())),
                               HasSubstr("slurm_controller"), HasSubstr("slurm_gate"))));
  }
  EXPECT_EQ(asked_, 0);
  below_.status = absl::OkStatus();
  ExpectAll(absl::StatusCode::kOk);
}

TEST_F(SeenSlurmTest, ItIsRememberedAcrossARestart) {
  was_seen_ = true;
  below_.status = kMissing[0];
  ExpectAll(absl::StatusCode::kUnavailable);
  EXPECT_EQ(asked_, 1) << "what is known is not asked for again";
}

TEST_F(SeenSlurmTest, AStoreThatDoesNotTellIsNoLeaveToGoOn) {
  was_seen_ = absl::InternalError("the store is damaged");
  below_.status = kMissing[1];
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable,
                                       AllOf(HasSubstr("has not joined"), HasSubstr("damaged"))));
  was_seen_ = false;
  ExpectAll(absl::StatusCode::kFailedPrecondition);
}

TEST_F(SeenSlurmTest, AnInventoryWithoutAPlaceForItHasNone) {
  ASSERT_OK(slurm_.Nodes());
  is_given_up_ = true;
  below_.status = absl::FailedPreconditionError("the inventory has no login node");
  ExpectAll(absl::StatusCode::kFailedPrecondition);
}

TEST_F(SeenSlurmTest, OtherErrorsStayAsTheyAre) {
  ASSERT_OK(slurm_.Nodes());
  for (const absl::Status& error :
       {absl::UnavailableError("slurmctld does not answer"), absl::InternalError("no sense")}) {
    below_.status = error;
    for (const auto& call : Calls()) EXPECT_EQ(call(), error);
  }
}

}  // namespace
}  // namespace muster::controller::slurm
