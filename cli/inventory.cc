// muster inventory: what should exist.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/questions.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "common/base/clock.h"
#include "common/base/counted.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using Stub = v1::InventoryService::Stub;
using Files = google::protobuf::RepeatedPtrField<v1::InventoryFile>;

struct InventoryOptions {
  std::string path = "inventory";
  bool yes = false;  // of apply
};

constexpr size_t kLargest = 8 << 20;  // of all files together

bool IsYaml(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// One file, or every YAML file below a folder, named from the folder's own name on
// ("inventory/group_vars/gpu.yaml"), so that errors lead there.
absl::StatusOr<Files> ReadFiles(const std::string& path) {
  sys::RealFileSystem file_system;
  Files files;
  size_t total = 0;
  const auto add = [&](const fs::path& file, const std::string& name) -> absl::Status {
    v1::InventoryFile& entry = *files.Add();
    entry.set_path(name);
    auto content = file_system.Read(fs::absolute(file).string(), kLargest);
    if (!content.ok() && !absl::IsResourceExhausted(content.status())) return content.status();
    if (!content.ok() || (total += content->size()) > kLargest)
      return absl::InvalidArgumentError(
          absl::StrCat(path, " holds more than 8 MiB (at ", name, "); is this an inventory?"));
    entry.set_content(*std::move(content));
    return absl::OkStatus();
  };
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    RETURN_IF_ERROR(add(path, fs::path(path).filename().string()));
    return files;
  }
  const fs::path folder = fs::canonical(path, error);
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (absl::StartsWith(it->path().filename().string(), ".")) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && IsYaml(it->path())) {
      RETURN_IF_ERROR(
          add(it->path(), (folder.filename() / it->path().lexically_relative(folder)).string()));
    }
  }
  if (error) return absl::NotFoundError(absl::StrCat("inventory ", path, ": ", error.message()));
  if (files.empty()) return absl::NotFoundError(absl::StrCat("no *.yaml file in ", path));
  return files;
}

std::string Lines(const google::protobuf::RepeatedPtrField<std::string>& changes) {
  return changes.empty() ? "no changes\n" : absl::StrCat(absl::StrJoin(changes, "\n"), "\n");
}

absl::StatusOr<int> Check(Context& context, const InventoryOptions& options) {
  v1::CheckInventoryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_files(), ReadFiles(options.path));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  v1::CheckInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &Stub::CheckInventory, request, &response));
  Show(context, response, [&] {
    return absl::StrCat(options.path, " is good: ", Counted(response.nodes(), "node"), ", ",
                        Counted(response.groups(), "group"), ", ",
                        Counted(response.racks(), "rack"), "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> Apply(Context& context, const InventoryOptions& options) {
  v1::ApplyInventoryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_files(), ReadFiles(options.path));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  if (!options.yes) {
    v1::DiffInventoryRequest question;
    *question.mutable_files() = request.files();
    v1::DiffInventoryResponse diff;
    RETURN_IF_ERROR(Call(*connection, stub, &Stub::DiffInventory, question, &diff));
    const std::string why = InventoryQuestion(diff);
    if (!why.empty()) RETURN_IF_ERROR(ConfirmOrRefuse(options.yes, why, "nothing was applied"));
  }
  v1::ApplyInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &Stub::ApplyInventory, request, &response));
  Show(context, response, [&] {
    return absl::StrCat(Lines(response.changes()), "inventory is at revision ", response.revision(),
                        "\n", AfterInventory(response));
  });
  return kExitClean;
}

absl::StatusOr<int> Diff(Context& context, const InventoryOptions& options) {
  v1::DiffInventoryRequest request;
  ASSIGN_OR_RETURN(*request.mutable_files(), ReadFiles(options.path));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  v1::DiffInventoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &Stub::DiffInventory, request, &response));
  Show(context, response, [&] { return Lines(response.changes()); });
  return kExitClean;
}

absl::StatusOr<int> ShowInventory(Context& context, bool files) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  Stub stub(connection->channel());
  v1::GetInventoryResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &Stub::GetInventory, v1::GetInventoryRequest(), &response));
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
  CLI::App* inventory =
      app.add_subcommand("inventory", "What should exist: check, diff, apply, show");
  inventory->require_subcommand(1);
  const struct {
    const char* name;
    const char* help;
    absl::StatusOr<int> (*run)(Context&, const InventoryOptions&);
  } kVerbs[] = {
      {"check", "Say what is wrong with an inventory; store nothing", Check},
      {"apply", "Make it the cluster's inventory", Apply},
      {"diff", "Say what applying it would change", Diff},
  };
  for (const auto& verb : kVerbs) {
    CLI::App* command = inventory->add_subcommand(verb.name, verb.help);
    auto options = std::make_shared<InventoryOptions>();
    command->add_option("path", options->path, "A YAML file or a folder (default: inventory)")
        ->type_name("PATH");
    if (verb.run == Apply) {
      command->add_flag("-y,--yes", options->yes,
                        "Do not ask before it renames the cluster or drops nodes");
    }
    SetAction(command, context,
              [&context, options, run = verb.run] { return run(context, *options); });
  }
  CLI::App* show = inventory->add_subcommand("show", "The inventory in force");
  auto files = std::make_shared<bool>(false);
  show->add_flag("--files", *files, "The files as they were applied");
  SetAction(show, context, [&context, files] { return ShowInventory(context, *files); });
}

}  // namespace muster::cli
