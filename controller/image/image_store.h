// Images on the controller's disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/image/artifact_store.h"
#include "muster/v1/image.pb.h"

namespace muster::controller::image {

// A folder with manifests/DIGEST (a serialized v1.Image), artifacts/ (by their digests; see
// ArtifactStore) and pins/NAME (the digest of the build that the name means). An image is there
// when its file is, and then all of its artifacts are. What is damaged or foreign is named by
// faults() and left alone. Thread-safe; calls block on the disk.
class ImageStore {
 public:
  using ImagePtr = std::shared_ptr<const v1::Image>;
  // All manifests are held in memory.
  static constexpr size_t kMaxImages = 500;

  // Makes the folder if need be. At most `max_bytes` of artifacts are kept.
  static absl::StatusOr<std::unique_ptr<ImageStore>> Open(const std::string& folder,
                                                          uint64_t max_bytes);

  // What was wrong in the folder when it was opened, a sentence each.
  const std::vector<std::string>& faults() const { return faults_; }
  ArtifactStore& artifacts() { return *artifacts_; }

  // All, or those of one name; by name, then the newest first. Their manifests have no packages;
  // `packages` and `pinned` are set.
  std::vector<v1::Image> List(absl::string_view name) const;
  // The image that the reference means (see ParseImageReference). NotFound, with the nearest name;
  // InvalidArgument: several digests begin so; FailedPrecondition: the pinned build is damaged.
  absl::StatusOr<ImagePtr> Find(absl::string_view reference) const;
  // The build of this digest. NotFound: there is none.
  absl::StatusOr<ImagePtr> Get(absl::string_view digest) const;
  // As Find(), but InvalidArgument for a reference without a digest.
  absl::StatusOr<ImagePtr> FindBuild(absl::string_view reference) const;
  // With `packages` and `pinned`.
  v1::Image Describe(const v1::Image& image) const;
  bool IsPinned(const v1::Image& image) const;

  // Keeps an image of this manifest. AlreadyExists: it is kept already. InvalidArgument: see
  // CheckImageManifest. FailedPrecondition names the artifacts that are not there.
  absl::StatusOr<ImagePtr> Keep(v1::ImageManifest manifest, absl::Time now, const std::string& by);
  // Gives the image a signed kernel image, instead of one that it has. FailedPrecondition: an
  // artifact is not there. NotFound: the image was deleted meanwhile.
  absl::StatusOr<ImagePtr> KeepSigned(const v1::Image& image, const v1::SignedKernel& kernel);
  // Decides that its name means this build. Takes that back if it is `pinned` no more.
  absl::Status Pin(const v1::Image& image, bool pinned);
  // Removes it and the artifacts that no other image names, and returns their bytes.
  // FailedPrecondition: it is pinned.
  absl::StatusOr<uint64_t> Remove(const v1::Image& image, absl::Time now);
  // Removes the artifacts that no image names, after a while; returns their bytes. Those that were
  // there before a manifest was found damaged stay, because it may name them.
  absl::StatusOr<uint64_t> Sweep(absl::Time now);

  // Reads all of its artifacts; what is wrong, a sentence each. `cancelled` is asked for each MiB.
  absl::StatusOr<std::vector<std::string>> Verify(const v1::Image& image,
                                                  const std::function<bool()>& cancelled);

 private:
  struct Entry {
    explicit Entry(ImagePtr image);
    ImagePtr whole;
    ImagePtr brief;  // for lists: without packages, but with their number
  };

  ImageStore(std::string folder, std::unique_ptr<ArtifactStore> artifacts)
      : folder_(std::move(folder)), artifacts_(std::move(artifacts)) {}

  absl::Status Load();
  absl::Status LoadManifests();
  absl::Status LoadPins();
  absl::Status LoadOne(const std::string& digest, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string ManifestPath(absl::string_view digest) const;
  std::string PinPath(absl::string_view name) const;
  // The artifacts of the manifest, and what was signed.
  static std::vector<v1::ImageArtifact> ArtifactsOf(const v1::Image& image);
  std::vector<std::string> DigestsOf(const v1::Image& image) const;
  // The digests of all artifacts that an image names.
  std::set<std::string> Named() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string folder_;
  const std::unique_ptr<ArtifactStore> artifacts_;
  std::vector<std::string> faults_;
  std::set<std::string> kept_unnamed_;  // a damaged manifest may name them
  absl::Mutex changing_;  // held while images, pins and artifacts are removed or added
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> images_ ABSL_GUARDED_BY(mutex_);                   // by digest
  std::map<std::string, std::string, std::less<>> pins_ ABSL_GUARDED_BY(mutex_);  // name → digest
};

}  // namespace muster::controller::image
