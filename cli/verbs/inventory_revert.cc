// muster inventory revert: takes back what one revision has changed.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/merge_texts.h"
#include "cli/inventory_folder/inventory_change.h"
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

using RevertStub = v1::InventoryService::Stub;

struct RevertOptions {
  uint64_t revision = 0;
  bool yes = false;
};

// The files in force without what the revision changed. FailedPrecondition: the same lines have
// changed since.
absl::StatusOr<InventoryFilesByPath> Without(const Connection& connection, uint64_t revision,
                                             const InventoryInForce& in_force) {
  if (revision < 2)
    return absl::InvalidArgumentError("the first revision has none before it to go back to");
  ASSIGN_OR_RETURN(const InventoryInForce after, GetInventoryFiles(connection, revision));
  ASSIGN_OR_RETURN(const InventoryInForce before, GetInventoryFiles(connection, revision - 1));
  FilesMerge merge = MergeFiles(after.files, in_force.files, before.files);
  if (merge.conflicts.empty()) return std::move(merge.files);
  return absl::FailedPreconditionError(
      absl::StrCat("others have changed the same lines since revision ", revision, ": ",
                   absl::StrJoin(merge.conflicts, ", "),
                   "; change them by hand (muster inventory edit); nothing was applied"));
}

absl::StatusOr<int> Revert(Context& context, const RevertOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const InventoryInForce in_force, GetInventoryFiles(*connection));
  ASSIGN_OR_RETURN(const InventoryFilesByPath files,
                   Without(*connection, options.revision, in_force));
  Words(context) << DescribeTexts(in_force.files, files) << std::flush;
  v1::ApplyInventoryRequest request;
  *request.mutable_base() = in_force.base;
  for (const auto& [path, text] : files) {
    v1::InventoryFile& file = *request.add_files();
    file.set_path(absl::StrCat(in_force.folder_name, "/", path));
    file.set_content(text);
  }
  v1::DiffInventoryRequest question;
  *question.mutable_files() = request.files();
  RevertStub stub(connection->channel());
  v1::DiffInventoryResponse diff;
  RETURN_IF_ERROR(Call(*connection, stub, &RevertStub::DiffInventory, question, &diff));
  const std::string why = options.yes ? "" : InventoryQuestion(diff);
  if (!why.empty()) RETURN_IF_ERROR(AskOrRefuse(why, "nothing was applied"));
  v1::ApplyInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &RevertStub::ApplyInventory, request, &response));
  Show(context, response, [&] {
    return absl::StrCat(response.changes().empty()
                            ? absl::StrCat("revision ", options.revision, " is undone already")
                            : absl::StrJoin(response.changes(), "\n"),
                        "\ninventory is at revision ", response.revision(), "\n",
                        AfterInventory(response));
  });
  return kExitClean;
}

}  // namespace

void AddInventoryRevert(CLI::App& inventory, Context& context) {
  CLI::App* revert =
      inventory.add_subcommand("revert", "Take back what one revision has changed, by a new one");
  auto options = std::make_shared<RevertOptions>();
  revert->add_option("revision", options->revision, "Its number, as apply and push say it")
      ->required()
      ->type_name("REVISION");
  revert->add_flag("-y,--yes", options->yes,
                   "Do not ask before renaming the cluster or dropping nodes");
  revert->footer(
      "Changes of other revisions stay. Where one of them has changed the same lines since, those\n"
      "are named and nothing is applied. Files in a folder of your own stay as they are;\n"
      "`muster inventory push` or `pull` takes it into them.");
  SetAction(revert, context, [&context, options] { return Revert(context, *options); });
}

}  // namespace muster::cli
