// An image as a folder: manifest.json, and beside it each artifact by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/sys/tree_stage.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/image.pb.h"

namespace muster::cli {

// What is being done to an artifact, for people who wait: "sending", "receiving", "checking".
struct TransferStep {
  absl::string_view what;
  absl::string_view artifact;
  uint64_t done = 0;  // bytes
  uint64_t total = 0;
};
// Called for each piece.
using OnTransfer = std::function<void(const TransferStep&)>;

inline constexpr size_t kTransferPieceBytes = size_t{1} << 20;

// The manifest in the folder. Errors: there is none, or it is none (see ReadImageManifest).
absl::StatusOr<v1::ImageManifest> ReadImageFolder(const std::string& folder);

// Reads all artifacts in the folder. DataLoss names one whose content is not as the manifest says;
// NotFound one that is missing. Cancelled: Ctrl-C.
absl::Status CheckImageFolder(const std::string& folder, const v1::ImageManifest& manifest,
                              const OnTransfer& on_transfer);

// An artifact of a folder, in pieces. Not thread-safe.
class ArtifactFile {
 public:
  // Errors: it cannot be read, is not a regular file, or has another size than the manifest says.
  static absl::StatusOr<ArtifactFile> Open(const std::string& folder,
                                           const v1::ImageArtifact& artifact);
  // Sets the next piece, "" at the end.
  absl::Status Read(std::string& piece);

 private:
  ArtifactFile(sys::UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  sys::UniqueFd fd_;
  std::string path_;
};

// A new folder for an image, which is complete at its place or not there at all. Not thread-safe.
class ImageFolderWriter {
 public:
  // AlreadyExists: something is at `path`. NotFound: there is no folder to put it into.
  static absl::StatusOr<std::unique_ptr<ImageFolderWriter>> Make(const std::string& path);

  absl::Status BeginArtifact(const v1::ImageArtifact& artifact);
  absl::Status Append(absl::string_view data);
  // DataLoss: its size or digest is not that of the manifest.
  absl::Status EndArtifact();
  // Writes the manifest, and puts the folder at its place.
  absl::Status Finish(const v1::ImageManifest& manifest);

 private:
  ImageFolderWriter(std::string path, std::unique_ptr<sys::TreeStage> stage)
      : path_(std::move(path)), stage_(std::move(stage)) {}
  absl::Status Create(const std::string& name);
  absl::Status Write(absl::string_view data);

  const std::string path_;
  const std::unique_ptr<sys::TreeStage> stage_;
  sys::UniqueFd file_;
  v1::ImageArtifact artifact_;  // that is being written
  uint64_t written_ = 0;
  std::unique_ptr<Sha256> digest_;
};

}  // namespace muster::cli
