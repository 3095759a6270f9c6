// A value of a playbook or a variable whose strings may be templates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/template/template.h"

namespace muster::controller::playbook {

// The position at which the text of a YAML scalar starts, after its quote or block indicator.
tmpl::SourcePosition PositionOfText(const yaml::Document& document, const yaml::Node& node);

// How plain scalars become values: by YAML's types, or as the text that is written, so that a
// version 1.10 stays "1.10".
enum class Scalars { kTyped, kText };

// What a key of a map with template syntax is: an error, or text as any other.
enum class Keys { kChecked, kLiteral };

// Templates in it are parsed once, at construction. Immutable; copies are cheap. Thread-safe.
class ValueTemplate {
 public:
  ValueTemplate();  // constant null

  // Errors name the place of the template in the document.
  static absl::StatusOr<ValueTemplate> FromYaml(const yaml::Document& document,
                                                const yaml::Node& node, Scalars scalars,
                                                Keys keys = Keys::kChecked);
  // For values that came without their YAML: `position` says where they are defined. Keys are
  // literal.
  static absl::StatusOr<ValueTemplate> FromValue(const Value& value,
                                                 const tmpl::SourcePosition& position);
  static ValueTemplate FromTemplate(tmpl::Template source);

  // Whether no string in it is a template.
  bool constant() const;
  // REQUIRES: constant(). Lives as long as any copy of this.
  const Value& value() const;
  absl::StatusOr<Value> Evaluate(const tmpl::Scope& scope) const;
  // nullptr when it is not one text with a template.
  const tmpl::Template* text() const;
  // Whether evaluation may read the variable `name`.
  bool MayRead(absl::string_view name) const;

 private:
  struct Part;
  explicit ValueTemplate(std::shared_ptr<const Part> part) : part_(std::move(part)) {}

  std::shared_ptr<const Part> part_;
};

// The text of a constant string; nullopt for anything else.
std::optional<std::string> ConstantText(const ValueTemplate& value);

// One line of `when:` or of an assertion.
struct Condition {
  tmpl::Template expression;
  std::string text;  // as written, for people
};

// Reads an expression or a list of expressions that must all hold, and appends them to *out. Errors
// name `key`.
absl::Status ReadConditions(const yaml::Document& document, const yaml::Node& node,
                            std::vector<Condition>* out, absl::string_view key = "when");

bool MayRead(const tmpl::Template& source, absl::string_view name);

// The text of the first condition that does not hold, of those that `is_asked` names; "" when all
// hold. A value that is text such as "no" is an error: it would count as true.
absl::StatusOr<std::string> FirstFalse(
    const std::vector<Condition>& conditions, const tmpl::Scope& scope,
    absl::FunctionRef<bool(const Condition&)> is_asked = [](const Condition&) { return true; });

}  // namespace muster::controller::playbook
