// The files of the controller's inventory, and of a folder of the same shape.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {

class Connection;

using InventoryFilesByPath = std::map<std::string, std::string>;  // by path below its folder

// A revision of it.
struct InventoryInForce {
  uint64_t revision = 0;
  v1::InventoryBase base;
  // What the files' folder was called where they were applied.
  std::string folder_name = "inventory";
  InventoryFilesByPath files;
};

// The paths come from the controller: InvalidArgument for one that would lead elsewhere or that no
// inventory is read from.
absl::StatusOr<InventoryInForce> FilesOf(const v1::GetInventoryResponse& response);
// `revision`: of an earlier one, NotFound where there is none; 0: of the one in force.
absl::StatusOr<InventoryInForce> GetInventoryFiles(const Connection& connection,
                                                   uint64_t revision = 0);

// The files that ReadInventoryFiles() has read from a folder, by their paths below it.
InventoryFilesByPath BelowFolder(
    const google::protobuf::RepeatedPtrField<v1::InventoryFile>& files);

// Writes those files below `folder` that are not there as they are in `present`; how many. Folders
// that are missing are made.
absl::StatusOr<size_t> WriteInventoryFiles(const std::string& folder,
                                           const InventoryFilesByPath& files,
                                           const InventoryFilesByPath& present);

}  // namespace muster::cli
