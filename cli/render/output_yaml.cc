#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/render/output.h"

namespace muster::cli {
namespace {

using Value = nlohmann::ordered_json;

// Text that reads back as the same string without quotes: it begins with a letter, has nothing with
// a meaning in YAML, and is none of the words that would become a boolean or null.
bool IsPlain(absl::string_view text) {
  if (text.empty() || !absl::ascii_isalpha(text.front())) return false;
  for (const char c : text)
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-' && c != '.' && c != '/' && c != ' ' &&
        c != '(' && c != ')')
      return false;
  if (text.back() == ' ') return false;
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
    if (lower == word) return false;
  return true;
}

std::string Scalar(const Value& value) {
  if (value.is_string() && IsPlain(value.get_ref<const std::string&>()))
    return value.get<std::string>();
  // Any JSON scalar, even a quoted string, is YAML.
  return value.dump(-1, ' ', false, Value::error_handler_t::replace);
}

void Append(const Value& value, int indent, std::string& out);

// The part after "key:" or "-".
void AppendNested(const Value& value, int indent, std::string& out) {
  if (value.is_object() && !value.empty()) {
    absl::StrAppend(&out, "\n");
    Append(value, indent, out);
  } else if (value.is_array() && !value.empty()) {
    absl::StrAppend(&out, "\n");
    Append(value, indent, out);
  } else {
    absl::StrAppend(&out, " ", Scalar(value), "\n");
  }
}

void Append(const Value& value, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) {
      absl::StrAppend(&out, margin, Scalar(key), ":");
      AppendNested(item, indent + 2, out);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const Value& item : value) {
      absl::StrAppend(&out, margin, "-");
      if (item.is_object() && !item.empty()) {
        // The first key goes beside the dash, the others below it.
        std::string nested;
        Append(item, indent + 2, nested);
        absl::StrAppend(&out, " ", absl::StripLeadingAsciiWhitespace(nested));
      } else {
        AppendNested(item, indent + 2, out);
      }
    }
  } else {
    absl::StrAppend(&out, margin, Scalar(value), "\n");
  }
}

}  // namespace

std::string ToYaml(const Value& value) {
  std::string out;
  Append(value, 0, out);
  return out;
}

}  // namespace muster::cli
