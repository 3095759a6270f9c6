// A strict subset of Jinja2 for playbooks and configuration files.
//
//   ASSIGN_OR_RETURN(Template gres, Template::Parse(text, {.file = "roles/x/gres.conf.j2"}));
//   Scope scope;
//   scope.Set("gpu_count", 8);
//   ASSIGN_OR_RETURN(Rendered out, gres.Render(scope));
//
// Renders every accepted template as Jinja2 does with trim_blocks, lstrip_blocks,
// keep_trailing_newline and StrictUndefined; anything outside the subset is an error that names its
// place. docs/templates.md lists the subset.
//
// Errors are InvalidArgument: "file:line:column: message", the line and a caret. They never hold a
// secret. (Errors of a scope's functions and lookups keep their code.)
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/template/scope.h"

namespace muster::tmpl {

// The position of a text inside its file: templates are also values inside YAML.
struct SourcePosition {
  std::string file;
  int line = 1;
  int column = 1;
  // Columns that were removed from the second and later lines, such as the indentation of a YAML
  // block.
  int indent = 0;
  // The whole file, so that errors show the original line; absent: the template's own.
  std::shared_ptr<const std::string> file_text = nullptr;
};

struct Rendered {
  std::string text;
  // A secret went into the text: redact it in every log and diff.
  bool sensitive = false;
};

// A template that exceeds one of these fails; none can hang or exhaust the controller.
struct Limits {
  size_t max_output = size_t{16} << 20;  // bytes; also for every intermediate string
  size_t max_steps = 5'000'000;          // evaluated nodes, loop iterations, and copied values
  int max_depth = 64;                    // nested parentheses, blocks, lists
};

// How deep templates may include each other.
inline constexpr int kMaxIncludeDepth = 10;

namespace internal {
struct ParsedTemplate;
}

class Template;
// Finds the template that `{% include 'name' %}` names. Errors NotFound and FailedPrecondition are
// reported at the place of the include; any other is an error in the included template.
using IncludeFinder = std::function<absl::StatusOr<Template>(absl::string_view name)>;

// A parsed template: parse once, render for every node. Copies share the parsed form.
// Thread-safe.
class Template {
 public:
  // Without `find_included` a template cannot include another one.
  static absl::StatusOr<Template> Parse(absl::string_view source, SourcePosition position,
                                        const Limits& limits = {},
                                        const IncludeFinder& find_included = nullptr);
  // A bare expression without braces, as in `when:`.
  static absl::StatusOr<Template> ParseExpression(absl::string_view source, SourcePosition position,
                                                  const Limits& limits = {});

  absl::StatusOr<Rendered> Render(const Scope& scope, const Limits& limits = {}) const;
  // A source that is exactly one "{{ expression }}", or a bare expression, gives the native value
  // (list, integer, boolean, …); anything else gives a string. Text that contains a secret is a
  // secret.
  absl::StatusOr<Value> RenderValue(const Scope& scope, const Limits& limits = {}) const;

  // InvalidArgument at the place of a bare expression, for what is wrong with its value.
  absl::Status Error(absl::string_view message) const;

  // The names that the template and those it includes may read or call, sorted; also loop
  // variables. Two scopes that agree on these render the same text.
  const std::vector<std::string>& names() const;

 private:
  explicit Template(std::shared_ptr<const internal::ParsedTemplate> parsed)
      : parsed_(std::move(parsed)) {}
  std::shared_ptr<const internal::ParsedTemplate> parsed_;
};

// True when `text` contains anything but plain text: "{{", "{%" or "{#".
bool HasTemplateSyntax(absl::string_view text);

// Parses and uses a template once.
absl::StatusOr<Rendered> Render(absl::string_view source, const SourcePosition& position,
                                const Scope& scope, const Limits& limits = {});
absl::StatusOr<Value> RenderValue(absl::string_view source, const SourcePosition& position,
                                  const Scope& scope, const Limits& limits = {});
absl::StatusOr<Value> EvaluateExpression(absl::string_view expression,
                                         const SourcePosition& position, const Scope& scope,
                                         const Limits& limits = {});
// The truth of a bare expression by Python's rules: "", 0, none, [] and {} are false.
absl::StatusOr<bool> EvaluateCondition(absl::string_view expression, const SourcePosition& position,
                                       const Scope& scope, const Limits& limits = {});

}  // namespace muster::tmpl
