// One disk in a folder: partitions are files, and what is in their file systems are folders that
// move to where they are mounted. Devices by libblkid's view are FakeBlockDevices.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/disk/disk_tools.h"
#include "tests/fakes/counted_acts.h"
#include "tests/fakes/fake_block_devices.h"

namespace muster::testing {

class FakeDiskTools final : public agent::disk::DiskTools {
 public:
  FakeDiskTools(std::string folder, Acts& acts) : folder_(std::move(folder)), acts_(acts) {
    std::filesystem::create_directories(folder_ + "/content");
    devices.disks[Disk()] = {};
  }

  std::string Disk() const { return folder_ + "/vda"; }
  // What is in the file system of a partition that is not mounted.
  std::string Content(const std::string& partition) const {
    return absl::StrCat(folder_, "/content/", Name(partition));
  }
  // The folders that a squashfs file has in it, by the file's path.
  std::map<std::string, std::string> images;
  std::optional<agent::disk::PartitionTable> table;
  FakeBlockDevices devices;
  uint64_t disk_bytes = uint64_t{4} << 30;
  int divided = 0;
  std::set<std::string> faulty;  // partitions whose file system the kernel would not write
  absl::Status mend_fails;

  // The power goes off and on again.
  void Reboot() {
    for (const auto& [target, source] : std::map<std::string, std::string>(mounted_))
      Release(target);
  }
  bool IsMounted() const { return !mounted_.empty(); }

  absl::StatusOr<std::vector<agent::disk::DiskDevice>> List() override {
    return std::vector<agent::disk::DiskDevice>{{Disk(), disk_bytes, "S1"}};
  }
  absl::StatusOr<agent::disk::PartitionTable> ReadTable(const std::string& disk) override {
    if (disk == Disk() && table.has_value()) return *table;
    return absl::FailedPreconditionError("no table");
  }
  absl::Status Divide(const std::string& disk, const std::string& script) override {
    for (const auto& [target, source] : mounted_) {
      if (!source.empty()) return absl::FailedPreconditionError(disk + " is busy");
    }
    acts_.Count();
    ++divided;
    agent::disk::PartitionTable made;
    const std::vector<std::string> lines = absl::StrSplit(script, '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      if (absl::StartsWith(line, "label-id: ")) made.id = line.substr(10);
      const size_t name = line.find("name=\"");
      if (name == std::string::npos) continue;
      uint64_t mib = 1024;
      if (absl::StartsWith(line, "size="))
        (void)absl::SimpleAtoi(line.substr(5, line.find("MiB") - 5), &mib);
      const std::string device = absl::StrCat(Disk(), made.partitions.size() + 1);
      std::ofstream(device) << "what was there before";
      std::filesystem::remove_all(Content(device));
      made.partitions.push_back({device, absl::StrCat("uuid-", made.partitions.size() + 1),
                                 line.substr(name + 6, line.rfind('"') - name - 6), mib << 20});
    }
    table = made;
    devices.disks[Disk()].signatures = {{"partition table", "gpt", made.id, ""}};
    acts_.Count();
    return absl::OkStatus();
  }
  absl::Status SetTableId(const std::string&, const std::string& id) override {
    acts_.Count();
    table->id = id;
    acts_.Count();
    return absl::OkStatus();
  }
  absl::Status Format(const std::string& partition, const std::string&,
                      const std::string&) override {
    acts_.Count();
    std::filesystem::remove_all(Content(partition));
    std::filesystem::create_directories(Content(partition));
    acts_.Count();
    return absl::OkStatus();
  }
  absl::Status Mend(const std::string& partition) override {
    for (const auto& [target, source] : mounted_) {
      if (source == partition) return absl::FailedPreconditionError(partition + " is mounted");
    }
    acts_.Count();
    faulty.erase(partition);
    return mend_fails;
  }
  absl::Status Mount(const std::string& source, const std::string& target,
                     const std::string& file_system, const std::string&) override {
    if (mounted_.count(target) > 0) return absl::FailedPreconditionError(target + " is busy");
    if (faulty.count(source) > 0) return absl::DataLossError(source + " needs e2fsck");
    acts_.Count();
    std::filesystem::remove(target);
    if (file_system == "squashfs") {
      std::filesystem::copy(images.at(source), target, std::filesystem::copy_options::recursive);
    } else {
      if (!std::filesystem::exists(Content(source)))
        return absl::InvalidArgumentError(source + " has no file system");
      std::filesystem::rename(Content(source), target);
    }
    mounted_[target] = file_system == "squashfs" ? "" : source;
    acts_.Count();
    return absl::OkStatus();
  }
  absl::Status Unmount(const std::string& target) override {
    if (mounted_.count(target) == 0) return absl::OkStatus();
    acts_.Count();
    Release(target);
    return absl::OkStatus();
  }

 private:
  static std::string Name(const std::string& partition) {
    return std::filesystem::path(partition).filename().string();
  }
  void Release(const std::string& target) {
    const std::string source = mounted_.at(target);
    if (source.empty()) {
      std::filesystem::remove_all(target);
    } else {
      std::filesystem::rename(target, Content(source));
    }
    std::filesystem::create_directory(target);
    mounted_.erase(target);
  }

  const std::string folder_;
  Acts& acts_;
  std::map<std::string, std::string> mounted_;  // target → partition; "": an image
};

}  // namespace muster::testing
