// Compares what is mounted with what a unit mounts.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/resources/mount_unit.h"
#include "agent/sys/block_devices.h"

namespace muster::agent {

// The file system that is mounted at `path`, by /proc/PID/mountinfo, if it is surely another than
// that of the unit: "oldnfs:/home (nfs4)". nullopt if it is the same, if none is mounted, and in
// every doubt: a bind mount, a type of a mount helper, a device that cannot be read. May block on
// the device.
std::optional<std::string> OtherMount(const MountUnit& wanted, absl::string_view path,
                                      absl::string_view mountinfo, BlockDevices& disks);

}  // namespace muster::agent
