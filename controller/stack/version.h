// Versions of kernels, drivers and packages.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller::stack {

// Below 0, 0 or above 0: compares the numbers between dots that the two begin with.
// "6.1.0-37-amd64" is 6.1.0, and missing numbers count as 0.
int CompareVersions(absl::string_view a, absl::string_view b);

// Whether `version` is `line`, or continues it after the end of a number: "22.05.8" and "22.05.8-4"
// are of "22.05", "22.051" is not.
bool IsOfLine(absl::string_view version, absl::string_view line);

// Whether the text can be the version of a package: it begins with a digit and has no blanks,
// slashes, wildcards or signs of a shell or template.
bool IsVersion(absl::string_view text);

// Kernels from one version up to, but not including, another.
struct VersionRange {
  std::string from;
  std::string below;

  bool Contains(absl::string_view version) const;
  bool Contains(const VersionRange& other) const;
  std::string ToString() const;  // "6.1 to below 6.2"
};

}  // namespace muster::controller::stack
