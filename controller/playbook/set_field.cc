// From template values to the fields of plan.proto, by reflection: the schema's tables name the
// fields.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <re2/re2.h>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/nearest_word.h"
#include "common/base/status.h"
#include "controller/playbook/given.h"
#include "controller/playbook/schema.h"

namespace muster::controller::playbook {
namespace {

namespace pb = google::protobuf;

constexpr uint32_t kMaxMode = 07777;
constexpr int64_t kMaxNumber = 0xFFFFFFFF;
constexpr int32_t kMaxPriority = 32767;

const pb::FieldDescriptor& Field(const Param& param, const pb::Message& resource) {
  return *resource.GetDescriptor()->FindFieldByName(param.field);
}

absl::Status Wrong(const Param& param, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("'", param.key, "' must be ", expected));
}

std::string Shown(const Value& value) {
  if (IsSecret(value)) return "a secret";
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  if (value.is_null()) return "none";
  return value.dump(-1, ' ', false, Value::error_handler_t::replace).substr(0, 80);
}

bool IsUtf8(absl::string_view text) {
  // The JSON writer checks; its answer to broken text is a replacement character.
  const std::string raw(text);
  const Value value(raw);
  return Value::parse(value.dump(-1, ' ', false, Value::error_handler_t::replace))
             .get_ref<const std::string&>() == raw;
}

absl::StatusOr<std::string> ToText(const Param& param, const Value& value, bool* sensitive) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos) return Wrong(param, "text without NUL characters");
    return text;
  }
  if (value.is_number_integer()) return absl::StrCat(value.get<int64_t>());
  if (IsSecret(value)) {
    if (!param.takes_secret) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", param.key, "' cannot hold a secret: it is shown to people"));
    }
    std::string text = SecretBytes(value);
    if (!IsUtf8(text) || text.find('\0') != std::string::npos) {
      return Wrong(param, "text, but the secret holds other bytes");
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

absl::Status SetText(const Param& param, const Value& value, pb::Message* resource,
                     bool* sensitive) {
  ASSIGN_OR_RETURN(std::string text, ToText(param, value, sensitive));
  if (text.empty() && param.required) return Wrong(param, "more than empty text");
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

// PACKAGE_STATE_LATEST of an enum whose zero is PACKAGE_STATE_UNSPECIFIED: "latest".
std::string Word(const pb::EnumValueDescriptor& value) {
  const std::string& zero = value.type()->value(0)->name();
  const size_t prefix = zero.size() - std::string("UNSPECIFIED").size();
  return absl::AsciiStrToLower(absl::string_view(value.name()).substr(prefix));
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

absl::Status SetNumber(const Param& param, const Value& value, pb::Message* resource) {
  int64_t number = -1;
  const bool whole =
      value.is_number_integer()
          ? (number = value.get<int64_t>(), true)
          : value.is_string() && absl::SimpleAtoi(value.get_ref<const std::string&>(), &number);
  if (!whole || number < 0 || number > kMaxNumber) {
    return Wrong(param,
                 absl::StrCat("a whole number from 0 to ", kMaxNumber, ", not ", Shown(value)));
  }
  const pb::FieldDescriptor& field = Field(param, *resource);
  if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_UINT64) {
    resource->GetReflection()->SetUInt64(resource, &field, static_cast<uint64_t>(number));
  } else {
    resource->GetReflection()->SetUInt32(resource, &field, static_cast<uint32_t>(number));
  }
  return absl::OkStatus();
}

absl::Status SetSize(const Param& param, const Value& value, pb::Message* resource) {
  constexpr uint64_t kMost = uint64_t{1} << 50;
  static constexpr std::pair<absl::string_view, int> kUnits[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  absl::string_view digits = text;
  int shift = 0;
  for (const auto& [unit, bits] : kUnits) {
    if (absl::ConsumeSuffix(&digits, unit)) shift = bits;
  }
  uint64_t number = 0;
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &number) || number == 0 || number > kMost >> shift) {
    return Wrong(param, absl::StrCat("a size such as \"500MiB\" or \"8GiB\", not ", Shown(value)));
  }
  resource->GetReflection()->SetUInt64(resource, &Field(param, *resource), number << shift);
  return absl::OkStatus();
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

absl::Status SetPriority(const Param& param, const Value& value, pb::Message* resource) {
  int32_t number = 0;
  const bool whole =
      value.is_number_integer()
          ? (number = static_cast<int32_t>(
                 std::clamp<int64_t>(value.get<int64_t>(), -kMaxPriority - 1, kMaxPriority + 1)),
             true)
          : value.is_string() && absl::SimpleAtoi(value.get_ref<const std::string&>(), &number);
  if (!whole || number == 0 || number < -kMaxPriority || number > kMaxPriority) {
    return Wrong(param, absl::StrCat("a whole number from ", -kMaxPriority, " to ", kMaxPriority,
                                     " and not 0, not ", Shown(value)));
  }
  resource->GetReflection()->SetInt32(resource, &Field(param, *resource), number);
  return absl::OkStatus();
}

absl::Status SetMode(const Param& param, const Value& value, pb::Message* resource) {
  uint32_t mode = 0;
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const bool octal = text.size() >= 3 && text.size() <= 5 &&
                     absl::c_all_of(text, [](char c) { return c >= '0' && c <= '7'; });
  for (const char c : text) mode = octal ? mode * 8 + static_cast<uint32_t>(c - '0') : 0;
  if (!octal || mode > kMaxMode) {
    return Wrong(param, absl::StrCat("a quoted octal string such as \"0644\", not ", Shown(value)));
  }
  resource->GetReflection()->SetUInt32(resource, &Field(param, *resource), mode);
  return absl::OkStatus();
}

absl::Status SetBool(const Param& param, const Value& value, pb::Message* resource) {
  if (!value.is_boolean()) {
    return Wrong(param, absl::StrCat("true or false, not ", Shown(value)));
  }
  if (param.type == ParamType::kFalse && value.get<bool>()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", param.key,
                     ": true' is not a promise: say when there is nothing to do "
                     "with creates or unless"));
  }
  resource->GetReflection()->SetBool(resource, &Field(param, *resource),
                                     param.type == ParamType::kFalse || value.get<bool>());
  return absl::OkStatus();
}

absl::Status SetDuration(const Param& param, const Value& value, pb::Message* resource) {
  absl::Duration duration;
  if (!value.is_string() || !absl::ParseDuration(value.get_ref<const std::string&>(), &duration) ||
      duration < absl::ZeroDuration() || duration > absl::Hours(24 * 365)) {
    return Wrong(param, absl::StrCat("a duration with its unit such as \"30s\" or \"5m\", not ",
                                     Shown(value)));
  }
  pb::Message* message =
      resource->GetReflection()->MutableMessage(resource, &Field(param, *resource));
  const pb::Descriptor& type = *message->GetDescriptor();
  const int64_t seconds = absl::IDivDuration(duration, absl::Seconds(1), &duration);
  message->GetReflection()->SetInt64(message, type.FindFieldByName("seconds"), seconds);
  message->GetReflection()->SetInt32(message, type.FindFieldByName("nanos"),
                                     static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
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
  return SetTexts(param, texts, resource);
}

// A message never shows more of a url than its beginning: it may hold a password.
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

// One map of a list that a template gave: there is no place in a file to point at.
absl::Status SetElement(const Param& param, const Value& value, pb::Message* element,
                        bool* sensitive) {
  if (!value.is_object()) return Wrong(param, absl::StrCat("a list of maps, not ", Shown(value)));
  for (const auto& [key, part] : value.items()) {
    const Param* row = FindParam(param.elements, key);
    if (row == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("unknown key '", key, "' in an entry of '",
                                                     param.key, "'",
                                                     DidYouMean(key, KeysOf(param.elements))));
    }
    if (row->type == ParamType::kTemplateFile || row->type == ParamType::kRoleFile) {
      return absl::InvalidArgumentError(absl::StrCat("'", param.key,
                                                     "' has to be written out where "
                                                     "its entries have '",
                                                     key, "'"));
    }
    RETURN_IF_ERROR(SetField(*row, part, element, sensitive));
  }
  const auto wrong = [&param](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("an entry of '", param.key, "' ", what));
  };
  const GivenValues given(value);
  for (const Param& row : param.elements) {
    if (row.required && !given.Has(row.key)) return wrong(absl::StrCat("lacks '", row.key, "'"));
  }
  const std::string why = param.check_element == nullptr ? "" : param.check_element(given);
  return why.empty() ? absl::OkStatus() : wrong(why);
}

absl::Status SetMapList(const Param& param, const Value& value, pb::Message* resource,
                        bool* sensitive) {
  resource->GetReflection()->ClearField(resource, &Field(param, *resource));
  if (value.is_object()) return SetElement(param, value, AddElement(param, resource), sensitive);
  if (!value.is_array()) return Wrong(param, absl::StrCat("a list of maps, not ", Shown(value)));
  for (const Value& element : value) {
    RETURN_IF_ERROR(SetElement(param, element, AddElement(param, resource), sensitive));
  }
  return CheckElementsDiffer(param, *resource);
}

}  // namespace

absl::Status CheckElementsDiffer(const Param& param, const pb::Message& resource) {
  if (!param.elements_differ) return absl::OkStatus();
  const pb::FieldDescriptor& list = Field(param, resource);
  const Param& key = param.elements.front();
  std::set<std::string> seen;
  for (int i = 0; i < resource.GetReflection()->FieldSize(resource, &list); ++i) {
    const pb::Message& element = resource.GetReflection()->GetRepeatedMessage(resource, &list, i);
    const std::string text = element.GetReflection()->GetString(element, &Field(key, element));
    if (seen.insert(text).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", param.key, "' has a second entry with ", key.key, " '", text, "'"));
  }
  return absl::OkStatus();
}

pb::Message* AddElement(const Param& param, pb::Message* resource) {
  return resource->GetReflection()->AddMessage(resource, &Field(param, *resource));
}

pb::Message* MutableElement(const Param& param, size_t index, pb::Message* resource) {
  return resource->GetReflection()->MutableRepeatedMessage(resource, &Field(param, *resource),
                                                           static_cast<int>(index));
}

void SetBytes(const Param& param, absl::string_view bytes, pb::Message* resource) {
  const pb::FieldDescriptor& field = Field(param, *resource);
  if (field.is_repeated()) {
    resource->GetReflection()->AddString(resource, &field, std::string(bytes));
  } else {
    resource->GetReflection()->SetString(resource, &field, std::string(bytes));
  }
}

absl::Status SetField(const Param& param, const Value& value, pb::Message* resource,
                      bool* sensitive) {
  if (value.is_null()) return absl::OkStatus();
  switch (param.type) {
    case ParamType::kText:
    case ParamType::kPath:
    case ParamType::kFileName:
    case ParamType::kRegex:
    case ParamType::kUnitName:
      return SetText(param, value, resource, sensitive);
    case ParamType::kWord:
      return SetWord(param, value, resource, sensitive);
    case ParamType::kBool:
    case ParamType::kFalse:
      return SetBool(param, value, resource);
    case ParamType::kNumber:
      return SetNumber(param, value, resource);
    case ParamType::kMode:
      return SetMode(param, value, resource);
    case ParamType::kSize:
      return SetSize(param, value, resource);
    case ParamType::kSha256:
      return SetSha256(param, value, resource, sensitive);
    case ParamType::kUrls:
      return SetUrls(param, value, resource, sensitive);
    case ParamType::kDuration:
      return SetDuration(param, value, resource);
    case ParamType::kTextList:
      return SetTextList(param, value, resource, sensitive);
    case ParamType::kArgv:
    case ParamType::kValidate:
      return SetArgv(param, value, resource, sensitive);
    case ParamType::kTextMap:
      return SetTextMap(param, value, resource, sensitive);
    case ParamType::kContent:
      return SetContent(param, value, resource, sensitive);
    case ParamType::kPriority:
      return SetPriority(param, value, resource);
    case ParamType::kMapList:
      return SetMapList(param, value, resource, sensitive);
    case ParamType::kTemplateFile:
    case ParamType::kRoleFile:
      break;
  }
  return absl::InternalError(absl::StrCat("'", param.key, "' is no value"));
}

pb::Message* MutableResource(const ResourceType& type, pb::Message* step) {
  const pb::FieldDescriptor* field = step->GetDescriptor()->FindFieldByName(type.key);
  return step->GetReflection()->MutableMessage(step, field);
}

}  // namespace muster::controller::playbook
