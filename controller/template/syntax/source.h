// The text of a template and places in it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "controller/template/template.h"

namespace muster::tmpl {

// A line and column of the file that contains the template, both from 1.
struct Place {
  int line = 1;
  int column = 1;
};

// A template's text with uniform line breaks ("\n") and its place in the file.
class Source {
 public:
  Source(absl::string_view text, SourcePosition start);

  const std::string& text() const { return text_; }
  const std::string& file() const { return start_.file; }
  // The place `column_offset` bytes into line `line_index` (from 0) of the text.
  Place PlaceOf(int line_index, size_t column_offset) const;
  // "file:line:column" alone, for messages that point to a second place.
  std::string Describe(Place place) const;
  absl::Status Error(Place place, absl::string_view message,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument) const;

 private:
  std::string text_;
  SourcePosition start_;
};

}  // namespace muster::tmpl
