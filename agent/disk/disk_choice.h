// Which disk an image is written to, and whether it is divided first. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/disk/disk_table.h"
#include "agent/sys/block_devices.h"

namespace muster::agent::disk {

// A disk and what is on it.
struct FoundDisk {
  DiskDevice device;
  std::vector<DeviceSignature> signatures;
  std::string user;                     // "mounted on /srv"; "": nobody
  std::optional<PartitionTable> table;  // of a disk with a GPT
  std::string unreadable;               // why nothing is known of it; "": it was read
};

// The disk that is meant, and by whom.
struct DiskWish {
  std::string device;            // as CheckDiskName() has it
  bool is_of_inventory = false;  // it was said of this node: what the disk holds may be lost
  uint64_t bytes_of_layout = 0;  // what a disk that is divided must have
};

struct DiskChoice {
  const FoundDisk* disk = nullptr;
  // True: it is divided and all that it holds is lost. False: it is divided already, and one of
  // its roots is written.
  bool divide = true;
};

// A disk that holds anything is taken only where the inventory names it by its serial number or
// uuid, one that was divided by Muster before by itself; it keeps its state and its partitions.
// FailedPrecondition: there is not exactly one such disk; the message lists the disks.
absl::StatusOr<DiskChoice> ChooseDisk(const std::vector<FoundDisk>& disks, const DiskWish& wish);

}  // namespace muster::agent::disk
