// muster inventory push: others' changes into the files of a folder, then all of them to the
// controller.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/merge_texts.h"
#include "cli/inventory_folder/inventory_base.h"
#include "cli/inventory_folder/inventory_change.h"
#include "cli/inventory_folder/inventory_files.h"
#include "cli/inventory_folder/inventory_in_force.h"
#include "cli/node_change/cluster_change.h"
#include "cli/render/questions.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using PushStub = v1::InventoryService::Stub;

struct PushOptions {
  std::string folder = "inventory";
  bool yes = false;
};

// The files with what others have applied since `base`. FailedPrecondition: both have changed the
// same lines.
absl::StatusOr<InventoryFilesByPath> MergeOthers(const Connection& connection,
                                                 const PushOptions& options,
                                                 const v1::InventoryBase& base,
                                                 const InventoryFilesByPath& mine,
                                                 const InventoryInForce& in_force) {
  if (in_force.base.sha256() == base.sha256()) return mine;
  const auto before = GetInventoryFiles(connection, base.revision());
  if (!before.ok() && !absl::IsNotFound(before.status())) return before.status();
  if (!before.ok() || before->base.sha256() != base.sha256()) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.folder, " was made from revision ", base.revision(),
                     " of another controller's inventory; see `muster inventory diff ",
                     options.folder, "`, then apply it with `muster inventory apply`"));
  }
  FilesMerge merge = MergeFiles(before->files, mine, in_force.files);
  if (merge.conflicts.empty()) return std::move(merge.files);
  for (std::string& place : merge.conflicts) place = (fs::path(options.folder) / place).string();
  return absl::FailedPreconditionError(absl::StrCat(
      "you and others have changed the same lines since revision ", base.revision(), ": ",
      absl::StrJoin(merge.conflicts, ", "),
      "; compare them with `muster inventory show --files`, make these lines the same as there or "
      "undo your change, and push again; nothing was written or applied"));
}

// Makes the folder's files those of `wanted`.
absl::Status WriteMerged(const std::string& folder, const InventoryFilesByPath& wanted,
                         const InventoryFilesByPath& present) {
  RETURN_IF_ERROR(WriteInventoryFiles(folder, wanted, present).status());
  sys::RealFileSystem files;
  for (const auto& [path, text] : present) {
    if (wanted.count(path) == 0)
      RETURN_IF_ERROR(files.Remove((fs::absolute(folder) / path).string(), /*recursive=*/false));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Push(Context& context, const PushOptions& options) {
  ASSIGN_OR_RETURN(const auto files, ReadInventoryFiles(options.folder));
  ASSIGN_OR_RETURN(const std::optional<v1::InventoryBase> base, ReadInventoryBase(options.folder));
  if (!base.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.folder,
                     " is not a folder with a file .revision, so nobody knows what others have "
                     "changed since; see "
                     "`muster inventory diff ",
                     options.folder, "`, then apply it with `muster inventory apply`"));
  }
  const InventoryFilesByPath mine = BelowFolder(files);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const InventoryInForce in_force, GetInventoryFiles(*connection));
  ASSIGN_OR_RETURN(const InventoryFilesByPath merged,
                   MergeOthers(*connection, options, *base, mine, in_force));
  v1::ApplyInventoryRequest request;
  *request.mutable_base() = in_force.base;
  const std::string name = fs::weakly_canonical(options.folder).filename().string();
  for (const auto& [path, text] : merged) {
    v1::InventoryFile& file = *request.add_files();
    file.set_path(absl::StrCat(name, "/", path));
    file.set_content(text);
  }
  // What others have changed, as it will be in the folder. Each change is good by itself; the
  // controller finds out whether both are good together.
  Words(context) << DescribeTexts(mine, merged) << std::flush;
  v1::DiffInventoryRequest question;
  *question.mutable_files() = request.files();
  PushStub stub(connection->channel());
  v1::DiffInventoryResponse diff;
  const absl::Status checked = Call(*connection, stub, &PushStub::DiffInventory, question, &diff);
  if (!checked.ok() && merged != mine)
    return Annotate(checked, "the merged files, of which none was written");
  RETURN_IF_ERROR(checked);
  const std::string why = options.yes ? "" : InventoryQuestion(diff);
  if (!why.empty()) RETURN_IF_ERROR(AskOrRefuse(why, "nothing was written or applied"));
  // First the controller, which takes all or nothing: a push that ends here finds its own changes
  // among those of others the next time.
  v1::ApplyInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &PushStub::ApplyInventory, request, &response));
  RETURN_IF_ERROR(WriteMerged(options.folder, merged, mine));
  NoteInventoryBase(options.folder, response.base());
  Show(context, response, [&] {
    return absl::StrCat(response.changes().empty() ? "no changes of yours"
                                                   : absl::StrJoin(response.changes(), "\n"),
                        "\ninventory is at revision ", response.revision(), "\n",
                        AfterInventory(response));
  });
  return kExitClean;
}

}  // namespace

void AddInventoryPush(CLI::App& inventory, Context& context) {
  CLI::App* push = inventory.add_subcommand(
      "push", "Merge what others have applied into the files, and apply both");
  auto options = std::make_shared<PushOptions>();
  push->add_option("folder", options->folder, "The inventory's folder (default: inventory)")
      ->type_name("DIR");
  push->add_flag("-y,--yes", options->yes,
                 "Do not ask before renaming the cluster or dropping nodes");
  push->footer(
      "Where others have applied an inventory since these files were pulled or applied, `apply`\n"
      "refuses them. `push` merges line by line, with comments and order as they are. Where both\n"
      "have changed the same lines it names them, and writes and applies nothing.");
  SetAction(push, context, [&context, options] { return Push(context, *options); });
}

}  // namespace muster::cli
