// The format of a Debian archive's indexes: paragraphs of "Name: value" lines. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller::snapshot {

// The fields of one paragraph; refers to the text that it was read from.
class Paragraph {
 public:
  // The value as it was written: further lines of it follow with their newlines and blanks. ""
  // where there is no such field. Names are compared without regard to case.
  absl::string_view Get(absl::string_view name) const;
  bool empty() const { return fields_.empty(); }

 private:
  friend class ControlReader;
  struct Field {
    absl::string_view name;
    absl::string_view value;
  };
  std::vector<Field> fields_;
};

// Reads paragraph after paragraph of `text`, which must outlive it and what it returns.
class ControlReader {
 public:
  explicit ControlReader(absl::string_view text) : text_(text) {}

  // The next paragraph; an empty one at the end. InvalidArgument names the line that is not a
  // field, or repeats one.
  absl::StatusOr<Paragraph> Next();

 private:
  absl::string_view TakeLine();

  absl::string_view text_;
  size_t line_ = 0;
};

// Whether the text is a relative path without empty, "." and ".." parts, of characters that are
// neither blank nor invisible.
bool IsPlainPath(absl::string_view path);
// Whether it is one word of visible characters.
bool IsWord(absl::string_view text);

}  // namespace muster::controller::snapshot
