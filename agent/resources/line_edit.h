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

// What of a text would change.
struct LineChange {
  std::string content;  // the whole text after it
  std::string before;   // the line that goes or is replaced; "absent", "3 lines"
  std::string after;    // the line that comes, or "absent"
};

// Pure; made once a step. Lines end with "\n" or "\r\n", and the last may lack its end: what comes
// new ends as its neighbour does.
class LineEdit {
 public:
  // InvalidArgument names the field that is wrong. `spec` outlives the object.
  static absl::StatusOr<LineEdit> Make(const v1::LineResource& spec);
  LineEdit(LineEdit&&) noexcept;
  ~LineEdit();

  // nullopt: the text is as it should be.
  std::optional<LineChange> Apply(absl::string_view text) const;

 private:
  explicit LineEdit(const v1::LineResource& spec);
  bool Matches(absl::string_view line) const;

  const v1::LineResource& spec_;
  std::unique_ptr<re2::RE2> match_;         // with `match` only
  std::unique_ptr<re2::RE2> insert_after_;  // with `insert_after` only
};

}  // namespace muster::agent
