// Disks by path.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/sys/block_devices.h"

namespace muster::testing {

class FakeBlockDevices final : public agent::BlockDevices {
 public:
  struct Disk {
    std::vector<agent::DeviceSignature> signatures;
    std::string user;
    std::string number;
    absl::Status error;  // of every read
  };
  std::map<std::string, Disk> disks;

  absl::StatusOr<std::vector<agent::DeviceSignature>> Probe(const std::string& path) override {
    const auto disk = disks.find(path);
    if (disk == disks.end()) return absl::NotFoundError(absl::StrCat("no device ", path));
    if (!disk->second.error.ok()) return disk->second.error;
    return disk->second.signatures;
  }
  absl::StatusOr<std::string> User(const std::string& path) override {
    const auto disk = disks.find(path);
    if (disk == disks.end()) return absl::NotFoundError(absl::StrCat("no device ", path));
    return disk->second.user;
  }
  absl::StatusOr<std::string> Number(const std::string& path) override {
    const auto disk = disks.find(path);
    if (disk == disks.end()) return absl::NotFoundError(absl::StrCat("no device ", path));
    return disk->second.number;
  }
};

}  // namespace muster::testing
