// muster inventory edit: the controller's files in an editor, and back.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_folder/edit_folder.h"
#include "cli/inventory_folder/editor.h"
#include "cli/inventory_folder/inventory_change.h"
#include "cli/inventory_folder/inventory_files.h"
#include "cli/inventory_folder/inventory_in_force.h"
#include "cli/node_change/cluster_change.h"
#include "cli/render/questions.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

using InventoryStub = v1::InventoryService::Stub;
using Texts = std::map<std::string, std::string>;  // by path, from the inventory's folder on

struct InventoryEditOptions {
  std::string file;
  bool yes = false;
};

std::vector<std::string> Editor() {
  const char* visual = std::getenv("VISUAL");
  const char* editor = std::getenv("EDITOR");
  return EditorCommand(visual == nullptr ? "" : visual, editor == nullptr ? "" : editor);
}

// Edits until the controller finds no mistake in the files, or the person gives up. `request`
// has the files then; false: none was changed.
absl::StatusOr<bool> EditFiles(const Connection& connection, EditFolder& folder,
                               const std::vector<std::string>& paths, const Texts& before,
                               v1::ApplyInventoryRequest& request,
                               v1::DiffInventoryResponse& diff) {
  InventoryStub stub(connection.channel());
  while (true) {
    const absl::Status edited = RunEditor(Editor(), paths);
    auto files = ReadInventoryFiles(folder.path());
    if (!files.ok()) return folder.Keep(files.status());
    *request.mutable_files() = *std::move(files);
    const bool has_changed = TextsOf(request) != before;
    if (!edited.ok()) return has_changed ? folder.Keep(edited) : edited;
    if (!has_changed) return false;
    v1::DiffInventoryRequest question;
    *question.mutable_files() = request.files();
    const absl::Status checked =
        Call(connection, stub, &InventoryStub::DiffInventory, question, &diff);
    if (checked.ok()) return true;
    if (!absl::IsInvalidArgument(checked) || !CanAsk()) return folder.Keep(checked);
    std::cerr << "muster: " << checked.message() << std::endl;
    if (!Confirm("Edit again?")) return folder.Keep(absl::CancelledError("nothing was applied"));
  }
}

absl::StatusOr<int> Edit(Context& context, const InventoryEditOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const InventoryInForce in_force, GetInventoryFiles(*connection));
  ASSIGN_OR_RETURN(const std::unique_ptr<EditFolder> folder, EditFolder::Make(in_force));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, folder->ToEdit(options.file));
  Texts before;
  for (const auto& [path, text] : in_force.files)
    before[absl::StrCat(in_force.folder_name, "/", path)] = text;

  v1::ApplyInventoryRequest request;
  v1::DiffInventoryResponse diff;
  ASSIGN_OR_RETURN(const bool has_changed,
                   EditFiles(*connection, *folder, paths, before, request, diff));
  if (!has_changed) {
    Words(context) << "no file was changed; nothing was applied\n";
    return kExitClean;
  }
  Words(context) << DescribeTexts(before, TextsOf(request)) << std::flush;
  if (diff.changes().empty())
    return folder->Keep(absl::FailedPreconditionError(
        "the edit changes no node, group, rack, partition, policy or variable: the controller "
        "keeps comments and the order of lines together with the next change; nothing was "
        "applied"));
  // The question would name what somebody else has added meanwhile, and the controller refuses
  // that.
  const absl::StatusOr<InventoryInForce> now = GetInventoryFiles(*connection);
  if (!now.ok()) return folder->Keep(now.status());
  const bool is_overtaken = now->base.sha256() != in_force.base.sha256();
  const std::string why = options.yes || is_overtaken ? "" : InventoryQuestion(diff);
  if (!why.empty()) {
    const absl::Status asked = AskOrRefuse(why, "nothing was applied");
    if (!asked.ok()) return folder->Keep(asked);
  }
  *request.mutable_base() = in_force.base;
  InventoryStub stub(connection->channel());
  v1::ApplyInventoryResponse response;
  const absl::Status applied =
      Call(*connection, stub, &InventoryStub::ApplyInventory, request, &response);
  if (!applied.ok()) return folder->Keep(applied);
  Show(context, response, [&] {
    return absl::StrCat(absl::StrJoin(response.changes(), "\n"), "\ninventory is at revision ",
                        response.revision(), "\n", AfterInventory(response));
  });
  return kExitClean;
}

}  // namespace

void AddInventoryEdit(CLI::App& inventory, Context& context) {
  CLI::App* edit = inventory.add_subcommand("edit", "Edit the inventory in force");
  auto options = std::make_shared<InventoryEditOptions>();
  edit->add_option("file", options->file, "One of its files (default: all)")->type_name("FILE");
  edit->add_flag("-y,--yes", options->yes,
                 "Do not ask before renaming the cluster or dropping nodes");
  edit->footer(
      "Opens the files in $VISUAL, else $EDITOR, else vi, in a private folder. What it saves is\n"
      "checked, shown and applied, unless somebody else has applied an inventory meanwhile.\n"
      "The variable is split at blanks and no shell reads it. Files in a folder of your own stay\n"
      "as they are; `muster inventory push` or `pull` takes the edit into them.");
  SetAction(edit, context, [&context, options] { return Edit(context, *options); });
}

}  // namespace muster::cli
