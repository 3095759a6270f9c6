#include "cli/inventory_folder/inventory_removal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/inventory_edit/inventory_texts.h"
#include "cli/inventory_edit/removal_check.h"
#include "cli/inventory_edit/remove_nodes.h"
#include "cli/inventory_folder/inventory_files.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {

absl::StatusOr<InventoryChange> PrepareRemoval(const Connection& connection,
                                               const std::string& path,
                                               const std::vector<std::string>& names) {
  InventoryChange result;
  ASSIGN_OR_RETURN(const std::string in_force, ResolvedInventory(connection));
  const std::vector<std::string> present = NodesInForce(in_force, names);
  if (present.empty()) return result;
  RETURN_IF_ERROR(CheckRemovable(in_force, present));
  ASSIGN_OR_RETURN(*result.request.mutable_files(), ReadInventoryFiles(path));
  const std::map<std::string, std::string> texts = TextsOf(result.request);
  ASSIGN_OR_RETURN(const std::vector<std::string> differences,
                   Differences(connection, result.request));
  ASSIGN_OR_RETURN(const std::vector<std::string> written, NodesOf(texts));
  const bool is_written = std::any_of(present.begin(), present.end(), [&](const auto& name) {
    return std::find(written.begin(), written.end(), name) != written.end();
  });
  if (!is_written) {
    // Removed by hand, or by an earlier call that did not come further.
    const absl::Status is_all = CheckRemoval(differences, present);
    if (!is_all.ok()) return InventoriesDiffer(path, std::string(is_all.message()));
    result.changes = differences;
    return result;
  }
  if (!differences.empty()) return InventoriesDiffer(path, differences[0]);
  ASSIGN_OR_RETURN(NodeRemoval removal, RemoveNodes(texts, present));
  RETURN_IF_ERROR(
      Annotate(TakeEdit(connection, std::move(removal.texts), std::move(removal.files), result),
               absl::StrCat("without ", FoldHostlist(present))));
  RETURN_IF_ERROR(CheckRemoval(result.changes, present));
  return result;
}

}  // namespace muster::cli
