#include "common/value/folded_value.h"

#include <cassert>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

constexpr std::uint64_t kFoldedSubtype = 2;

}  // namespace

Value Fold(const Value& value) {
  assert(!ContainsSecret(value));
  return Value::binary(Value::to_msgpack(value), kFoldedSubtype);
}

bool IsFolded(const Value& value) {
  if (!value.is_binary()) return false;
  const Value::binary_t& binary = value.get_binary();
  return binary.has_subtype() && binary.subtype() == kFoldedSubtype;
}

size_t FoldedBytes(const Value& value) { return value.get_binary().size(); }

Value Unfold(const Value& value) {
  assert(IsFolded(value));
  return Value::from_msgpack(value.get_binary(), /*strict=*/true, /*allow_exceptions=*/false);
}

Value UnfoldAll(Value value) {
  if (IsFolded(value)) return Unfold(value);
  if (value.is_structured()) {
    for (Value& element : value) element = UnfoldAll(std::move(element));
  }
  return value;
}

}  // namespace muster
