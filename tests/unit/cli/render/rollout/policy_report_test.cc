#include "cli/render/rollout/policy_report.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/rollout.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kLookedAt = absl::FromUnixSeconds(1'700'000'000);

v1::UpdatePolicy& AddPolicy(v1::ListUpdatePoliciesResponse& response, const char* name,
                            v1::UpdatePolicyState state, const char* message) {
  v1::UpdatePolicy& policy = *response.add_policies();
  policy.set_name(name);
  policy.mutable_request()->set_playbook("playbooks/site.yaml");
  policy.set_state(state);
  policy.set_message(message);
  return policy;
}

v1::ListUpdatePoliciesResponse Policies() {
  v1::ListUpdatePoliciesResponse response;
  v1::UpdatePolicy& nightly =
      AddPolicy(response, "nightly", v1::UPDATE_POLICY_STATE_PENDING, "waits for the window");
  nightly.mutable_request()->set_limit("c[001-016]");
  nightly.mutable_request()->add_windows("22:00-06:00");
  nightly.set_rollout_id("u-7k3m9q2x");
  *nightly.mutable_next_window() = ToTimestamp(kLookedAt + absl::Minutes(252));
  AddPolicy(response, "open", v1::UPDATE_POLICY_STATE_RUNNING, "rolling")
      .mutable_request()
      ->add_windows("00:00-24:00");
  AddPolicy(response, "done", v1::UPDATE_POLICY_STATE_UP_TO_DATE, "done by u-aaaaaaaa");
  AddPolicy(response, "wait", v1::UPDATE_POLICY_STATE_WAITING, "waits for rollout u-bbbbbbbb");
  AddPolicy(response, "stop", v1::UPDATE_POLICY_STATE_STOPPED, "u-cccccccc is paused");
  return response;
}

TEST(PolicyReport, ShowsEveryState) {
  EXPECT_THAT(RenderPolicies(Policies(), kLookedAt), Said());
  EXPECT_THAT(RenderPolicyLines(Policies(), kLookedAt), Said());
}

TEST(PolicyReport, WithoutPoliciesThereIsNothingToSay) {
  EXPECT_EQ(RenderPolicies({}, kLookedAt), "");
  EXPECT_EQ(RenderPolicyLines({}, kLookedAt), "");
}

// A message may quote what a playbook or a node says.
TEST(PolicyReport, AMessageNeverControlsTheTerminalNorBreaksTheLine) {
  v1::ListUpdatePoliciesResponse response;
  AddPolicy(response, "evil", v1::UPDATE_POLICY_STATE_STOPPED, "\x1b[2Jx\nopen: up to date");
  for (const std::string& text :
       {RenderPolicies(response, kLookedAt), RenderPolicyLines(response, kLookedAt)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("x open: up to date"));
  }
}

}  // namespace
}  // namespace muster::cli
