// What an image is to be: images/<name>/image.yaml. docs/images.md describes the format.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/image/disk_section.h"
#include "common/yaml/document.h"

namespace muster::image {

// The folder of the definitions in a site, and the file in a definition's folder.
inline constexpr char kImageFolder[] = "images";
inline constexpr char kDefinitionFile[] = "image.yaml";

// The root is read-only, and what changes stays in memory.
inline constexpr char kRamKind[] = "ram";
// The root is one of two on a disk, and what changes stays there.
inline constexpr char kDiskKind[] = "disk";

// A word that refers to something else, with its place.
struct Reference {
  std::string text;
  yaml::Node node;
};

struct Definition {
  std::string name;
  std::string description;
  std::string kind;          // kRamKind or kDiskKind
  std::string distribution;  // name in Distributions()
  std::string snapshot;      // of the controller's; "": the distribution's archive as it is
  std::string kernel;        // name of a package
  std::vector<std::string> packages;
  // Folders below images/ whose content becomes a part of the root, one after the other.
  std::vector<Reference> files;
  std::vector<Reference> roles;   // in the order in which they are applied; each once
  std::vector<Reference> groups;  // of the inventory, whose variables apply
  // A map, or null: above every other variable of the roles.
  yaml::Node variables;
  std::vector<std::string> kernel_arguments;
  // Patterns of paths in packages that are not unpacked: "/usr/share/man/*".
  std::vector<std::string> leave_out;
  DiskSection disk;  // of kDiskKind
  // Where all of it was written.
  yaml::Document document;
};

// Whether `name` may be an image's: letters, digits, '.', '_' and '-', at most 64, the first one a
// letter or digit.
bool IsImageName(absl::string_view name);

// "images/<name>/image.yaml".
std::string DefinitionPath(absl::string_view name);

// Reads the text of the file at `path`. InvalidArgument: with file:line:column and the remedy.
absl::StatusOr<Definition> ParseDefinition(absl::string_view name, absl::string_view path,
                                           absl::string_view text);

}  // namespace muster::image
