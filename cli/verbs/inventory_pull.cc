// muster inventory pull: the controller's files into a folder.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/apply/inventory_base.h"
#include "cli/apply/inventory_files.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/plain_text.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using InventoryStub = v1::InventoryService::Stub;
using Texts = std::map<std::string, std::string>;  // by path below the inventory's folder

struct PullOptions {
  std::string folder = "inventory";
  bool force = false;
};

// The files as they lie in their folder, whose own name they begin with; a file that was applied by
// itself has none. The paths come from the controller, so none may lead elsewhere.
absl::StatusOr<Texts> BelowFolder(const v1::GetInventoryResponse& response) {
  Texts texts;
  for (const v1::InventoryFile& file : response.files()) {
    std::vector<std::string> parts = absl::StrSplit(file.path(), '/');
    if (parts.size() > 1) parts.erase(parts.begin());
    for (const std::string& part : parts)
      if (part.empty() || absl::StartsWith(part, "."))
        return absl::InvalidArgumentError(absl::StrCat("the controller's inventory has a file '",
                                                       Tame(file.path()),
                                                       "', which is not written; nothing was"));
    texts[absl::StrJoin(parts, "/")] = file.content();
  }
  return texts;
}

// What the folder has; nothing where it does not exist or has no inventory yet.
absl::StatusOr<Texts> Present(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return Texts();
  const auto files = ReadInventoryFiles(folder);
  if (absl::IsNotFound(files.status())) return Texts();
  RETURN_IF_ERROR(files.status());
  Texts texts;
  for (const v1::InventoryFile& file : *files)
    texts[file.path().substr(file.path().find('/') + 1)] = file.content();
  return texts;
}

absl::StatusOr<int> Pull(Context& context, const PullOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  InventoryStub stub(connection->channel());
  v1::GetInventoryResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &InventoryStub::GetInventory, v1::GetInventoryRequest(), &response));
  ASSIGN_OR_RETURN(const Texts wanted, BelowFolder(response));
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
  sys::RealFileSystem files;
  size_t written = 0;
  for (const auto& [path, text] : wanted) {
    const auto found = present.find(path);
    if (found != present.end() && found->second == text) continue;
    const fs::path file = fs::absolute(options.folder) / path;
    RETURN_IF_ERROR(files.MakeDirectory(file.parent_path().string(), 0755));
    RETURN_IF_ERROR(files.WriteAtomically(file.string(), text, {}));
    ++written;
  }
  RETURN_IF_ERROR(WriteInventoryBase(options.folder, response.base()));
  std::cout << options.folder << " has the inventory at revision " << response.revision() << ": "
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
