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
  UpgradePlace upgrade = {};
};

// The resource of `step`, with its values checked: InvalidArgument names the field of a step that
// our compiler would not make (a relative path, an empty name). `want_diff`: changes of texts carry
// unified diffs. The step need not outlive the resource.
absl::StatusOr<std::unique_ptr<Resource>> MakeResource(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff);

}  // namespace muster::agent
