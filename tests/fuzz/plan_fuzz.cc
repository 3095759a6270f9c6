// Any plan that a controller could send: the agent's rules hold for it, and no step of it crashes a
// resource. The node is a fake: nothing is applied.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "absl/time/time.h"
#include "agent/engine/plan_rules.h"
#include "agent/resources/types.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_node.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void CheckSteps(const google::protobuf::RepeatedPtrField<muster::v1::Step>& steps,
                muster::testing::FakeNode& node) {
  for (const muster::v1::Step& step : steps) {
    const auto resource = muster::agent::MakeResource(step, node.context, /*want_diff=*/true);
    if (!resource.ok()) {
      if (resource.status().message().empty()) std::abort();
      continue;
    }
    if ((*resource)->Id().empty()) std::abort();
    const auto changes = (*resource)->Check();
    if (!changes.ok() && changes.status().message().empty()) std::abort();
  }
}

}  // namespace

FUZZ_TARGET(plan, data, size) {
  // Otherwise a line for each text that is not UTF-8 would hide everything else.
  const google::protobuf::LogSilencer silencer;
  muster::v1::Plan plan;
  if (!plan.ParseFromArray(data, static_cast<int>(size))) return 0;
  plan.set_digest(muster::agent::PlanDigest(plan));
  const absl::Time before_expiry =
      absl::FromUnixSeconds(plan.expires_at().seconds()) - absl::Seconds(1);
  const absl::Status status =
      muster::agent::CheckPlan(plan, "the-node", /*highest_sequence=*/7, before_expiry);
  if (!status.ok()) {
    if (status.message().empty()) std::abort();
  } else if (plan.node_uuid() != "the-node" || plan.sequence() <= 7) {
    std::abort();
  }
  muster::testing::FakeNode node;
  for (const muster::v1::RolePlan& role : plan.roles()) {
    CheckSteps(role.steps(), node);
    CheckSteps(role.handlers(), node);
  }
  return 0;
}
