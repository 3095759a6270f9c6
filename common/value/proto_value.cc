#include "common/value/proto_value.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"

namespace muster {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Json = nlohmann::ordered_json;

// RunState, RUN_STATE_RUNNING → "running".
std::string EnumWord(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (absl::ascii_isupper(c) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(c);
  }
  prefix += '_';
  return absl::AsciiStrToLower(absl::StripPrefix(value.name(), prefix));
}

// To people 33.3f is 33.3, not 33.299999.
double Shortest(float value) { return std::strtod(absl::StrCat(value).c_str(), nullptr); }

Json TimestampValue(const google::protobuf::Timestamp& time) {
  return absl::FormatTime(absl::RFC3339_full, ToTime(time), absl::UTCTimeZone());
}

Json DurationValue(const google::protobuf::Duration& duration) {
  if (duration.nanos() == 0) return duration.seconds();
  return static_cast<double>(duration.seconds()) + duration.nanos() / 1e9;
}

// The two well-known types, by their generated class if the message is an instance of it, by
// reflection if it is dynamic.
template <typename T>
T As(const Message& message) {
  T out;
  out.ParseFromString(message.SerializeAsString());
  return out;
}

Json MessageValue(const Message& message) {
  const std::string& name = message.GetDescriptor()->full_name();
  if (name == "google.protobuf.Timestamp") {
    return TimestampValue(As<google::protobuf::Timestamp>(message));
  }
  if (name == "google.protobuf.Duration") {
    return DurationValue(As<google::protobuf::Duration>(message));
  }
  return ProtoToValue(message);
}

Json StringValue(const FieldDescriptor& field, const std::string& text) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) return absl::Base64Escape(text);
  return text;
}

Json SingleValue(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Shortest(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumWord(*reflection.GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return StringValue(field, reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(reflection.GetMessage(message, &field));
  }
  return nullptr;
}

Json ElementValue(const Message& message, const FieldDescriptor& field, int i) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetRepeatedInt32(message, &field, i);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetRepeatedInt64(message, &field, i);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetRepeatedUInt32(message, &field, i);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetRepeatedUInt64(message, &field, i);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetRepeatedDouble(message, &field, i);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Shortest(reflection.GetRepeatedFloat(message, &field, i));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetRepeatedBool(message, &field, i);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumWord(*reflection.GetRepeatedEnum(message, &field, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return StringValue(field, reflection.GetRepeatedString(message, &field, i));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(reflection.GetRepeatedMessage(message, &field, i));
  }
  return nullptr;
}

// Sorted by key, because the order of a protobuf map changes from run to run.
Json MapValue(const Message& message, const FieldDescriptor& field) {
  std::vector<std::pair<std::string, Json>> entries;
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const Json key = SingleValue(entry, *field.message_type()->map_key());
    entries.emplace_back(key.is_string() ? key.get<std::string>() : key.dump(),
                         SingleValue(entry, *field.message_type()->map_value()));
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  Json out = Json::object();
  for (auto& [key, value] : entries) out[key] = std::move(value);
  return out;
}

Json RepeatedValue(const Message& message, const FieldDescriptor& field) {
  Json out = Json::array();
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) out.push_back(ElementValue(message, field, i));
  return out;
}

}  // namespace

Json FieldValue(const Message& message, const FieldDescriptor& field) {
  if (field.is_map()) return MapValue(message, field);
  if (field.is_repeated()) return RepeatedValue(message, field);
  return SingleValue(message, field);
}

Json ProtoToValue(const Message& message) {
  Json out = Json::object();
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!field.has_presence() || message.GetReflection()->HasField(message, &field)) {
      out[field.name()] = FieldValue(message, field);
    } else if (field.real_containing_oneof() == nullptr) {
      out[field.name()] = nullptr;
    }
  }
  return out;
}

}  // namespace muster
