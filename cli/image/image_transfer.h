// Images between a folder and the controller.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/image/image_folder.h"
#include "muster/v1/image.pb.h"

namespace muster::cli {

class Connection;

// Has the controller keep the image of this manifest, whose artifacts lie in `folder` by their
// names. Checks all of them before anything is sent, and sends those that the controller does not
// have: after an interruption the next call sends the rest. Blocks for as long as that takes.
// Cancelled: Ctrl-C, for which the caller holds an InterruptFlag.
absl::StatusOr<v1::Image> UploadImage(const Connection& connection, const std::string& folder,
                                      const v1::ImageManifest& manifest,
                                      const OnTransfer& on_transfer);

// Has the controller keep the signed kernel image, which lies in `folder` by its artifact's name,
// as that of `image`.
absl::StatusOr<v1::Image> UploadSigned(const Connection& connection, const v1::Image& image,
                                       const std::string& folder, const v1::SignedKernel& kernel,
                                       const OnTransfer& on_transfer);

// Writes the image into the new folder `folder`, with everything checked; after an error the folder
// is not there.
absl::Status DownloadImage(const Connection& connection, const v1::Image& image,
                           const std::string& folder, const OnTransfer& on_transfer);

// An artifact in memory. ResourceExhausted: it has more than `max_bytes`.
absl::StatusOr<std::string> ReadArtifact(const Connection& connection,
                                         const v1::ImageArtifact& artifact, size_t max_bytes,
                                         const OnTransfer& on_transfer);

}  // namespace muster::cli
