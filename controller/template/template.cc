#include "controller/template/template.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/evaluator.h"
#include "controller/template/syntax/parser.h"

namespace muster::tmpl {

absl::StatusOr<Template> Template::Parse(absl::string_view source, SourcePosition position,
                                         const Limits& limits, const IncludeFinder& find_included) {
  ASSIGN_OR_RETURN(const auto parsed, ParseTemplate(Source(source, std::move(position)), limits));
  std::set<std::string> names(parsed->names.begin(), parsed->names.end());
  for (internal::Include& include : parsed->includes) {
    if (!find_included) {
      return parsed->source.Error(include.place,
                                  "{% include %} works only in the files of a role's templates/");
    }
    const absl::StatusOr<Template> found = find_included(include.name);
    if (absl::IsNotFound(found.status()) || absl::IsFailedPrecondition(found.status()))
      return parsed->source.Error(include.place, found.status().message());
    RETURN_IF_ERROR(found.status());
    include.parsed = found->parsed_;
    names.insert(include.parsed->names.begin(), include.parsed->names.end());
    parsed->include_depth = std::max(parsed->include_depth, include.parsed->include_depth + 1);
    if (parsed->include_depth > kMaxIncludeDepth) {
      return parsed->source.Error(include.place, absl::StrCat("includes are nested deeper than ",
                                                              kMaxIncludeDepth, " templates"));
    }
  }
  parsed->names.assign(names.begin(), names.end());
  return Template(parsed);
}

absl::StatusOr<Template> Template::ParseExpression(absl::string_view source,
                                                   SourcePosition position, const Limits& limits) {
  ASSIGN_OR_RETURN(auto parsed, ParseBareExpression(Source(source, std::move(position)), limits));
  return Template(std::move(parsed));
}

absl::StatusOr<Rendered> Template::Render(const Scope& scope, const Limits& limits) const {
  if (parsed_->expression != nullptr) {
    return absl::InvalidArgumentError("a bare expression has a value and cannot be rendered");
  }
  Evaluator evaluator(*parsed_, scope, limits);
  RETURN_IF_ERROR(evaluator.Run(parsed_->body));
  return evaluator.TakeOutput();
}

absl::StatusOr<Value> Template::RenderValue(const Scope& scope, const Limits& limits) const {
  const Expr* expression = parsed_->expression.get();
  if (parsed_->body.size() == 1 && parsed_->body[0]->kind == NodeKind::kOutput) {
    expression = parsed_->body[0]->expr.get();
  }
  if (expression != nullptr) {
    return Evaluator(*parsed_, scope, limits).EvaluateWhole(*expression);
  }
  ASSIGN_OR_RETURN(Rendered rendered, Render(scope, limits));
  if (rendered.sensitive) return MakeSecret(rendered.text);
  return Value(std::move(rendered.text));
}

absl::Status Template::Error(absl::string_view message) const {
  const Expr* expression = parsed_->expression.get();
  return parsed_->source.Error(expression != nullptr ? expression->place : Place{}, message);
}

const std::vector<std::string>& Template::names() const { return parsed_->names; }

bool HasTemplateSyntax(absl::string_view text) {
  for (size_t at = text.find('{'); at != absl::string_view::npos; at = text.find('{', at + 1)) {
    if (at + 1 == text.size()) return false;
    if (text[at + 1] == '{' || text[at + 1] == '%' || text[at + 1] == '#') return true;
  }
  return false;
}

absl::StatusOr<Rendered> Render(absl::string_view source, const SourcePosition& position,
                                const Scope& scope, const Limits& limits) {
  ASSIGN_OR_RETURN(const Template parsed, Template::Parse(source, position, limits));
  return parsed.Render(scope, limits);
}

absl::StatusOr<Value> RenderValue(absl::string_view source, const SourcePosition& position,
                                  const Scope& scope, const Limits& limits) {
  ASSIGN_OR_RETURN(const Template parsed, Template::Parse(source, position, limits));
  return parsed.RenderValue(scope, limits);
}

absl::StatusOr<Value> EvaluateExpression(absl::string_view expression,
                                         const SourcePosition& position, const Scope& scope,
                                         const Limits& limits) {
  ASSIGN_OR_RETURN(const Template parsed, Template::ParseExpression(expression, position, limits));
  return parsed.RenderValue(scope, limits);
}

absl::StatusOr<bool> EvaluateCondition(absl::string_view expression, const SourcePosition& position,
                                       const Scope& scope, const Limits& limits) {
  ASSIGN_OR_RETURN(const Value value, EvaluateExpression(expression, position, scope, limits));
  return Truth(value);
}

}  // namespace muster::tmpl
