#include "controller/image/image_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/sys/file_system.h"
#include "common/sys/folder.h"
#include "common/sys/leftovers.h"
#include "common/sys/place.h"
#include "common/value/image_manifest.h"

namespace muster::controller::image {
namespace {

// More lines than this would only hide the first ones.
constexpr size_t kMaxForeignNamed = 20;

sys::WriteOptions Private() { return {.mode = 0600, .uid = {}, .gid = {}, .verify = {}}; }

bool IsLater(const v1::Image& a, const v1::Image& b) {
  const absl::Time at = ToTime(a.kept_at()), other = ToTime(b.kept_at());
  return at != other ? at > other : a.digest() < b.digest();
}

}  // namespace

ImageStore::Entry::Entry(ImagePtr image) : whole(std::move(image)) {
  const auto made = std::make_shared<v1::Image>(*whole);
  made->set_packages(static_cast<uint32_t>(whole->manifest().packages_size()));
  made->mutable_manifest()->clear_packages();
  brief = made;
}

absl::StatusOr<std::unique_ptr<ImageStore>> ImageStore::Open(const std::string& folder,
                                                             uint64_t max_bytes) {
  sys::RealFileSystem files;
  for (const char* part : {"", "/manifests", "/pins"})
    RETURN_IF_ERROR(files.MakeDirectory(folder + part, 0700));
  ASSIGN_OR_RETURN(std::unique_ptr<ArtifactStore> artifacts,
                   ArtifactStore::Open(folder + "/artifacts", max_bytes));
  std::unique_ptr<ImageStore> store(new ImageStore(folder, std::move(artifacts)));
  RETURN_IF_ERROR(store->Load());
  return store;
}

absl::Status ImageStore::Load() {
  for (const char* part : {"/manifests", "/pins"}) {
    ASSIGN_OR_RETURN(const sys::Folder own, sys::OpenFolder(folder_ + part, "opening"));
    sys::RemoveAllLeftovers(own, absl::InfiniteFuture());  // nobody writes there yet
  }
  RETURN_IF_ERROR(LoadManifests());
  RETURN_IF_ERROR(LoadPins());
  for (const std::string& path : artifacts_->FindForeign(kMaxForeignNamed))
    faults_.push_back(absl::StrCat(path, " is not an artifact of an image; it is left alone"));
  return absl::OkStatus();
}

absl::Status ImageStore::LoadManifests() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   sys::RealFileSystem().List(folder_ + "/manifests"));
  size_t foreign = 0;
  bool is_damaged = false;
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    const std::string path = ManifestPath(name);
    if (!IsSha256(name)) {
      if (foreign++ < kMaxForeignNamed)
        faults_.push_back(absl::StrCat(path, " is not an image's manifest; it is left alone"));
      continue;
    }
    const absl::Status loaded = LoadOne(name, path);
    if (loaded.ok()) continue;
    is_damaged = true;
    faults_.push_back(absl::StrCat(
        path, ": ", loaded.message(), "; this image is not offered, and no artifact is removed ",
        "that it may need. Remove the file, restart musterd, and import the image again"));
  }
  if (!is_damaged) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> digests, artifacts_->List());
  kept_unnamed_.insert(digests.begin(), digests.end());
  return absl::OkStatus();
}

absl::Status ImageStore::LoadOne(const std::string& digest, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, sys::RealFileSystem().Read(path));
  const auto image = std::make_shared<v1::Image>();
  if (!image->ParseFromString(text)) return absl::DataLossError("it is damaged");
  if (image->digest() != digest || ImageDigest(image->manifest()) != digest)
    return absl::DataLossError("its content has another digest");
  RETURN_IF_ERROR(CheckImageManifest(image->manifest()));
  if (image->has_signed_kernel())
    RETURN_IF_ERROR(CheckSignedKernel(image->signed_kernel(), image->manifest().kind()));
  for (const v1::ImageArtifact& artifact : ArtifactsOf(*image)) {
    const std::string fault = artifacts_->FindFaultOfSize(artifact.sha256(), artifact.size_bytes());
    if (fault.empty()) continue;
    faults_.push_back(absl::StrCat("image ", BuildName(*image), ": ", artifact.name(), " ", fault,
                                   "; import the image again, or delete it"));
    artifacts_->Distrust(artifact.sha256());
  }
  images_.emplace(digest, Entry(image));
  return absl::OkStatus();
}

absl::Status ImageStore::LoadPins() {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder_ + "/pins"));
  size_t foreign = 0;
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    const absl::StatusOr<std::string> text = files.Read(PinPath(name));
    const std::string digest = text.ok() ? std::string(absl::StripSuffix(*text, "\n")) : "";
    if (!CheckImageName(name).empty() || !IsSha256(digest)) {
      if (foreign++ < kMaxForeignNamed)
        faults_.push_back(absl::StrCat(PinPath(name), " is not an image's pin; it is left alone"));
      continue;
    }
    // Also of a build that is not here: the name must not silently mean another one.
    pins_[name] = digest;
    const auto image = images_.find(digest);
    if (image == images_.end() || image->second.whole->manifest().name() != name)
      faults_.push_back(absl::StrCat("image ", name, ": the build ", BuildName(name, digest),
                                     ", which is pinned, is not here; pin another one"));
  }
  return absl::OkStatus();
}

std::string ImageStore::ManifestPath(absl::string_view digest) const {
  return absl::StrCat(folder_, "/manifests/", digest);
}

std::string ImageStore::PinPath(absl::string_view name) const {
  return absl::StrCat(folder_, "/pins/", name);
}

std::vector<v1::Image> ImageStore::List(absl::string_view name) const {
  std::vector<ImagePtr> found;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [digest, image] : images_)
      if (name.empty() || image.whole->manifest().name() == name) found.push_back(image.brief);
  }
  std::sort(found.begin(), found.end(), [](const ImagePtr& a, const ImagePtr& b) {
    const int order = a->manifest().name().compare(b->manifest().name());
    return order != 0 ? order < 0 : IsLater(*a, *b);
  });
  std::vector<v1::Image> list;
  for (const ImagePtr& image : found) {
    list.push_back(*image);
    list.back().set_pinned(IsPinned(*image));
  }
  return list;
}

v1::Image ImageStore::Describe(const v1::Image& image) const {
  v1::Image described = image;
  described.set_packages(static_cast<uint32_t>(image.manifest().packages_size()));
  described.set_pinned(IsPinned(image));
  return described;
}

bool ImageStore::IsPinned(const v1::Image& image) const {
  absl::MutexLock lock(&mutex_);
  const auto pin = pins_.find(image.manifest().name());
  return pin != pins_.end() && pin->second == image.digest();
}

absl::StatusOr<ImageStore::ImagePtr> ImageStore::Find(absl::string_view text) const {
  ASSIGN_OR_RETURN(const ImageReference reference, ParseImageReference(text));
  absl::MutexLock lock(&mutex_);
  std::vector<ImagePtr> builds;  // those of the name that the digest fits
  std::vector<std::string> known;
  bool is_known = false;
  for (const auto& [digest, image] : images_) {
    known.push_back(image.whole->manifest().name());
    if (image.whole->manifest().name() != reference.name) continue;
    is_known = true;
    if (absl::StartsWith(digest, reference.digest)) builds.push_back(image.whole);
  }
  const auto pin = pins_.find(reference.name);
  if (reference.digest.empty() && pin != pins_.end()) {
    const auto pinned = images_.find(pin->second);
    if (pinned != images_.end() && pinned->second.whole->manifest().name() == reference.name)
      return pinned->second.whole;
    return absl::FailedPreconditionError(absl::StrCat(
        "'", reference.name, "' is pinned to ", BuildName(reference.name, pin->second),
        ", which is not here or damaged; musterd's log says why. Pin another build with `muster "
        "image pin`, or name one by its digest"));
  }
  if (!is_known)
    return absl::NotFoundError(absl::StrCat("no image '", reference.name, "'",
                                            DidYouMean(reference.name, known),
                                            "; `muster image list` lists them"));
  if (builds.empty())
    return absl::NotFoundError(absl::StrCat("image '", reference.name, "' has no build ",
                                            reference.digest, "; `muster image list ",
                                            reference.name, "` lists them"));
  if (reference.digest.empty())
    return *std::min_element(builds.begin(), builds.end(),
                             [](const ImagePtr& a, const ImagePtr& b) { return IsLater(*a, *b); });
  if (builds.size() == 1) return builds[0];
  return absl::InvalidArgumentError(absl::StrCat("the digests of ", builds.size(), " builds of '",
                                                 reference.name, "' begin with ", reference.digest,
                                                 "; write more digits"));
}

absl::StatusOr<ImageStore::ImagePtr> ImageStore::Get(absl::string_view digest) const {
  absl::MutexLock lock(&mutex_);
  const auto found = images_.find(std::string(digest));
  if (found != images_.end()) return found->second.whole;
  return absl::NotFoundError("there is no image of this digest");
}

absl::StatusOr<ImageStore::ImagePtr> ImageStore::FindBuild(absl::string_view text) const {
  ASSIGN_OR_RETURN(const ImageReference reference, ParseImageReference(text));
  if (!reference.digest.empty()) return Find(text);
  return absl::InvalidArgumentError(
      absl::StrCat("write which build is meant: '", reference.name,
                   "@DIGEST', of which 8 digits are enough; `muster image list ", reference.name,
                   "` shows them"));
}

std::vector<v1::ImageArtifact> ImageStore::ArtifactsOf(const v1::Image& image) {
  std::vector<v1::ImageArtifact> artifacts(image.manifest().artifacts().begin(),
                                           image.manifest().artifacts().end());
  if (!image.has_signed_kernel()) return artifacts;
  for (v1::ImageArtifact& artifact : SignedArtifacts(image.signed_kernel()))
    artifacts.push_back(std::move(artifact));
  return artifacts;
}

std::vector<std::string> ImageStore::DigestsOf(const v1::Image& image) const {
  std::vector<std::string> digests;
  for (const v1::ImageArtifact& artifact : ArtifactsOf(image)) digests.push_back(artifact.sha256());
  return digests;
}

std::set<std::string> ImageStore::Named() const {
  std::set<std::string> named;
  absl::MutexLock lock(&mutex_);
  for (const auto& [digest, image] : images_) {
    for (const std::string& sha256 : DigestsOf(*image.whole)) named.insert(sha256);
  }
  return named;
}

absl::StatusOr<ImageStore::ImagePtr> ImageStore::Keep(v1::ImageManifest manifest, absl::Time now,
                                                      const std::string& by) {
  RETURN_IF_ERROR(CheckImageManifest(manifest));
  const auto image = std::make_shared<v1::Image>();
  image->set_digest(ImageDigest(manifest));
  *image->mutable_manifest() = std::move(manifest);
  *image->mutable_kept_at() = ToTimestamp(now);
  image->set_kept_by(by);
  absl::MutexLock changing(&changing_);
  {
    absl::MutexLock lock(&mutex_);
    if (images_.count(image->digest()) > 0) {
      artifacts_->Fulfil(DigestsOf(*image));
      return absl::AlreadyExistsError(
          absl::StrCat("image ", BuildName(*image), " is kept already"));
    }
    if (images_.size() >= kMaxImages)
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", kMaxImages, " images; delete one with `muster image delete`"));
  }
  std::vector<std::string> faults;
  for (const v1::ImageArtifact& artifact : image->manifest().artifacts()) {
    const std::string fault = artifacts_->FindFaultOfSize(artifact.sha256(), artifact.size_bytes());
    if (!fault.empty()) faults.push_back(absl::StrCat(artifact.name(), " ", fault));
  }
  if (!faults.empty())
    return absl::FailedPreconditionError(absl::StrCat("image ", BuildName(*image), ": ",
                                                      absl::StrJoin(faults, ", "),
                                                      "; upload all of its artifacts first"));
  RETURN_IF_ERROR(sys::RealFileSystem().WriteAtomically(ManifestPath(image->digest()),
                                                        image->SerializeAsString(), Private()));
  artifacts_->Fulfil(DigestsOf(*image));
  absl::MutexLock lock(&mutex_);
  images_.emplace(image->digest(), Entry(image));
  return image;
}

absl::StatusOr<ImageStore::ImagePtr> ImageStore::KeepSigned(const v1::Image& image,
                                                            const v1::SignedKernel& kernel) {
  absl::MutexLock changing(&changing_);
  ASSIGN_OR_RETURN(const ImagePtr kept, Get(image.digest()));
  RETURN_IF_ERROR(CheckSignedKernel(kernel, kept->manifest().kind()));
  std::vector<std::string> digests;
  for (const v1::ImageArtifact& artifact : SignedArtifacts(kernel)) {
    const std::string fault = artifacts_->FindFaultOfSize(artifact.sha256(), artifact.size_bytes());
    if (!fault.empty())
      return absl::FailedPreconditionError(
          absl::StrCat(artifact.name(), " ", fault, "; upload it first"));
    digests.push_back(artifact.sha256());
  }
  const auto changed = std::make_shared<v1::Image>(*kept);
  *changed->mutable_signed_kernel() = kernel;
  RETURN_IF_ERROR(sys::RealFileSystem().WriteAtomically(ManifestPath(changed->digest()),
                                                        changed->SerializeAsString(), Private()));
  artifacts_->Fulfil(digests);
  absl::MutexLock lock(&mutex_);
  images_.insert_or_assign(changed->digest(), Entry(changed));
  return changed;
}

absl::Status ImageStore::Pin(const v1::Image& image, bool pinned) {
  const std::string& name = image.manifest().name();
  absl::MutexLock changing(&changing_);
  {
    absl::MutexLock lock(&mutex_);
    if (images_.count(image.digest()) == 0)
      return absl::NotFoundError(
          absl::StrCat("image ", BuildName(image), " was deleted meanwhile"));
  }
  if (IsPinned(image) == pinned) return absl::OkStatus();
  sys::RealFileSystem files;
  if (pinned) {
    RETURN_IF_ERROR(files.WriteAtomically(PinPath(name), image.digest() + "\n", Private()));
  } else {
    RETURN_IF_ERROR(files.Remove(PinPath(name), /*recursive=*/false));
  }
  absl::MutexLock lock(&mutex_);
  if (pinned) {
    pins_[name] = image.digest();
  } else {
    pins_.erase(name);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ImageStore::Remove(const v1::Image& image, absl::Time now) {
  absl::MutexLock changing(&changing_);
  if (IsPinned(image))
    return absl::FailedPreconditionError(
        absl::StrCat("image ", BuildName(image),
                     " is pinned; unpin it with `muster image unpin`, or pin another build"));
  RETURN_IF_ERROR(sys::RealFileSystem().Remove(ManifestPath(image.digest()), /*recursive=*/false));
  {
    absl::MutexLock lock(&mutex_);
    images_.erase(image.digest());
  }
  const std::set<std::string> named = Named();
  std::vector<std::string> unnamed;
  for (const std::string& sha256 : DigestsOf(image)) {
    if (named.count(sha256) == 0 && kept_unnamed_.count(sha256) == 0) unnamed.push_back(sha256);
  }
  return artifacts_->Remove(unnamed, now);
}

absl::StatusOr<uint64_t> ImageStore::Sweep(absl::Time now) {
  absl::MutexLock changing(&changing_);
  std::set<std::string> named = Named();
  named.insert(kept_unnamed_.begin(), kept_unnamed_.end());
  return artifacts_->Sweep(named, now);
}

absl::StatusOr<std::vector<std::string>> ImageStore::Verify(
    const v1::Image& image, const std::function<bool()>& cancelled) {
  std::vector<std::string> faults;
  for (const v1::ImageArtifact& artifact : ArtifactsOf(image)) {
    ASSIGN_OR_RETURN(const std::string fault,
                     artifacts_->FindFault(artifact.sha256(), artifact.size_bytes(), cancelled));
    if (!fault.empty()) faults.push_back(absl::StrCat(artifact.name(), " ", fault));
  }
  return faults;
}

}  // namespace muster::controller::image
