// Maps a plan's step to the resource that carries it out.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "agent/resources/blob_source.h"
#include "agent/resources/resource.h"
#include "agent/state/resource_records.h"
#include "agent/sys/accounts.h"
#include "agent/sys/block_devices.h"
#include "agent/sys/package_manager.h"
#include "agent/sys/unit_manager.h"
#include "agent/upgrade/upgrade_place.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {

// Everything outside the plan that resources use. Outlives every resource made with it; shared by
// the roles that run in parallel, so each of its members is thread-safe.
struct ResourceContext {
  sys::FileSystem& files;
  sys::ProcessRunner& processes;
  UnitManager& units;
  PackageManager& packages;
  AccountDatabase& accounts;
  BlobSource& blobs;
  ResourceRecords& records;
  Clock& clock;
  BlockDevices& disks;
  UpgradePlace upgrade = AgentPlace(Paths());
  UpgradePlace controller_upgrade = ControllerPlace(Paths());
  // False: the file system is a root whose system is not running, while an image is built.
  // Resources then look at and change only what lasts, and leave the running kernel and services
  // alone.
  bool is_running = true;
};

// What becomes of a kind of resource in a root that is not running.
enum class InRoot {
  kWhole,    // the same as on a node
  kLasting,  // the part that outlives a boot: files, and whether units are enabled
  kNothing,  // it is left to the booted node
};

// REQUIRES: the step holds a resource that this agent knows.
InRoot InRootOf(const v1::Step& step);

// The resource of `step`, with its values checked: InvalidArgument names the field of a step that
// our compiler would not make (a relative path, an empty name). `want_diff`: changes of texts carry
// unified diffs. The step need not outlive the resource.
absl::StatusOr<std::unique_ptr<Resource>> MakeResource(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff);

}  // namespace muster::agent
