#include "cli/render/report/drift_report.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "muster/v1/drift.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

const absl::Time kShownAt = absl::FromUnixSeconds(1'800'000'000);

v1::NodeDrift& Add(v1::DriftPolicy& policy, const std::string& name, v1::DriftState state,
                   uint32_t changes = 0, const std::string& message = "") {
  v1::NodeDrift& node = *policy.add_nodes();
  node.set_node(name);
  node.set_state(state);
  node.set_changes(changes);
  node.set_message(message);
  if (state == v1::DRIFT_STATE_NOT_CHECKED || state == v1::DRIFT_STATE_NOT_APPLIED) return node;
  node.set_checked_run_id("r-7k3m9q2x");
  *node.mutable_checked_at() = ToTimestamp(kShownAt - absl::Hours(2));
  return node;
}

v1::ListDriftResponse DriftResponse() {
  v1::ListDriftResponse response;
  v1::DriftPolicy& policy = *response.add_policies();
  policy.set_name("site");
  policy.set_playbook("playbooks/site.yaml");
  *policy.mutable_every() = ToProtoDuration(absl::Hours(24));
  policy.set_repairs(true);
  policy.set_message("only workers are repaired: apply the playbook to login1");
  Add(policy, "c001", v1::DRIFT_STATE_AS_APPLIED);
  Add(policy, "c002", v1::DRIFT_STATE_DIFFERS, 2).set_repair_rollout_id("u-2m4n6p8q");
  Add(policy, "c003", v1::DRIFT_STATE_AS_APPLIED);
  Add(policy, "c004", v1::DRIFT_STATE_UNKNOWN, 0, "disk \x1b[31mfull\nand more");
  Add(policy, "c005", v1::DRIFT_STATE_NOT_CHECKED);
  Add(policy, "c006", v1::DRIFT_STATE_NOT_APPLIED);
  Add(policy, "login1", v1::DRIFT_STATE_DIFFERS, 1);
  return response;
}

TEST(DriftReport, ShowsThoseThatDifferFirstAndEqualOnesOnce) {
  EXPECT_THAT(RenderDrift(DriftResponse(), kShownAt), Said());
}

TEST(DriftReport, SaysInOneLineWhatNeedsSomebody) {
  EXPECT_THAT(RenderDriftLine(DriftResponse()), Said());
  v1::ListDriftResponse fine;
  Add(*fine.add_policies(), "c001", v1::DRIFT_STATE_AS_APPLIED);
  EXPECT_EQ(RenderDriftLine(fine), "");
}

}  // namespace
}  // namespace muster::cli
