// A private copy of the controller's inventory, for an editor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/inventory_folder/inventory_in_force.h"

namespace muster::cli {

// A folder of mode 0700 below $TMPDIR (default /tmp) with the inventory's own folder in it: its
// files and the revision that they were made from, so that `muster inventory apply` takes them as
// they lie there. Removed with the object, unless it is to be kept.
class EditFolder {
 public:
  static absl::StatusOr<std::unique_ptr<EditFolder>> Make(const InventoryInForce& in_force);
  ~EditFolder();
  EditFolder(const EditFolder&) = delete;
  EditFolder& operator=(const EditFolder&) = delete;

  // The inventory's folder.
  const std::string& path() const { return inventory_; }
  // The paths of the files to edit: of all, or of the one called `file`, with or without its
  // folder's name. InvalidArgument: there is none of that name.
  absl::StatusOr<std::vector<std::string>> ToEdit(absl::string_view file) const;
  // `why`, and where the files are and what can be done with them; the folder stays.
  absl::Status Keep(const absl::Status& why);

 private:
  EditFolder(std::string folder, std::string inventory, std::vector<std::string> files)
      : folder_(std::move(folder)), inventory_(std::move(inventory)), files_(std::move(files)) {}

  const std::string folder_, inventory_;
  const std::vector<std::string> files_;  // below inventory_
  bool is_kept_ = false;
};

}  // namespace muster::cli
