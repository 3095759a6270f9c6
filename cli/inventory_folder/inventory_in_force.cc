#include "cli/inventory_folder/inventory_in_force.h"

#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "muster/v1/inventory.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using InForceStub = v1::InventoryService::Stub;

}  // namespace

absl::StatusOr<InventoryInForce> FilesOf(const v1::GetInventoryResponse& response) {
  InventoryInForce in_force;
  in_force.revision = response.revision();
  in_force.base = response.base();
  for (const v1::InventoryFile& file : response.files()) {
    std::vector<std::string> parts = absl::StrSplit(file.path(), '/');
    for (const std::string& part : parts) {
      if (part.empty() || absl::StartsWith(part, "."))
        return absl::InvalidArgumentError(absl::StrCat("the controller's inventory has a file '",
                                                       Tame(file.path()),
                                                       "', which is not written; nothing was"));
    }
    // A file that was applied by itself has no folder.
    if (parts.size() > 1) {
      in_force.folder_name = parts.front();
      parts.erase(parts.begin());
    }
    in_force.files[absl::StrJoin(parts, "/")] = file.content();
  }
  return in_force;
}

absl::StatusOr<InventoryInForce> GetInventoryFiles(const Connection& connection,
                                                   uint64_t revision) {
  InForceStub stub(connection.channel());
  v1::GetInventoryRequest request;
  request.set_revision(revision);
  v1::GetInventoryResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &InForceStub::GetInventory, request, &response));
  return FilesOf(response);
}

InventoryFilesByPath BelowFolder(
    const google::protobuf::RepeatedPtrField<v1::InventoryFile>& files) {
  InventoryFilesByPath texts;
  for (const v1::InventoryFile& file : files)
    texts[file.path().substr(file.path().find('/') + 1)] = file.content();
  return texts;
}

absl::StatusOr<size_t> WriteInventoryFiles(const std::string& folder,
                                           const InventoryFilesByPath& files,
                                           const InventoryFilesByPath& present) {
  sys::RealFileSystem file_system;
  size_t written = 0;
  for (const auto& [path, text] : files) {
    const auto found = present.find(path);
    if (found != present.end() && found->second == text) continue;
    const fs::path file = fs::absolute(folder) / path;
    RETURN_IF_ERROR(file_system.MakeDirectory(file.parent_path().string(), 0755));
    RETURN_IF_ERROR(file_system.WriteAtomically(file.string(), text, {}));
    ++written;
  }
  return written;
}

}  // namespace muster::cli
