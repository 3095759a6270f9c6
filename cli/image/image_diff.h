// What differs between two images. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/render/package_changes.h"
#include "common/value/image_files.h"

namespace muster::v1 {
class ImageManifest;
}

namespace muster::cli {

// Digests of the role's steps, where they differ.
struct ImageRoleChange {
  std::string name;
  std::string before;  // "": it was not applied
  std::string after;   // likewise
};

struct ImageArtifactChange {
  std::string name;
  std::optional<uint64_t> before;  // bytes; nullopt: there was none
  std::optional<uint64_t> after;
};

// At least one of the two is there.
struct ImageFileChange {
  std::optional<ImageFile> before;
  std::optional<ImageFile> after;
};

struct ImageFilesDiff {
  size_t added = 0;
  size_t removed = 0;
  size_t changed = 0;
  std::vector<ImageFileChange> files;  // the first ones, by their path
};

struct ImageDiff {
  std::vector<PackageChangeRow> packages;  // by name and architecture
  std::vector<ImageRoleChange> roles;      // by name
  std::vector<ImageArtifactChange> artifacts;
  std::optional<ImageFilesDiff> files;  // nullopt: one of the images has no list of its files
};

// All but the files. A package that is there in several versions has them joined by ", ".
ImageDiff DiffImageManifests(const v1::ImageManifest& before, const v1::ImageManifest& after);

// Compares two texts of ImageFilesReader, of which at most `max_files` changes are returned.
// InvalidArgument names the line that is wrong, and of which of the two.
absl::StatusOr<ImageFilesDiff> DiffImageFiles(absl::string_view before, absl::string_view after,
                                              size_t max_files);

}  // namespace muster::cli
