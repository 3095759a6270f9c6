#include "agent/engine/plan_rules.h"

#include <map>
#include <set>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

absl::Status CheckStep(const v1::RolePlan& role, const v1::Step& step, std::set<std::string>& ids) {
  if (step.step_id().empty() || !ids.insert(step.step_id()).second) {
    return absl::InvalidArgumentError(absl::StrCat("plan: role ", role.name(), ": step id '",
                                                   step.step_id(), "' is empty or used twice"));
  }
  const bool has_resource = step.resource_case() != v1::Step::RESOURCE_NOT_SET;
  if (has_resource == !step.skip_reason().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: step '", step.step_id(), "' (", step.source(),
                     ") has no resource known to this agent; is the agent older than the "
                     "controller?"));
  }
  return absl::OkStatus();
}

// Checks that every role can run: no unknown needs, no cycles.
absl::Status CheckNeeds(const v1::Plan& plan) {
  std::map<std::string, const v1::RolePlan*> waiting;
  for (const v1::RolePlan& role : plan.roles()) {
    if (role.name().empty() || !waiting.emplace(role.name(), &role).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan: role name '", role.name(), "' is empty or used twice"));
    }
  }
  for (const v1::RolePlan& role : plan.roles()) {
    for (const std::string& need : role.needs()) {
      if (waiting.count(need) == 0) {
        return absl::InvalidArgumentError(absl::StrCat("plan: role ", role.name(), " needs role ",
                                                       need, ", which is not in the plan"));
      }
    }
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (auto it = waiting.begin(); it != waiting.end();) {
      bool ready = true;
      for (const std::string& need : it->second->needs()) ready &= waiting.count(need) == 0;
      progress |= ready;
      it = ready ? waiting.erase(it) : std::next(it);
    }
  }
  if (waiting.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("plan: role ", waiting.begin()->first,
                                                 " needs itself through the roles that it needs"));
}

}  // namespace

std::string PlanDigest(const v1::Plan& plan) {
  v1::Plan bare = plan;
  bare.clear_digest();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    bare.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

absl::Status CheckNotExpired(const v1::Plan& plan, absl::Time now) {
  if (!plan.has_expires_at()) return absl::OkStatus();
  const absl::Time expires = ToTime(plan.expires_at());
  if (now < expires) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "plan expired ", absl::FormatDuration(absl::Trunc(now - expires, absl::Seconds(1))),
      " ago by this node's clock (",
      absl::FormatTime("%Y-%m-%d %H:%M:%SZ", now, absl::UTCTimeZone()), ")"));
}

absl::Status CheckPlan(const v1::Plan& plan, absl::string_view node_uuid, uint64_t highest_sequence,
                       absl::Time now) {
  if (plan.plan_id().empty()) return absl::InvalidArgumentError("plan has no id");
  if (plan.node_uuid() != node_uuid) {
    return absl::PermissionDeniedError(
        absl::StrCat("plan is for another node: ", plan.node_name(), " (", plan.node_uuid(), ")"));
  }
  RETURN_IF_ERROR(CheckNotExpired(plan, now));
  if (plan.sequence() <= highest_sequence) {
    return absl::FailedPreconditionError(absl::StrCat("plan has sequence ", plan.sequence(),
                                                      "; this node has already accepted ",
                                                      highest_sequence));
  }
  if (!plan.digest().empty() && plan.digest() != PlanDigest(plan)) {
    return absl::DataLossError("plan does not match its digest");
  }
  RETURN_IF_ERROR(CheckNeeds(plan));
  std::set<std::string> ids;
  for (const v1::RolePlan& role : plan.roles()) {
    for (const v1::Step& step : role.steps()) {
      RETURN_IF_ERROR(CheckStep(role, step, ids));
    }
    for (const v1::Step& step : role.handlers()) {
      RETURN_IF_ERROR(CheckStep(role, step, ids));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
