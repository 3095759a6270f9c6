#include "agent/engine/restart_need.h"

#include <memory>
#include <string>

#include "agent/engine/role_run.h"
#include "agent/resources/resource.h"

namespace muster::agent {
namespace {

// nullptr: the handler does something else, or its resource cannot be made.
std::unique_ptr<UnitRestart> RestartOf(PlanContext& context, const v1::Step& handler) {
  if (!handler.has_unit()) return nullptr;
  absl::StatusOr<std::unique_ptr<Resource>> resource =
      context.factory()(handler, /*want_diff=*/false);
  if (!resource.ok() || !(*resource)->AlwaysChanges()) return nullptr;
  auto* restart = dynamic_cast<UnitRestart*>(resource->get());
  if (restart == nullptr) return nullptr;
  (void)resource->release();
  return std::unique_ptr<UnitRestart>(restart);
}

}  // namespace

void NoteUnits(PlanContext& context, const v1::RolePlan& role, const v1::Step& step) {
  for (const v1::Step& handler : role.handlers()) {
    bool is_notified = false;
    for (const std::string& id : step.notify()) is_notified |= id == handler.step_id();
    if (!is_notified) continue;
    const auto restart = RestartOf(context, handler);
    context.NoteNotified(handler.step_id(),
                         restart != nullptr && restart->NextStartReadsAll().value_or(false));
  }
}

bool HasStartedSince(PlanContext& context, const v1::Step& handler) {
  if (!context.WasDown(handler.step_id())) return false;
  const auto restart = RestartOf(context, handler);
  return restart != nullptr && restart->Runs().value_or(false);
}

}  // namespace muster::agent
