#include "cli/inventory_folder/inventory_change.h"

#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/inventory_folder/inventory_base.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using InventoryStub = v1::InventoryService::Stub;
using Texts = std::map<std::string, std::string>;

// The file that ReadInventoryFiles(`path`) calls `name`.
std::string FileOf(const std::string& path, const std::string& name) {
  std::error_code error;
  const fs::path inventory = fs::canonical(path, error);
  const fs::path file =
      fs::is_directory(inventory, error) ? inventory.parent_path() / name : inventory;
  const fs::path real = fs::canonical(file, error);
  return error ? file.string() : real.string();
}

absl::Status Write(const std::string& path, const Texts& texts) {
  sys::RealFileSystem files;
  for (const auto& [name, text] : texts)
    RETURN_IF_ERROR(files.WriteAtomically(FileOf(path, name), text, {}));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ResolvedInventory(const Connection& connection) {
  InventoryStub stub(connection.channel());
  v1::GetInventoryResponse in_force;
  RETURN_IF_ERROR(
      Call(connection, stub, &InventoryStub::GetInventory, v1::GetInventoryRequest(), &in_force));
  const auto resolved = nlohmann::json::parse(in_force.resolved_json(), nullptr, false);
  if (!resolved.is_object() || !resolved.contains("nodes"))
    return absl::InternalError("the controller's inventory is not readable");
  return std::move(*in_force.mutable_resolved_json());
}

std::vector<std::string> NodesInForce(const std::string& resolved_json,
                                      const std::vector<std::string>& names) {
  const auto resolved = nlohmann::json::parse(resolved_json, nullptr, false);
  std::vector<std::string> present;
  for (const std::string& name : names)
    if (resolved["nodes"].contains(name)) present.push_back(name);
  return present;
}

absl::StatusOr<std::vector<std::string>> Differences(const Connection& connection,
                                                     const v1::ApplyInventoryRequest& request) {
  InventoryStub stub(connection.channel());
  v1::DiffInventoryRequest diff;
  *diff.mutable_files() = request.files();
  v1::DiffInventoryResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &InventoryStub::DiffInventory, diff, &response));
  return std::vector<std::string>{response.changes().begin(), response.changes().end()};
}

absl::Status InventoriesDiffer(const std::string& path, const std::string& first) {
  return absl::FailedPreconditionError(
      absl::StrCat("the controller's inventory differs from ", path, " (", first,
                   "); see `muster inventory diff ", path,
                   "`, then apply yours, or take the controller's with `muster inventory pull ",
                   path, " --force`"));
}

Texts TextsOf(const v1::ApplyInventoryRequest& request) {
  Texts texts;
  for (const v1::InventoryFile& file : request.files()) texts[file.path()] = file.content();
  return texts;
}

std::string DescribeTexts(const Texts& before, const Texts& after) {
  Texts all = before;
  all.insert(after.begin(), after.end());
  std::string text;
  for (const auto& [path, either] : all) {
    const auto from = before.find(path);
    const auto to = after.find(path);
    absl::StrAppend(&text, UnifiedDiff(from == before.end() ? "" : from->second,
                                       to == after.end() ? "" : to->second, path));
  }
  return text;
}

absl::Status TakeEdit(const Connection& connection, Texts new_texts,
                      std::set<std::string> removed_files, InventoryChange& change) {
  change.new_texts = std::move(new_texts);
  change.removed_files = std::move(removed_files);
  google::protobuf::RepeatedPtrField<v1::InventoryFile> files;
  for (v1::InventoryFile& file : *change.request.mutable_files()) {
    const auto edited = change.new_texts.find(file.path());
    const bool goes = change.removed_files.count(file.path()) > 0;
    if (goes || edited != change.new_texts.end()) change.old_texts[file.path()] = file.content();
    if (goes) continue;
    if (edited != change.new_texts.end()) file.set_content(edited->second);
    *files.Add() = std::move(file);
  }
  change.request.mutable_files()->Swap(&files);
  ASSIGN_OR_RETURN(change.changes, Differences(connection, change.request));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CarryOut(const Connection& connection, const std::string& path,
                                  const InventoryChange& change) {
  RETURN_IF_ERROR(Write(path, change.new_texts));
  sys::RealFileSystem files;
  for (const std::string& name : change.removed_files)
    RETURN_IF_ERROR(files.Remove(FileOf(path, name), /*recursive=*/false));
  InventoryStub stub(connection.channel());
  v1::ApplyInventoryResponse response;
  // It was compared with the inventory in force, so it undoes nothing, whatever the folder was made
  // from.
  const absl::Status status =
      Call(connection, stub, &InventoryStub::ApplyInventory, change.request, &response);
  if (status.ok()) {
    NoteInventoryBase(path, response.base());
    return response.revision();
  }
  // Without an answer the controller may have applied them: the same command finds out.
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status))
    RETURN_IF_ERROR(Write(path, change.old_texts));
  return status;
}

}  // namespace muster::cli
