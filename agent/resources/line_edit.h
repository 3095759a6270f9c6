// One line of a text, by literal, key or regular expression.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace re2 {
class RE2;
}
namespace muster::v1 {
class LineResource;
}

namespace muster::agent {

// A change of the text.
struct LineChange {
  std::string content;  // the whole text after the change
  std::string before;   // the line that is removed or replaced; "absent", "3 lines"
  std::string after;    // the new line, or "absent"
};

// Pure; made once per step. Lines end with LF or CR LF, and the last may lack its end: a new line
// ends like its neighbor.
class LineEdit {
 public:
  // InvalidArgument names the wrong field. `spec` must outlive the object.
  static absl::StatusOr<LineEdit> Make(const v1::LineResource& spec);
  LineEdit(LineEdit&&) noexcept;
  ~LineEdit();

  // nullopt: the text is as it should be.
  std::optional<LineChange> Apply(absl::string_view text) const;

 private:
  explicit LineEdit(const v1::LineResource& spec);
  bool Matches(absl::string_view line) const;

  const v1::LineResource& spec_;
  std::unique_ptr<re2::RE2> match_;         // only with `match`
  std::unique_ptr<re2::RE2> insert_after_;  // only with `insert_after`
};

}  // namespace muster::agent
