// The revision that the files of an inventory's folder were made from, kept beside them: the
// controller refuses to let them undo what somebody else has applied since.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::v1 {
class InventoryBase;
}

namespace muster::cli {

// Of the folder `path`; nullopt where it has none, and for an inventory that is a file.
absl::StatusOr<std::optional<v1::InventoryBase>> ReadInventoryBase(const std::string& path);
absl::Status WriteInventoryBase(const std::string& path, const v1::InventoryBase& base);
// The same after the controller has taken the files: says on standard error that it could not.
void NoteInventoryBase(const std::string& path, const v1::InventoryBase& base);

}  // namespace muster::cli
