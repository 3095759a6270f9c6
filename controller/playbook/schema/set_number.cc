// Parameters that are numbers of some kind.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "controller/playbook/schema/field_types.h"
#include "controller/playbook/schema/schema.h"

namespace muster::controller::playbook {
namespace pb = google::protobuf;

namespace {

constexpr uint32_t kMaxMode = 07777;
constexpr int64_t kMaxNumber = 0xFFFFFFFF;
constexpr int32_t kMaxPriority = 32767;

}  // namespace

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
    return absl::InvalidArgumentError(absl::StrCat(
        "'", param.key,
        ": true' promises nothing: use creates or unless to state when there is nothing to do"));
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

}  // namespace muster::controller::playbook
