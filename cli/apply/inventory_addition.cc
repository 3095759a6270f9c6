#include "cli/apply/inventory_addition.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/apply/inventory_files.h"
#include "cli/connection.h"
#include "cli/inventory_edit/addition_check.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using InventoryStub = v1::InventoryService::Stub;
using Files = google::protobuf::RepeatedPtrField<v1::InventoryFile>;
using Texts = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

Names Without(const Names& names, const Names& others) {
  Names rest;
  std::copy_if(names.begin(), names.end(), std::back_inserter(rest), [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) == others.end();
  });
  return rest;
}

absl::StatusOr<Names> Differences(const Connection& connection, const Files& files) {
  InventoryStub stub(connection.channel());
  v1::DiffInventoryRequest request;
  *request.mutable_files() = files;
  v1::DiffInventoryResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &InventoryStub::DiffInventory, request, &response));
  return Names{response.changes().begin(), response.changes().end()};
}

absl::Status Parted(const std::string& path, const std::string& first) {
  return absl::FailedPreconditionError(
      absl::StrCat("the controller's inventory differs from ", path, " (", first,
                   "); see `muster inventory diff ", path,
                   "`, then apply yours, or take the controller's with `muster inventory pull ",
                   path, " --force`"));
}

// The nodes of `addition` that are in force; those have to be what is asked for.
absl::StatusOr<Names> Present(const nlohmann::json& nodes, const NodeAddition& addition) {
  Names present;
  for (const std::string& name : addition.names) {
    const auto node = nodes.find(name);
    if (node == nodes.end()) continue;
    present.push_back(name);
    const auto wanted = [&](const Texts& texts) {
      const auto found = texts.find(name);
      return found == texts.end() ? std::string() : found->second;
    };
    const std::pair<const char*, std::string> kWanted[] = {
        {"address", wanted(addition.addresses)},
        {"bmc_address", wanted(addition.bmc_addresses)},
        {"rack", addition.rack}};
    for (const auto& [key, value] : kWanted) {
      const std::string is = node->value(key, "");
      if (value.empty() || value == is) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(name, " is in the inventory already, with ", key, " '", is, "', not '",
                       value, "'; change it there, or leave the option out"));
    }
  }
  return present;
}

absl::StatusOr<std::string> ChooseLike(const NodeAddition& addition, const Names& existing) {
  if (!addition.like.empty()) return addition.like;
  std::string like;
  for (const std::string& name : addition.names) {
    const std::string its = NodeLike(existing, name);
    if (its.empty())
      return absl::InvalidArgumentError(absl::StrCat("no node of the inventory is called like ",
                                                     name, "; name one with --like NODE"));
    if (!like.empty() && its != like)
      return absl::InvalidArgumentError(
          absl::StrCat(addition.names[0], " would be like ", like, ", ", name, " like ", its,
                       "; name one node with --like, or add them by two commands"));
    like = its;
  }
  return like;
}

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

absl::StatusOr<InventoryAddition> PrepareAddition(const Connection& connection,
                                                  const std::string& path, NodeAddition addition) {
  InventoryAddition result;
  ASSIGN_OR_RETURN(*result.request.mutable_files(), ReadInventoryFiles(path));
  InventoryStub stub(connection.channel());
  v1::GetInventoryResponse in_force;
  RETURN_IF_ERROR(
      Call(connection, stub, &InventoryStub::GetInventory, v1::GetInventoryRequest(), &in_force));
  const auto resolved = nlohmann::json::parse(in_force.resolved_json(), nullptr, false);
  if (!resolved.is_object() || !resolved.contains("nodes"))
    return absl::InternalError("the controller's inventory is not readable");
  ASSIGN_OR_RETURN(result.present, Present(resolved["nodes"], addition));
  ASSIGN_OR_RETURN(const Names differences, Differences(connection, result.request.files()));
  addition.names = Without(addition.names, result.present);
  if (addition.names.empty()) {
    if (!differences.empty()) return Parted(path, differences[0]);
    return result;
  }

  Texts texts;
  for (const v1::InventoryFile& file : result.request.files()) texts[file.path()] = file.content();
  ASSIGN_OR_RETURN(const Names existing, NodesOf(texts));
  if (Without(addition.names, existing).empty()) {
    // Written by hand, or by an earlier call that did not come further.
    addition.like.clear();
    const absl::Status is_all = CheckAddition(differences, in_force.resolved_json(), addition);
    if (!is_all.ok()) return Parted(path, std::string(is_all.message()));
    result.changes = differences;
    return result;
  }
  if (!differences.empty()) return Parted(path, differences[0]);
  ASSIGN_OR_RETURN(addition.like, ChooseLike(addition, existing));
  result.like = addition.like;
  ASSIGN_OR_RETURN(result.new_texts, AddNodes(texts, addition));
  for (v1::InventoryFile& file : *result.request.mutable_files()) {
    const auto edited = result.new_texts.find(file.path());
    if (edited == result.new_texts.end()) continue;
    result.old_texts[file.path()] = file.content();
    file.set_content(edited->second);
  }
  ASSIGN_OR_RETURN(result.changes, Differences(connection, result.request.files()));
  RETURN_IF_ERROR(CheckAddition(result.changes, in_force.resolved_json(), addition));
  return result;
}

absl::StatusOr<uint64_t> CarryOutAddition(const Connection& connection, const std::string& path,
                                          const InventoryAddition& addition) {
  RETURN_IF_ERROR(Write(path, addition.new_texts));
  InventoryStub stub(connection.channel());
  v1::ApplyInventoryResponse response;
  const absl::Status status =
      Call(connection, stub, &InventoryStub::ApplyInventory, addition.request, &response);
  if (status.ok()) return response.revision();
  // Without an answer the controller may have applied them: the same command finds out.
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status))
    RETURN_IF_ERROR(Write(path, addition.old_texts));
  return status;
}

}  // namespace muster::cli
