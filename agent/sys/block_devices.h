// What block devices hold, as libblkid reads it from the devices themselves.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

// One mark that says what a device, or a part of it, is used for.
struct DeviceSignature {
  // "filesystem", "raid" (LVM and ZFS too), "crypto", "other" (swap), "partition table".
  std::string usage;
  std::string type;  // "xfs", "LVM2_member", "gpt"
  std::string uuid;  // empty where the type has none
  std::string label;
  bool operator==(const DeviceSignature&) const = default;
};

// What stands on a device: "xfs 'scratch' (uuid 1b2…)", "a gpt partition table".
std::string DescribeSignature(const DeviceSignature& signature);

// Thread-safe; every call may block on the device.
class BlockDevices {
 public:
  virtual ~BlockDevices() = default;
  // All signatures on the device, through links that udev made. Reads only. An empty list means
  // that the device was read and holds none: a device that cannot be read is an error. NotFound:
  // there is no such device. InvalidArgument: it is not a block device.
  virtual absl::StatusOr<std::vector<DeviceSignature>> Probe(const std::string& path) = 0;
  // What uses the device now: "mounted on /srv", "in use by dm-0"; "" if nothing does. Reads only.
  virtual absl::StatusOr<std::string> User(const std::string& path) = 0;
  // The kernel's number of the device, through links: "8:17". Errors as for Probe().
  virtual absl::StatusOr<std::string> Number(const std::string& path) = 0;
};

class BlkidBlockDevices final : public BlockDevices {
 public:
  absl::StatusOr<std::vector<DeviceSignature>> Probe(const std::string& path) override;
  absl::StatusOr<std::string> User(const std::string& path) override;
  absl::StatusOr<std::string> Number(const std::string& path) override;
};

// Reads the signatures behind an open device or image file.
absl::StatusOr<std::vector<DeviceSignature>> ReadSignatures(int fd, const std::string& path);

// The mount points of the device "MAJOR:MINOR" in the content of /proc/PID/mountinfo. Pure.
std::vector<std::string> MountPointsOf(const std::string& mountinfo, const std::string& device);

}  // namespace muster::agent
