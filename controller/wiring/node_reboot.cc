#include "controller/wiring/node_reboot.h"

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/sys/archive/archive.h"
#include "common/value/node_reboot.h"
#include "controller/artifact/bundle_upload.h"
#include "controller/audit/audit.h"
#include "controller/store/store.h"

namespace muster::controller {

absl::StatusOr<std::string> StoreRebootBundle(Store& store, BlobStore& blobs, absl::Time now) {
  ASSIGN_OR_RETURN(
      const std::string archive,
      sys::PackTarGz({{std::string(kNodeRebootPath), std::string(NodeRebootPlaybook())}}));
  const std::string sha256 = Sha256Hex(archive);
  ASSIGN_OR_RETURN(const bool is_there, HasBundle(store, blobs, sha256));
  if (is_there) return sha256;
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleUpload> upload,
                   BundleUpload::Begin(store, blobs, sha256, archive.size()));
  for (absl::string_view rest = archive; !rest.empty();) {
    const absl::string_view piece = rest.substr(0, BundleUpload::kMaxPiece);
    RETURN_IF_ERROR(upload->Append(piece));
    rest.remove_prefix(piece.size());
  }
  ASSIGN_OR_RETURN(const size_t files, upload->Finish(now, ControllerActor().name));
  RETURN_IF_ERROR(store.Update([&](Transaction& txn) {
    return Audit(txn, now, ControllerActor(), "bundle.upload", sha256,
                 absl::StrCat(Counted(files, "file"), ", ", Counted(archive.size(), "byte")));
  }));
  return sha256;
}

}  // namespace muster::controller
