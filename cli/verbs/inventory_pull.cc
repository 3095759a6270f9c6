// muster inventory pull: the controller's files into a folder.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_folder/inventory_base.h"
#include "cli/inventory_folder/inventory_files.h"
#include "cli/inventory_folder/inventory_in_force.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using Texts = InventoryFilesByPath;

struct PullOptions {
  std::string folder = "inventory";
  bool force = false;
};

// What the folder has; nothing where it does not exist or has no inventory yet.
absl::StatusOr<Texts> Present(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return Texts();
  const auto files = ReadInventoryFiles(folder);
  if (absl::IsNotFound(files.status())) return Texts();
  RETURN_IF_ERROR(files.status());
  return BelowFolder(*files);
}

absl::StatusOr<int> Pull(Context& context, const PullOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const InventoryInForce in_force, GetInventoryFiles(*connection));
  const Texts& wanted = in_force.files;
  ASSIGN_OR_RETURN(const Texts present, Present(options.folder));
  std::vector<std::string> differing, others;
  for (const auto& [path, text] : present) {
    const auto found = wanted.find(path);
    if (found == wanted.end()) {
      others.push_back(path);
    } else if (found->second != text) {
      differing.push_back(path);
    }
  }
  // They would be part of the inventory that is read from there.
  if (!others.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(options.folder, " has files that are not in the controller's inventory: ",
                     absl::StrJoin(others, ", "), "; move them away first"));
  if (!differing.empty() && !options.force)
    return absl::FailedPreconditionError(
        absl::StrCat(options.folder, " has other contents in ", absl::StrJoin(differing, ", "),
                     "; --force replaces them, `muster inventory diff ", options.folder,
                     "` shows what they would change"));
  ASSIGN_OR_RETURN(const size_t written, WriteInventoryFiles(options.folder, wanted, present));
  RETURN_IF_ERROR(WriteInventoryBase(options.folder, in_force.base));
  std::cout << options.folder << " has the inventory at revision " << in_force.revision << ": "
            << Counted(written, "file") << " written, " << wanted.size() - written
            << " as they were\n";
  return kExitClean;
}

}  // namespace

void AddInventoryPull(CLI::App& inventory, Context& context) {
  CLI::App* pull = inventory.add_subcommand("pull", "Write the files in force into a folder");
  auto options = std::make_shared<PullOptions>();
  pull->add_option("folder", options->folder, "Where to (default: inventory)")->type_name("DIR");
  pull->add_flag("--force", options->force, "Replace files that differ");
  SetAction(pull, context, [&context, options] { return Pull(context, *options); });
}

}  // namespace muster::cli
