// Which restarts of units are not needed any more: those of units that were down when their files
// changed, and have started since.
#pragma once

namespace muster::v1 {
class RolePlan;
class Step;
}  // namespace muster::v1

namespace muster::agent {

class PlanContext;

// To be called after the step has changed something: looks whether the units run that the handlers
// restart or reload which it notifies, and lets systemd read the files of those that do not. What
// cannot be told counts as running.
void NoteUnits(PlanContext& context, const v1::RolePlan& role, const v1::Step& step);

// Whether the handler restarts or reloads a unit that runs, and did not after the latest change
// that notified the handler: the unit has read that change, and all before it. False where an
// earlier life of the agent made the change, and where it cannot be told.
bool HasStartedSince(PlanContext& context, const v1::Step& handler);

}  // namespace muster::agent
