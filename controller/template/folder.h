// The templates of a folder, which may include each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/template/template.h"

namespace muster::tmpl {

// Parses each template once. Add all of them first. Not thread-safe; the templates are.
class TemplateFolder {
 public:
  // `name` is what `{% include %}` calls it.
  void Add(const std::string& name, absl::string_view text, SourcePosition position);

  // NotFound, without a place: there is none of this name. FailedPrecondition, without a place: it
  // includes itself, or the includes are nested too deeply.
  absl::StatusOr<Template> Parse(absl::string_view name);

 private:
  struct File {
    std::string text;
    SourcePosition position;
  };
  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, absl::StatusOr<Template>, std::less<>> parsed_;
  std::vector<std::string> open_;  // being parsed, each included by the one before
};

}  // namespace muster::tmpl
