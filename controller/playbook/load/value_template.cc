#include "controller/playbook/load/value_template.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/yaml/value.h"

namespace muster::controller::playbook {
namespace {

// The line of the text, without its end.
absl::string_view LineAt(absl::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool IsTrue(const Value& value) {
  switch (value.type()) {
    case Value::value_t::null:
      return false;
    case Value::value_t::boolean:
      return value.get<bool>();
    case Value::value_t::number_integer:
    case Value::value_t::number_unsigned:
      return value.get<int64_t>() != 0;
    case Value::value_t::number_float:
      return value.get<double>() != 0;
    case Value::value_t::string:
      return !value.get_ref<const std::string&>().empty();
    case Value::value_t::array:
    case Value::value_t::object:
      return !value.empty();
    case Value::value_t::binary:
      return !value.get_binary().empty();
    case Value::value_t::discarded:
      return false;
  }
  return false;
}

// Whether a text says yes or no, and would be true by not being empty.
bool IsWordForTruth(const Value& value) {
  constexpr absl::string_view kWords[] = {"yes", "no", "on", "off", "true", "false"};
  if (!value.is_string()) return false;
  const absl::string_view text = absl::StripAsciiWhitespace(value.get_ref<const std::string&>());
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](absl::string_view word) { return absl::EqualsIgnoreCase(text, word); });
}

}  // namespace

tmpl::SourcePosition PositionOfText(const yaml::Document& document, const yaml::Node& node) {
  tmpl::SourcePosition position;
  position.file = document.file_name();
  position.line = std::max(node.mark().line, 1);
  position.column = std::max(node.mark().column, 1);
  const auto keep = std::make_shared<const yaml::Document>(document);  // shares the text
  position.file_text = std::shared_ptr<const std::string>(keep, &keep->text());
  const absl::string_view line = LineAt(*position.file_text, position.line);
  const size_t at = static_cast<size_t>(position.column - 1);
  const char first = node.quoted() && at < line.size() ? line[at] : ' ';
  if (first == '"' || first == '\'') {
    ++position.column;
  } else if (first == '|' || first == '>') {
    const absl::string_view next = LineAt(*position.file_text, position.line + 1);
    const size_t indent = next.find_first_not_of(' ');
    ++position.line;
    position.indent = indent == absl::string_view::npos ? 0 : static_cast<int>(indent);
    position.column = position.indent + 1;
  }
  return position;
}

struct ValueTemplate::Part {
  Value constant;                       // null when one of the others is set
  std::optional<tmpl::Template> text;   // a string with template syntax
  std::vector<ValueTemplate> elements;  // of a list or map that is not constant
  std::vector<std::string> keys;        // of a map, parallel to elements
  bool is_map = false;
};

ValueTemplate::ValueTemplate() : part_(std::make_shared<const Part>()) {}

absl::StatusOr<ValueTemplate> ValueTemplate::FromYaml(const yaml::Document& document,
                                                      const yaml::Node& node, Scalars scalars,
                                                      Keys keys) {
  Part part;
  if (node.IsScalar()) {
    if (tmpl::HasTemplateSyntax(node.text())) {
      ASSIGN_OR_RETURN(part.text,
                       tmpl::Template::Parse(node.text(), PositionOfText(document, node)));
    } else if (scalars == Scalars::kText) {
      part.constant = node.text();
    } else {
      part.constant = yaml::ToValue(node);
    }
    return ValueTemplate(std::make_shared<const Part>(std::move(part)));
  }
  bool constant = true;
  for (const yaml::Node& item : node.items()) {
    ASSIGN_OR_RETURN(ValueTemplate element, FromYaml(document, item, scalars, keys));
    constant = constant && element.constant();
    part.elements.push_back(std::move(element));
  }
  for (const yaml::Entry& entry : node.entries()) {
    if (keys == Keys::kChecked && tmpl::HasTemplateSyntax(entry.key)) {
      return document.Error(entry.key_mark, "a key cannot be a template");
    }
    ASSIGN_OR_RETURN(ValueTemplate element, FromYaml(document, entry.value, scalars, keys));
    constant = constant && element.constant();
    part.elements.push_back(std::move(element));
    part.keys.push_back(entry.key);
  }
  part.is_map = node.IsMap();
  if (constant && !node.IsNull()) {
    part.constant = part.is_map ? Value::object() : Value::array();
    for (size_t i = 0; i < part.elements.size(); ++i) {
      if (part.is_map) {
        part.constant[part.keys[i]] = part.elements[i].value();
      } else {
        part.constant.push_back(part.elements[i].value());
      }
    }
    part.elements.clear();
    part.keys.clear();
  }
  return ValueTemplate(std::make_shared<const Part>(std::move(part)));
}

absl::StatusOr<ValueTemplate> ValueTemplate::FromValue(const Value& value,
                                                       const tmpl::SourcePosition& position) {
  Part part;
  bool constant = true;
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (tmpl::HasTemplateSyntax(text)) {
      ASSIGN_OR_RETURN(part.text, tmpl::Template::Parse(text, position));
      constant = false;
    }
  } else if (value.is_structured()) {
    for (const auto& [key, element] : value.items()) {
      ASSIGN_OR_RETURN(ValueTemplate parsed, FromValue(element, position));
      constant = constant && parsed.constant();
      part.elements.push_back(std::move(parsed));
      if (value.is_object()) part.keys.push_back(key);
    }
    part.is_map = value.is_object();
  }
  if (constant) {
    part = Part();
    part.constant = value;
  }
  return ValueTemplate(std::make_shared<const Part>(std::move(part)));
}

ValueTemplate ValueTemplate::FromTemplate(tmpl::Template source) {
  Part part;
  part.text = std::move(source);
  return ValueTemplate(std::make_shared<const Part>(std::move(part)));
}

bool ValueTemplate::constant() const { return !part_->text.has_value() && part_->elements.empty(); }

const Value& ValueTemplate::value() const { return part_->constant; }

absl::StatusOr<Value> ValueTemplate::Evaluate(const tmpl::Scope& scope) const {
  if (part_->text.has_value()) return part_->text->RenderValue(scope);
  if (part_->elements.empty()) return part_->constant;
  Value out = part_->is_map ? Value::object() : Value::array();
  for (size_t i = 0; i < part_->elements.size(); ++i) {
    ASSIGN_OR_RETURN(Value element, part_->elements[i].Evaluate(scope));
    if (part_->is_map) {
      out[part_->keys[i]] = std::move(element);
    } else {
      out.push_back(std::move(element));
    }
  }
  return out;
}

const tmpl::Template* ValueTemplate::text() const {
  return part_->text.has_value() ? &*part_->text : nullptr;
}

bool ValueTemplate::MayRead(absl::string_view name) const {
  if (part_->text.has_value()) return playbook::MayRead(*part_->text, name);
  return std::any_of(part_->elements.begin(), part_->elements.end(),
                     [&](const ValueTemplate& element) { return element.MayRead(name); });
}

std::optional<std::string> ConstantText(const ValueTemplate& value) {
  if (!value.constant() || !value.value().is_string()) return std::nullopt;
  return value.value().get<std::string>();
}

bool MayRead(const tmpl::Template& source, absl::string_view name) {
  const std::vector<std::string>& names = source.names();
  return std::binary_search(names.begin(), names.end(), name,
                            [](absl::string_view a, absl::string_view b) { return a < b; });
}

absl::Status ReadConditions(const yaml::Document& document, const yaml::Node& node,
                            std::vector<Condition>* out, absl::string_view key) {
  if (node.IsSequence()) {
    for (const yaml::Node& item : node.items()) {
      if (!item.IsScalar())
        return document.Error(item, absl::StrCat("'", key, "' must be a list of expressions"));
      RETURN_IF_ERROR(ReadConditions(document, item, out, key));
    }
    return absl::OkStatus();
  }
  if (!node.IsScalar() || node.text().empty()) {
    return document.Error(node, absl::StrCat("'", key,
                                             "' needs an expression, or a list of expressions that "
                                             "must all hold"));
  }
  if (tmpl::HasTemplateSyntax(node.text())) {
    return document.Error(
        node, absl::StrCat("'", key, "' is already an expression: write it without {{ and }}"));
  }
  ASSIGN_OR_RETURN(tmpl::Template expression,
                   tmpl::Template::ParseExpression(node.text(), PositionOfText(document, node)));
  out->push_back({std::move(expression), std::string(absl::StripAsciiWhitespace(node.text()))});
  return absl::OkStatus();
}

absl::StatusOr<std::string> FirstFalse(const std::vector<Condition>& conditions,
                                       const tmpl::Scope& scope,
                                       absl::FunctionRef<bool(const Condition&)> is_asked) {
  for (const Condition& condition : conditions) {
    if (!is_asked(condition)) continue;
    ASSIGN_OR_RETURN(const Value value, condition.expression.RenderValue(scope));
    if (IsWordForTruth(value)) {
      return condition.expression.Error(absl::StrCat(
          "'", condition.text, "' is the text '", value.get_ref<const std::string&>(),
          "', and every text but an empty one counts as true: write true or false without quotes, "
          "or '",
          condition.text, " | bool'"));
    }
    if (!IsTrue(value)) return condition.text;
  }
  return std::string();
}

}  // namespace muster::controller::playbook
