#include "cli/site/stack_files.h"

#include <filesystem>

#include "cli/site/file_type.h"
#include "cli/site/site_folder.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

constexpr char kModelFolder[] = "inventory/hardware";

}  // namespace

absl::Status AddStackFiles(const std::string& site,
                           google::protobuf::RepeatedPtrField<v1::InventoryFile>* files) {
  RETURN_IF_ERROR(AddSiteFolder(site, kStackFolder, files));
  ASSIGN_OR_RETURN(const std::filesystem::file_type models,
                   TypeOf(std::filesystem::path(site) / kModelFolder));
  if (models != std::filesystem::file_type::directory) return absl::OkStatus();
  return AddSiteFolder(site, kModelFolder, files);
}

}  // namespace muster::cli
