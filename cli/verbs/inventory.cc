// muster inventory: the desired nodes, groups and variables.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/inventory_folder/inventory_base.h"
#include "cli/inventory_folder/inventory_files.h"
#include "cli/render/output.h"
#include "cli/render/questions.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

using InventoryStub = v1::InventoryService::Stub;

struct InventoryOptions {
  std::string path = "inventory";
  bool yes = false;        // of apply
  bool overwrite = false;  // of apply
};

std::string Lines(const google::protobuf::RepeatedPtrField<std::string>& changes) {
  return changes.empty() ? "no changes\n" : absl::StrCat(absl::StrJoin(changes, "\n"), "\n");
}

absl::StatusOr<int> Check(Context& context, const InventoryOptions& options) {
  v1::CheckInventoryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_files(), ReadInventoryFiles(options.path));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  InventoryStub stub(connection->channel());
  v1::CheckInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &InventoryStub::CheckInventory, request, &response));
  Show(context, response, [&] {
    return absl::StrCat(options.path, " is valid: ", Counted(response.nodes(), "node"), ", ",
                        Counted(response.groups(), "group"), ", ",
                        Counted(response.racks(), "rack"), "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> ApplyInventory(Context& context, const InventoryOptions& options) {
  v1::ApplyInventoryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_files(), ReadInventoryFiles(options.path));
  if (!options.overwrite) {
    ASSIGN_OR_RETURN(std::optional<v1::InventoryBase> base, ReadInventoryBase(options.path));
    if (base.has_value()) *request.mutable_base() = *std::move(base);
  }
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  InventoryStub stub(connection->channel());
  if (!options.yes) {
    v1::DiffInventoryRequest question;
    *question.mutable_files() = request.files();
    v1::DiffInventoryResponse diff;
    RETURN_IF_ERROR(Call(*connection, stub, &InventoryStub::DiffInventory, question, &diff));
    const std::string why = InventoryQuestion(diff);
    if (!why.empty()) RETURN_IF_ERROR(AskOrRefuse(why, "nothing was applied"));
  }
  v1::ApplyInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &InventoryStub::ApplyInventory, request, &response));
  NoteInventoryBase(options.path, response.base());
  Show(context, response, [&] {
    return absl::StrCat(Lines(response.changes()), "inventory is at revision ", response.revision(),
                        "\n", AfterInventory(response));
  });
  return kExitClean;
}

absl::StatusOr<int> Diff(Context& context, const InventoryOptions& options) {
  v1::DiffInventoryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_files(), ReadInventoryFiles(options.path));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  InventoryStub stub(connection->channel());
  v1::DiffInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &InventoryStub::DiffInventory, request, &response));
  Show(context, response, [&] { return Lines(response.changes()); });
  return kExitClean;
}

absl::StatusOr<int> ShowInventory(Context& context, bool files) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  InventoryStub stub(connection->channel());
  v1::GetInventoryResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &InventoryStub::GetInventory, v1::GetInventoryRequest(), &response));
  if (files) {
    for (const v1::InventoryFile& file : response.files())
      std::cout << "# " << file.path() << "\n" << file.content() << "\n";
    return kExitClean;
  }
  nlohmann::ordered_json value;
  value["revision"] = response.revision();
  value["applied_at"] = absl::FormatTime(ToTime(response.applied_at()), absl::LocalTimeZone());
  value["applied_by"] = response.applied_by();
  value["inventory"] = nlohmann::ordered_json::parse(response.resolved_json(), nullptr, false);
  std::cout << Format(
      value, context.output == OutputFormat::kJson ? OutputFormat::kJson : OutputFormat::kYaml);
  return kExitClean;
}

}  // namespace

void AddInventory(CLI::App& app, Context& context) {
  CLI::App* inventory = app.add_subcommand(
      "inventory",
      "The machines that should exist: check, diff, apply, show, edit, pull, push, revert");
  inventory->require_subcommand(1);
  const struct {
    const char* name;
    const char* help;
    absl::StatusOr<int> (*run)(Context&, const InventoryOptions&);
  } kVerbs[] = {
      {"check", "Report mistakes in an inventory; store nothing", Check},
      {"apply", "Make it the cluster's inventory", ApplyInventory},
      {"diff", "Show what applying it would change", Diff},
  };
  for (const auto& verb : kVerbs) {
    CLI::App* command = inventory->add_subcommand(verb.name, verb.help);
    auto options = std::make_shared<InventoryOptions>();
    command->add_option("path", options->path, "A YAML file or a folder (default: inventory)")
        ->type_name("PATH");
    if (verb.run == ApplyInventory) {
      command->add_flag("-y,--yes", options->yes,
                        "Do not ask before renaming the cluster or dropping nodes");
      command->add_flag("--overwrite", options->overwrite,
                        "Undo what others have applied since these files were pulled or applied");
    }
    SetAction(command, context,
              [&context, options, run = verb.run] { return run(context, *options); });
  }
  CLI::App* show = inventory->add_subcommand("show", "Show the inventory in force");
  auto files = std::make_shared<bool>(false);
  show->add_flag("--files", *files, "Show the files as they were applied");
  SetAction(show, context, [&context, files] { return ShowInventory(context, *files); });
  AddInventoryEdit(*inventory, context);
  AddInventoryPull(*inventory, context);
  AddInventoryPush(*inventory, context);
  AddInventoryRevert(*inventory, context);
}

}  // namespace muster::cli
