#include "common/yaml/map_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"

namespace muster::yaml {
namespace {

// "expected a whole number, not 'abc'" or "…, not a list".
absl::Status Unexpected(const Document& document, const Node& node, absl::string_view expected) {
  const std::string got =
      node.IsScalar() ? absl::StrCat("'", node.text(), "'") : std::string(KindName(node.kind()));
  return document.Error(node, absl::StrCat("expected ", expected, ", not ", got));
}

// Words that YAML 1.1 took for booleans and that people still write.
absl::string_view MeantBoolean(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "yes" || lower == "on" || lower == "1") return "true";
  if (lower == "no" || lower == "off" || lower == "0") return "false";
  return "true or false";
}

}  // namespace

absl::Status Read(const Document& document, const Node& node, std::string* out) {
  if (!node.IsScalar()) return Unexpected(document, node, "text");
  *out = node.text();
  return absl::OkStatus();
}

absl::Status Read(const Document& document, const Node& node, bool* out) {
  if (!node.IsScalar()) return Unexpected(document, node, "true or false");
  const std::string& text = node.text();
  if (!node.quoted() && (text == "true" || text == "True" || text == "TRUE")) {
    *out = true;
  } else if (!node.quoted() && (text == "false" || text == "False" || text == "FALSE")) {
    *out = false;
  } else {
    return document.Error(node, absl::StrCat("expected a boolean, not '", text, "': write ",
                                             MeantBoolean(text), " without quotes"));
  }
  return absl::OkStatus();
}

absl::Status Read(const Document& document, const Node& node, int* out) {
  int value = 0;
  if (!node.IsScalar() || !absl::SimpleAtoi(node.text(), &value)) {
    return Unexpected(document, node, "a whole number");
  }
  *out = value;
  return absl::OkStatus();
}

absl::Status Read(const Document& document, const Node& node, int64_t* out) {
  int64_t value = 0;
  if (!node.IsScalar() || !absl::SimpleAtoi(node.text(), &value)) {
    return Unexpected(document, node, "a whole number");
  }
  *out = value;
  return absl::OkStatus();
}

absl::Status Read(const Document& document, const Node& node, double* out) {
  double value = 0;
  if (!node.IsScalar() || !absl::SimpleAtod(node.text(), &value)) {
    return Unexpected(document, node, "a number");
  }
  *out = value;
  return absl::OkStatus();
}

absl::Status Read(const Document& document, const Node& node, absl::Duration* out) {
  absl::Duration value;
  if (!node.IsScalar() || !absl::ParseDuration(node.text(), &value) ||
      value < absl::ZeroDuration() || value == absl::InfiniteDuration()) {
    return Unexpected(document, node, "a duration with its unit (such as 30s, 10m or 1h30m)");
  }
  *out = value;
  return absl::OkStatus();
}

absl::Status Read(const Document& document, const Node& node, std::vector<std::string>* out) {
  std::vector<std::string> values;
  if (node.IsScalar()) {
    values.push_back(node.text());
  } else if (node.IsSequence()) {
    for (const Node& item : node.items()) {
      RETURN_IF_ERROR(Read(document, item, &values.emplace_back()));
    }
  } else if (!node.IsNull()) {
    return Unexpected(document, node, "a list of text");
  }
  *out = std::move(values);
  return absl::OkStatus();
}

absl::Status Read(const Document&, const Node& node, Node* out) {
  *out = node;
  return absl::OkStatus();
}

MapReader::MapReader(const Document& document, const Node& node, absl::string_view what)
    : document_(document), node_(node), what_(what) {}

const Node* MapReader::Take(absl::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return node_.Find(key);
}

absl::Status MapReader::Absent(absl::string_view key) const {
  if (!node_.IsMap()) return Finish();
  return document_.Error(node_, absl::StrCat("the ", what_, " lacks '", key, "'"));
}

absl::Status MapReader::Empty(absl::string_view key, const Node& value) const {
  return document_.Error(value, absl::StrCat("'", key, "' is empty: set a value or remove it"));
}

absl::Status MapReader::Finish() const {
  if (!node_.IsMap()) {
    return document_.Error(node_, absl::StrCat("expected a ", what_, " (a map of keys), not ",
                                               KindName(node_.kind())));
  }
  std::vector<std::string> errors;
  for (const Entry& entry : node_.entries()) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    std::string hint = DidYouMean(entry.key, known_);
    if (hint.empty()) hint = absl::StrCat(" (known: ", absl::StrJoin(known_, ", "), ")");
    const absl::Status error = document_.Error(
        entry.key_mark, absl::StrCat("unknown key '", entry.key, "' in the ", what_, hint));
    errors.emplace_back(error.message());
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

}  // namespace muster::yaml
