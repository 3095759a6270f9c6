// An image's manifest as JSON, for people and for exported images. Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class ImageManifest;
}

namespace muster {

// Indented, with the names of the .proto file and a final newline; the same manifest gives the same
// text.
absl::StatusOr<std::string> WriteImageManifest(const v1::ImageManifest& manifest);

// InvalidArgument: not such a text, or not a manifest that an image may have (CheckImageManifest).
absl::StatusOr<v1::ImageManifest> ReadImageManifest(absl::string_view text);

}  // namespace muster
