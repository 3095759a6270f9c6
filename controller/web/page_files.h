// The files of web/, which are a part of the program.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::controller {

struct PageFile {
  absl::string_view path;  // "/app.js"; "/" is index.html
  absl::string_view content_type;
  absl::string_view text;
};
absl::Span<const PageFile> PageFiles();

}  // namespace muster::controller
