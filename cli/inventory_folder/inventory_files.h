// The files of an inventory, from disk.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {

// One file, or every YAML file below a folder, named from the folder's own name on
// ("inventory/group_vars/gpu.yaml"), so that errors point there; links are followed. Leaves out
// names that begin with a dot and the folder's `hardware`, which says what models have to reach and
// nothing about a cluster: it travels with playbooks. InvalidArgument, with the remedy, for places
// that Ansible would read (group_vars/gpu without an extension, group_vars/gpu.json,
// group_vars/gpu/main.yaml, host_vars), for *.YAML and for a link to a folder above it.
absl::StatusOr<google::protobuf::RepeatedPtrField<v1::InventoryFile>> ReadInventoryFiles(
    const std::string& path);

}  // namespace muster::cli
