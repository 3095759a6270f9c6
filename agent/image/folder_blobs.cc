#include "agent/image/folder_blobs.h"

#include "absl/strings/str_cat.h"
#include "agent/resources/content.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/large_file.h"

namespace muster::agent {

absl::Status FolderBlobs::Fetch(const std::string& sha256, uint64_t size, const std::string& path,
                                const TransferHooks& hooks) {
  RETURN_IF_ERROR(CheckSha256("blob", sha256));
  const std::string file = absl::StrCat(folder_, "/", sha256);
  ASSIGN_OR_RETURN(const std::string digest,
                   sys::Sha256OfFile(file, /*sync=*/false, hooks.cancelled));
  if (digest != sha256)
    return absl::DataLossError(absl::StrCat(file, " does not match its digest; it has ", digest));
  return sys::PlaceFile(file, path, {.mode = 0600}, /*may_move=*/false);
}

}  // namespace muster::agent
