// What sfdisk and lsblk read and write, as text. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class DiskLayout;
}

namespace muster::agent::disk {

inline constexpr uint64_t kMib = uint64_t{1} << 20;

// The id of a partition table of ours from its making until the disk holds a whole root: what is
// found with it holds nothing of anybody's, and is begun anew.
inline constexpr char kUnfinishedTable[] = "6d757374-6572-4e6f-8d79-65742d77686f";

struct Partition {
  std::string device;  // "/dev/nvme0n1p2"
  std::string uuid;    // lower case
  std::string name;    // "muster-root_a"
  uint64_t bytes = 0;
};

struct PartitionTable {
  std::string id;  // lower case
  std::vector<Partition> partitions;

  // nullptr: there is none of the name.
  const Partition* Find(absl::string_view name) const;
};

struct DiskDevice {
  std::string path;  // "/dev/nvme0n1"
  uint64_t bytes = 0;
  std::string serial;
};

// Output of `sfdisk --json`. DataLoss: it does not have the form.
absl::StatusOr<PartitionTable> ReadPartitionTable(absl::string_view json);
// Output of `lsblk --json --bytes` with the columns PATH, TYPE, SIZE, RO, RM and SERIAL: the disks
// that are not empty, not removable and can be written.
absl::StatusOr<std::vector<DiskDevice>> ReadDiskDevices(absl::string_view json);

// Whether the table is one that an image of the kind `disk` has made.
bool IsMusterTable(const PartitionTable& table);

// What sfdisk is to make of a disk, with the id kUnfinishedTable.
std::string DivisionScript(const v1::DiskLayout& layout);
// What a disk must have at least.
uint64_t BytesOfLayout(const v1::DiskLayout& layout);

}  // namespace muster::agent::disk
