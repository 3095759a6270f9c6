// Parameters that are text, or lists and maps of it.
#include <algorithm>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <re2/re2.h>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/playbook/schema/field_types.h"
#include "controller/playbook/schema/schema.h"

namespace muster::controller::playbook {
namespace pb = google::protobuf;

namespace {

bool IsUtf8(absl::string_view text) {
  // The JSON writer checks it and replaces invalid text by a replacement character.
  const std::string raw(text);
  const Value value(raw);
  return Value::parse(value.dump(-1, ' ', false, Value::error_handler_t::replace))
             .get_ref<const std::string&>() == raw;
}

// Says that a secret is not allowed here, and where to put it instead.
absl::Status NoSecretIn(const Param& param) {
  const bool is_argv = param.type == ParamType::kArgv || param.type == ParamType::kValidate;
  return absl::InvalidArgumentError(
      absl::StrCat("'", param.key, "' cannot hold a secret: ",
                   is_argv ? "every user of the node can read the arguments of a program; pass it "
                             "by 'stdin', by 'environment', or in a file that only root can read"
                           : "it appears in reports"));
}

absl::StatusOr<std::string> ToText(const Param& param, const Value& value, bool* sensitive) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos) return Wrong(param, "text without NUL characters");
    return text;
  }
  if (value.is_number_integer()) return absl::StrCat(value.get<int64_t>());
  if (IsSecret(value)) {
    if (!param.takes_secret) return NoSecretIn(param);
    std::string text = SecretBytes(value);
    if (!IsUtf8(text) || text.find('\0') != std::string::npos) {
      return Wrong(param, "text, but the secret contains other bytes");
    }
    *sensitive = true;
    return text;
  }
  return Wrong(param, absl::StrCat("text, not ", Shown(value),
                                   value.is_structured() || value.is_null() ? "" : ": quote it"));
}

absl::StatusOr<std::vector<std::string>> ToTexts(const Param& param, const Value& value,
                                                 bool* sensitive) {
  std::vector<std::string> texts;
  if (!value.is_array()) {
    ASSIGN_OR_RETURN(texts.emplace_back(), ToText(param, value, sensitive));
    return texts;
  }
  for (const Value& element : value) {
    ASSIGN_OR_RETURN(texts.emplace_back(), ToText(param, element, sensitive));
  }
  return texts;
}

absl::Status SetTexts(const Param& param, const std::vector<std::string>& texts,
                      pb::Message* resource) {
  const pb::FieldDescriptor& field = Field(param, *resource);
  const pb::Reflection& reflection = *resource->GetReflection();
  reflection.ClearField(resource, &field);
  for (const std::string& text : texts) reflection.AddString(resource, &field, text);
  return absl::OkStatus();
}

absl::Status CheckRegex(const Param& param, const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 regex(text, options);
  if (regex.ok()) return absl::OkStatus();
  return Wrong(param, absl::StrCat("a regular expression of RE2: ", regex.error()));
}

// PACKAGE_STATE_LATEST of an enum whose zero value is PACKAGE_STATE_UNSPECIFIED: "latest".
std::string Word(const pb::EnumValueDescriptor& value) {
  const std::string& zero = value.type()->value(0)->name();
  const size_t prefix = zero.size() - std::string("UNSPECIFIED").size();
  return absl::AsciiStrToLower(absl::string_view(value.name()).substr(prefix));
}

}  // namespace

absl::Status SetText(const Param& param, const Value& value, pb::Message* resource,
                     bool* sensitive) {
  ASSIGN_OR_RETURN(std::string text, ToText(param, value, sensitive));
  if (text.empty() && param.required) return Wrong(param, "non-empty text");
  if (param.type == ParamType::kPath && !text.empty() && !absl::StartsWith(text, "/")) {
    return Wrong(param, absl::StrCat("an absolute path, not '", text, "'"));
  }
  if (param.type == ParamType::kUnitName && !absl::StrContains(text, '.')) {
    return Wrong(param, absl::StrCat("a unit with its suffix: '", text, ".service'?"));
  }
  if (param.type == ParamType::kFileName &&
      (text == "." || text == ".." || absl::StrContains(text, "/"))) {
    return Wrong(param, absl::StrCat("one name without '/', not '", text, "'"));
  }
  if (param.type == ParamType::kRegex) RETURN_IF_ERROR(CheckRegex(param, text));
  if (param.type == ParamType::kUnitName && absl::StrContains(text, "@.")) {
    return Wrong(param, absl::StrCat("an instance of the template '", text, "': '",
                                     absl::StrReplaceAll(text, {{"@.", "@NAME."}}), "'"));
  }
  SetBytes(param, text, resource);
  return absl::OkStatus();
}

absl::Status SetContent(const Param& param, const Value& value, pb::Message* resource,
                        bool* sensitive) {
  if (IsSecret(value)) {
    *sensitive = true;
    SetBytes(param, SecretBytes(value), resource);
    return absl::OkStatus();
  }
  return SetText(param, value, resource, sensitive);
}

absl::Status SetWord(const Param& param, const Value& value, pb::Message* resource,
                     bool* sensitive) {
  ASSIGN_OR_RETURN(const std::string text, ToText(param, value, sensitive));
  const pb::FieldDescriptor& field = Field(param, *resource);
  std::vector<std::string> words;
  for (int i = 1; i < field.enum_type()->value_count(); ++i) {
    const pb::EnumValueDescriptor& candidate = *field.enum_type()->value(i);
    words.push_back(Word(candidate));
    if (words.back() != text) continue;
    resource->GetReflection()->SetEnum(resource, &field, &candidate);
    return absl::OkStatus();
  }
  return Wrong(param, absl::StrCat("one of ", absl::StrJoin(words, ", "), ", not '", text, "'",
                                   DidYouMean(text, words)));
}

absl::Status SetSha256(const Param& param, const Value& value, pb::Message* resource,
                       bool* sensitive) {
  ASSIGN_OR_RETURN(const std::string text, ToText(param, value, sensitive));
  const std::string digest = absl::AsciiStrToLower(text);
  if (digest.size() != 64 || digest.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return Wrong(param, "a SHA-256 of 64 hexadecimal digits (sha256sum FILE prints it)");
  }
  SetBytes(param, digest, resource);
  return absl::OkStatus();
}

absl::Status SetArgv(const Param& param, const Value& value, pb::Message* resource,
                     bool* sensitive) {
  if (!value.is_array()) {
    return Wrong(param, absl::StrCat("a list, a program and its arguments, not ", Shown(value),
                                     ": no shell reads it"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToTexts(param, value, sensitive));
  if (texts.empty() || texts[0].empty()) return Wrong(param, "a list that begins with a program");
  const auto has_path = [](const std::string& text) { return absl::StrContains(text, "%s"); };
  if (param.type == ParamType::kValidate && !absl::c_any_of(texts, has_path)) {
    return Wrong(param, "a list with \"%s\", which stands for the path of the new content");
  }
  return SetTexts(param, texts, resource);
}

absl::Status SetTextList(const Param& param, const Value& value, pb::Message* resource,
                         bool* sensitive) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToTexts(param, value, sensitive));
  if (std::find(texts.begin(), texts.end(), "") != texts.end()) {
    return Wrong(param, "a list without empty texts");
  }
  if (param.type == ParamType::kWholeList && texts.empty()) {
    const std::string field = absl::StrCat("no_", param.field);
    resource->GetReflection()->SetBool(resource, resource->GetDescriptor()->FindFieldByName(field),
                                       true);
  }
  return SetTexts(param, texts, resource);
}

// A message never shows more than the beginning of a URL: it may contain a password.
absl::Status SetUrls(const Param& param, const Value& value, pb::Message* resource,
                     bool* sensitive) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, ToTexts(param, value, sensitive));
  for (const std::string& text : texts) {
    const bool blank = absl::c_any_of(
        text, [](char c) { return absl::ascii_isspace(c) || absl::ascii_iscntrl(c); });
    if (blank || !(absl::StartsWith(text, "http://") || absl::StartsWith(text, "https://"))) {
      return Wrong(param, "urls that begin with http:// or https:// and hold no blanks");
    }
  }
  return SetTexts(param, texts, resource);
}

absl::Status SetTextMap(const Param& param, const Value& value, pb::Message* resource,
                        bool* sensitive) {
  if (!value.is_object()) return Wrong(param, absl::StrCat("a map, not ", Shown(value)));
  const pb::FieldDescriptor& field = Field(param, *resource);
  for (const auto& [key, element] : value.items()) {
    ASSIGN_OR_RETURN(const std::string text, ToText(param, element, sensitive));
    pb::Message* entry = resource->GetReflection()->AddMessage(resource, &field);
    const pb::Descriptor& type = *entry->GetDescriptor();
    entry->GetReflection()->SetString(entry, type.map_key(), key);
    entry->GetReflection()->SetString(entry, type.map_value(), text);
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::playbook
