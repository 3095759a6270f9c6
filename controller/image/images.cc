#include "controller/image/images.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/value/image_manifest.h"
#include "controller/audit/audit.h"
#include "controller/image/image_store.h"
#include "controller/store/store.h"

namespace muster::controller::image {
absl::StatusOr<v1::Image> Images::Keep(const v1::ImageManifest& manifest, const Actor& actor) {
  RETURN_IF_ERROR(CheckImageManifest(manifest));
  const std::string digest = ImageDigest(manifest);
  const absl::Time now = clock_.Now();
  const absl::Status kept = store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Audit(txn, now, actor, "image.keep", BuildName(manifest.name(), digest),
                          absl::StrCat(Counted(manifest.packages_size(), "package"), ", ",
                                       Counted(ImageBytes(manifest), "byte"))));
    return images_.Keep(manifest, now, actor.name).status();
  });
  if (!kept.ok() && !absl::IsAlreadyExists(kept)) return kept;
  ASSIGN_OR_RETURN(const ImageStore::ImagePtr image,
                   images_.FindBuild(absl::StrCat(manifest.name(), "@", digest)));
  return images_.Describe(*image);
}

absl::StatusOr<v1::Image> Images::KeepSigned(const v1::Image& image, v1::SignedKernel kernel,
                                             const std::string& planned, const Actor& actor) {
  RETURN_IF_ERROR(CheckSignedKernel(kernel, image.manifest().kind()));
  if (kernel.command_line() != planned)
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel image was signed with another command line than: ", planned));
  const absl::Time now = clock_.Now();
  *kernel.mutable_signed_at() = ToTimestamp(now);
  kernel.set_signed_by(actor.name);
  ImageStore::ImagePtr kept;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Audit(txn, now, actor, "image.sign", BuildName(image),
                          absl::StrCat("certificate ", kernel.certificate_sha256())));
    ASSIGN_OR_RETURN(kept, images_.KeepSigned(image, kernel));
    return absl::OkStatus();
  }));
  return images_.Describe(*kept);
}

absl::StatusOr<v1::Image> Images::Pin(absl::string_view reference, bool pinned,
                                      const Actor& actor) {
  ASSIGN_OR_RETURN(const ImageStore::ImagePtr image, images_.FindBuild(reference));
  if (images_.IsPinned(*image) == pinned) return images_.Describe(*image);
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(
        Audit(txn, clock_.Now(), actor, pinned ? "image.pin" : "image.unpin", BuildName(*image)));
    return images_.Pin(*image, pinned);
  }));
  return images_.Describe(*image);
}

absl::StatusOr<uint64_t> Images::Delete(absl::string_view reference, const Actor& actor) {
  ASSIGN_OR_RETURN(const ImageStore::ImagePtr image, images_.FindBuild(reference));
  const absl::Time now = clock_.Now();
  uint64_t freed = 0;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Audit(txn, now, actor, "image.delete", BuildName(*image)));
    ASSIGN_OR_RETURN(freed, images_.Remove(*image, now));
    return absl::OkStatus();
  }));
  return freed;
}

}  // namespace muster::controller::image
