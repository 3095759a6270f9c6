// The section `disk` of an image's definition: how a disk is divided.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/yaml/document.h"

namespace muster::image {

struct DiskPartition {
  std::string name;         // "scratch"
  std::string file_system;  // "ext4" or "xfs"
  int64_t mib = 0;          // 0: all that is left of the disk
};

struct DiskSection {
  std::string device = "blank";  // "blank", "serial:…" or "uuid:…"
  int64_t esp_mib = 512;
  int64_t root_mib = 4096;   // each of both roots
  int64_t state_mib = 8192;  // 0: all that is left of the disk
  std::vector<DiskPartition> partitions;
};

// Sets `disk`. InvalidArgument: with file:line:column and the remedy.
absl::Status ReadDiskSection(const yaml::Document& document, const yaml::Node& node,
                             DiskSection& disk);

}  // namespace muster::image
