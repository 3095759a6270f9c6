// What is done to disks by other programs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/disk/disk_table.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::agent::disk {

// Every call blocks. Not thread-safe.
class DiskTools {
 public:
  virtual ~DiskTools() = default;
  virtual absl::StatusOr<std::vector<DiskDevice>> List() = 0;
  // REQUIRES: the disk has a GPT.
  virtual absl::StatusOr<PartitionTable> ReadTable(const std::string& disk) = 0;
  // Divides the disk anew by a script of sfdisk's; all that it held is lost. Its partitions are
  // there afterwards.
  virtual absl::Status Divide(const std::string& disk, const std::string& script) = 0;
  virtual absl::Status SetTableId(const std::string& disk, const std::string& id) = 0;
  // `file_system`: "vfat", "ext4" or "xfs".
  virtual absl::Status Format(const std::string& partition, const std::string& file_system,
                              const std::string& label) = 0;
  // Mends what a crash has left in an ext4 file system that is not mounted, so far as that loses
  // nothing. Internal: faults are left.
  virtual absl::Status Mend(const std::string& partition) = 0;
  virtual absl::Status Mount(const std::string& source, const std::string& target,
                             const std::string& file_system, const std::string& options) = 0;
  // All that is written is on the disk afterwards. A folder where nothing is mounted is left as it
  // is.
  virtual absl::Status Unmount(const std::string& target) = 0;
};

// By the programs of util-linux, dosfstools, e2fsprogs and xfsprogs. The reference must outlive the
// object.
class DiskPrograms final : public DiskTools {
 public:
  explicit DiskPrograms(sys::ProcessRunner& processes) : processes_(processes) {}

  absl::StatusOr<std::vector<DiskDevice>> List() override;
  absl::StatusOr<PartitionTable> ReadTable(const std::string& disk) override;
  absl::Status Divide(const std::string& disk, const std::string& script) override;
  absl::Status SetTableId(const std::string& disk, const std::string& id) override;
  absl::Status Format(const std::string& partition, const std::string& file_system,
                      const std::string& label) override;
  absl::Status Mend(const std::string& partition) override;
  absl::Status Mount(const std::string& source, const std::string& target,
                     const std::string& file_system, const std::string& options) override;
  absl::Status Unmount(const std::string& target) override;

 private:
  sys::ProcessRunner& processes_;
};

}  // namespace muster::agent::disk
