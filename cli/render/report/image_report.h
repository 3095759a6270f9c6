// Images as text for people. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class Image;
class ListImagesResponse;
class VerifyImageResponse;
}  // namespace muster::v1

namespace muster::cli {

struct ImageDiff;

// A row for each image. The last column marks the builds that names mean: "pinned" or "newest".
std::string RenderImages(const v1::ListImagesResponse& response, absl::Time now);

// Its manifest; `with_packages`: each package, not only their number.
std::string RenderImage(const v1::Image& image, absl::Time now, bool with_packages);

// After it was signed.
std::string RenderSignedImage(const v1::Image& image);

// One that the controller has just been given.
std::string RenderKeptImage(const v1::Image& image);

// `name`: as the person wrote it.
std::string RenderVerifiedImage(absl::string_view name, const v1::VerifyImageResponse& response);

// What differs: packages, roles, artifacts, and the files that the diff holds.
std::string RenderImageDiff(const v1::Image& before, const v1::Image& after, const ImageDiff& diff);

// The same for programs, with the names of muster/v1 for what they name.
nlohmann::ordered_json ImageDiffValue(const v1::Image& before, const v1::Image& after,
                                      const ImageDiff& diff);

// "sending root.squashfs: 1 GB of 3 GB".
std::string RenderTransfer(absl::string_view what, absl::string_view artifact, uint64_t done,
                           uint64_t total);

}  // namespace muster::cli
