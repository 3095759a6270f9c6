// The YAML files of one folder of a site, for calls that send files instead of a bundle.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

#include "absl/status/status.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {

// Adds the files *.yaml of `folder` ("inventory/hardware") in the site folder, in the order of
// their names; all of `files` together may take 8 MiB. NotFound: there is no such folder,
// or it cannot be read.
absl::Status AddSiteFolder(const std::string& site, const std::string& folder,
                           google::protobuf::RepeatedPtrField<v1::InventoryFile>* files);

}  // namespace muster::cli
