// What may stand in an image's manifest, its digest, and how people name an image. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class Image;
class ImageArtifact;
class ImageManifest;
class SignedKernel;
}  // namespace muster::v1

namespace muster {

inline constexpr uint64_t kMaxArtifactBytes = uint64_t{64} << 30;
// With everything in it; a message has room for it.
inline constexpr size_t kMaxManifestBytes = size_t{8} << 20;
// The artifacts that commands know by name.
inline constexpr char kRootArtifact[] = "root.squashfs";
inline constexpr char kFilesArtifact[] = "files";
// The signed kernel image and, of the kind `disk`, the signed boot loader, which are not in the
// manifest.
inline constexpr char kSignedArtifact[] = "signed.efi";
inline constexpr char kLoaderArtifact[] = "loader.efi";
// An exported image's manifest, which lies beside its artifacts and so is no artifact's name.
inline constexpr char kManifestFile[] = "manifest.json";

// SHA-256, in lower-case hex, of the manifest's deterministic serialization without `build`.
std::string ImageDigest(const v1::ImageManifest& manifest);

// Puts packages and artifacts into the one order that CheckImageManifest() accepts.
void SortImageManifest(v1::ImageManifest& manifest);

// OK for a manifest that an image may have. InvalidArgument names the field, "packages[3].version",
// and what is wrong with it.
absl::Status CheckImageManifest(const v1::ImageManifest& manifest);

// OK for a signed kernel image that an image of this kind may have, as its sender describes it.
// InvalidArgument names the field.
absl::Status CheckSignedKernel(const v1::SignedKernel& kernel, absl::string_view kind);
// What was signed, each a file of its own.
std::vector<v1::ImageArtifact> SignedArtifacts(const v1::SignedKernel& kernel);

// "" where the text can name an image; otherwise what is wrong with it.
std::string CheckImageName(absl::string_view name);

// Which image is meant.
struct ImageReference {
  std::string name;
  std::string digest;  // its beginning, at least 8 digits; "": the pinned build, or the newest
};

// Reads "debian-worker" or "debian-worker@1a2b3c4d". InvalidArgument: neither of the two.
absl::StatusOr<ImageReference> ParseImageReference(absl::string_view text);

// How messages name a build: "debian-worker@1a2b3c4d5e6f".
std::string BuildName(absl::string_view name, absl::string_view digest);
std::string BuildName(const v1::Image& image);

// Also what was signed. nullptr: the image has none of this name.
const v1::ImageArtifact* FindArtifact(const v1::Image& image, absl::string_view name);

// The bytes of all artifacts.
uint64_t ImageBytes(const v1::ImageManifest& manifest);

}  // namespace muster
