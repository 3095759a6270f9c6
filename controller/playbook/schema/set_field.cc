// Sets the fields of plan.proto from template values, by reflection: the schema's tables name the
// fields.
#include <set>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/playbook/schema/field_types.h"
#include "controller/playbook/schema/given.h"
#include "controller/playbook/schema/schema.h"

namespace muster::controller::playbook {

namespace pb = google::protobuf;

namespace {

// Reads one map of a list from a template: there is no place in a file to point to.
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
    case ParamType::kWholeList:
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
  return absl::InternalError(absl::StrCat("'", param.key, "' is not a value"));
}

pb::Message* MutableResource(const ResourceType& type, pb::Message* step) {
  const pb::FieldDescriptor* field = step->GetDescriptor()->FindFieldByName(type.key);
  return step->GetReflection()->MutableMessage(step, field);
}

}  // namespace muster::controller::playbook
