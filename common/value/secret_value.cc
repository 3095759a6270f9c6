#include "common/value/secret_value.h"

#include <algorithm>
#include <cassert>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

constexpr std::uint64_t kSecretSubtype = 1;
constexpr char kRedacted[] = "[secret]";

}  // namespace

Value MakeSecret(absl::string_view bytes) {
  return Value::binary(Value::binary_t::container_type(bytes.begin(), bytes.end()), kSecretSubtype);
}

bool IsSecret(const Value& value) {
  if (!value.is_binary()) return false;
  const Value::binary_t& binary = value.get_binary();
  return binary.has_subtype() && binary.subtype() == kSecretSubtype;
}

bool ContainsSecret(const Value& value) {
  if (!value.is_structured()) return IsSecret(value);
  return std::any_of(value.begin(), value.end(), ContainsSecret);
}

std::string SecretBytes(const Value& value) {
  assert(IsSecret(value));
  const Value::binary_t& binary = value.get_binary();
  return std::string(binary.begin(), binary.end());
}

Value Redact(const Value& value) {
  if (IsSecret(value)) return kRedacted;
  Value out = value;
  if (value.is_structured()) {
    for (Value& element : out) element = Redact(element);
  }
  return out;
}

}  // namespace muster
