#include "agent/engine/role_run.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/engine/restart_need.h"
#include "agent/engine/step_run.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

absl::Status Skip(PlanContext& context, const v1::RolePlan& role, const v1::Step& step,
                  bool handler, absl::string_view reason, absl::string_view clean_handler = "") {
  v1::StepResult result = NewResult(role, step, handler, v1::STEP_STATUS_SKIPPED);
  result.set_message(std::string(reason));
  *result.mutable_started_at() = ToTimestamp(context.clock().Now());
  return context.Record(result, clean_handler, Journal::Durability::kLazy);
}

// Their dirty bits stay: the next plan with the role runs them.
absl::Status SkipDirtyHandlers(PlanContext& context, const v1::RolePlan& role,
                               absl::string_view why) {
  for (const v1::Step& handler : role.handlers()) {
    if (context.Outcome(handler.step_id()).has_value()) continue;
    if (!context.IsDirty(handler.step_id())) continue;
    RETURN_IF_ERROR(
        Skip(context, role, handler, /*handler=*/true, absl::StrCat(why, "; will run next time")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RoleEnd>> RunStepsOfRole(PlanContext& context,
                                                      const v1::RolePlan& role) {
  RoleEnd end = RoleEnd::kSucceeded;
  std::string failed_step;
  for (int i = 0; i < role.steps_size(); ++i) {
    const v1::Step& step = role.steps(i);
    if (!context.Outcome(step.step_id()).has_value()) {
      if (context.stopping()) return std::nullopt;
      if (end == RoleEnd::kSucceeded && context.cancelled()) end = RoleEnd::kCancelled;
      if (end != RoleEnd::kSucceeded) {
        RETURN_IF_ERROR(Skip(context, role, step, false,
                             end == RoleEnd::kCancelled
                                 ? std::string("cancelled")
                                 : absl::StrCat("step '", failed_step, "' of the role failed")));
        continue;
      }
      if (!step.skip_reason().empty()) {
        RETURN_IF_ERROR(Skip(context, role, step, false, step.skip_reason()));
        continue;
      }
      std::vector<const v1::Step*> rest;
      for (int k = i; k < role.steps_size(); ++k) rest.push_back(&role.steps(k));
      ASSIGN_OR_RETURN(const std::optional<v1::StepStatus> outcome,
                       RunSteps(context, role, rest, /*handler=*/false));
      if (!outcome.has_value()) return std::nullopt;
    }
    if (context.Outcome(step.step_id()) == v1::STEP_STATUS_FAILED && end != RoleEnd::kFailed) {
      end = RoleEnd::kFailed;
      failed_step = step.name().empty() ? step.step_id() : step.name();
    }
  }
  return end;
}

absl::Status SettleStarted(PlanContext& context, const v1::RolePlan& role,
                           const v1::Step& handler) {
  v1::StepResult result = NewResult(role, handler, /*handler=*/true, v1::STEP_STATUS_OK);
  result.set_message(absl::StrCat(handler.unit().name(), " has started since the change"));
  *result.mutable_started_at() = ToTimestamp(context.clock().Now());
  return context.Record(result, /*clean_handler=*/handler.step_id(), Journal::Durability::kLazy);
}

absl::StatusOr<std::optional<RoleEnd>> RunHandlersOfRole(PlanContext& context,
                                                         const v1::RolePlan& role) {
  RoleEnd end = RoleEnd::kSucceeded;
  for (const v1::Step& handler : role.handlers()) {
    if (!context.Outcome(handler.step_id()).has_value()) {
      if (!context.IsDirty(handler.step_id())) continue;
      if (context.stopping()) return std::nullopt;
      if (context.cancelled()) end = RoleEnd::kCancelled;
      if (end != RoleEnd::kSucceeded) break;
      if (!handler.skip_reason().empty()) {
        // The playbook says that there is nothing to do on this node: the bit would stay for ever.
        RETURN_IF_ERROR(Skip(context, role, handler, /*handler=*/true, handler.skip_reason(),
                             context.plan().check_only() ? "" : handler.step_id()));
        continue;
      }
      if (HasStartedSince(context, handler)) {
        RETURN_IF_ERROR(SettleStarted(context, role, handler));
        continue;
      }
      ASSIGN_OR_RETURN(const std::optional<v1::StepStatus> outcome,
                       RunSteps(context, role, {&handler}, /*handler=*/true));
      if (!outcome.has_value()) return std::nullopt;
    }
    if (context.Outcome(handler.step_id()) == v1::STEP_STATUS_FAILED) {
      end = RoleEnd::kFailed;
      break;
    }
  }
  if (end == RoleEnd::kFailed) {
    RETURN_IF_ERROR(SkipDirtyHandlers(context, role, "an earlier handler failed"));
  } else if (end == RoleEnd::kCancelled) {
    RETURN_IF_ERROR(SkipDirtyHandlers(context, role, "cancelled"));
  }
  return end;
}

}  // namespace

absl::StatusOr<std::optional<RoleEnd>> RunRole(PlanContext& context, const v1::RolePlan& role) {
  ASSIGN_OR_RETURN(const std::optional<RoleEnd> end, RunStepsOfRole(context, role));
  if (end == RoleEnd::kSucceeded) return RunHandlersOfRole(context, role);
  if (end == RoleEnd::kFailed) {
    RETURN_IF_ERROR(SkipDirtyHandlers(context, role, "role failed"));
  } else if (end == RoleEnd::kCancelled) {
    RETURN_IF_ERROR(SkipDirtyHandlers(context, role, "cancelled"));
  }
  return end;
}

absl::Status SkipRole(PlanContext& context, const v1::RolePlan& role, absl::string_view reason) {
  for (const v1::Step& step : role.steps()) {
    if (context.Outcome(step.step_id()).has_value()) continue;
    RETURN_IF_ERROR(Skip(context, role, step, /*handler=*/false, reason));
  }
  return SkipDirtyHandlers(context, role, reason);
}

}  // namespace muster::agent
