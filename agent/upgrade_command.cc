#include "agent/commands.h"
#include "agent/flags.h"
#include "agent/log.h"
#include "agent/state/paths.h"
#include "agent/sys/sd_bus_unit_manager.h"
#include "agent/upgrade/upgrade.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {

int UpgradeCommand(const Flags& flags) {
  StartLog(flags.verbose);
  RealClock clock;
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  SdBusUnitManager units(processes, clock);
  const Paths paths(flags.state_directory);
  const UpgradePlace place = flags.upgrades_controller ? ControllerPlace(paths) : AgentPlace(paths);
  const absl::Status upgraded = Upgrade(place, files, processes, units, clock);
  if (!upgraded.ok()) LogError(upgraded.message());
  return upgraded.ok() ? 0 : 1;
}

}  // namespace muster::agent
