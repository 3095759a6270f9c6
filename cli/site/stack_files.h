// The files of a site that calls about stacks need.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

#include "absl/status/status.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {

inline constexpr char kStackFolder[] = "playbooks/stacks";

// Adds those of playbooks/stacks in the site folder, and of inventory/hardware where it has that: a
// site without hardware files has no models of GPUs to compare. Errors: those of AddSiteFolder().
absl::Status AddStackFiles(const std::string& site,
                           google::protobuf::RepeatedPtrField<v1::InventoryFile>* files);

}  // namespace muster::cli
