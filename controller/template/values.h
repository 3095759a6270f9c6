// Values with Python's semantics: text, truth, equality, order, length, elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/template/budget.h"

namespace muster::tmpl {

// A value during evaluation. It may point into a larger value, which it keeps alive, so that
// walking the inventory copies nothing. Null stands for undefined.
using ValuePtr = std::shared_ptr<const Value>;

inline ValuePtr NewValue(Value value) { return std::make_shared<Value>(std::move(value)); }
inline ValuePtr PartOf(const ValuePtr& whole, const Value& part) { return ValuePtr(whole, &part); }
// Like PartOf(), for an entry of an object: one that is folded is unfolded. One that is lent is not
// copied.
ValuePtr EntryOf(Context& context, const ValuePtr& object, const Value& entry);

// "integer", "list", …, as used in error messages.
std::string TypeName(const Value& value);

// A string or a secret.
bool IsText(const Value& value);
// Booleans count as 0 and 1, as in Python.
bool IsNumber(const Value& value);
// False when `value` is not a signed 64-bit integer (or a boolean).
bool ToInteger(const Value& value, int64_t* out);
// REQUIRES: IsNumber(value).
double ToDouble(const Value& value);

// The bytes of a string or secret, without tainting: for comparisons, never for output.
absl::string_view PeekText(const Value& value);
// The bytes of a string or secret; a secret taints the context. REQUIRES: IsText(value).
absl::string_view Text(Context& context, const Value& value);
// str(value): strings as they are, everything else as Python prints it.
std::string ToText(Context& context, const Value& value);
void AppendText(Context& context, const Value& value, std::string* out);
// repr(value): strings quoted.
void AppendRepr(Context& context, const Value& value, std::string* out, int depth = 0);
// A float as Python prints it: the shortest form that reads back the same.
std::string FloatText(double value);

bool Truth(const Value& value);
bool Equal(Context& context, const Value& a, const Value& b, int depth = 0);
// Negative, zero or positive; an error when Python could not order the two.
absl::StatusOr<int> Compare(Context& context, const Value& a, const Value& b, int depth = 0);
absl::StatusOr<bool> Contains(Context& context, const Value& container, const Value& item);

// In characters, entries or elements.
absl::StatusOr<int64_t> Length(const Value& value);
// Where `wanted` begins in the text, at `from` or later; npos: nowhere. In linear time.
size_t FindText(absl::string_view text, absl::string_view wanted, size_t from = 0);
// The elements that a for loop iterates over: elements, keys, or characters.
absl::StatusOr<std::vector<ValuePtr>> Elements(Context& context, const ValuePtr& value);
// A list of copies; charges their size.
Value MakeList(Context& context, const std::vector<ValuePtr>& elements);
// The list of the elements of `list` at `places`, which rise. Takes over a list to which nobody
// else refers, and copies them otherwise, like MakeList().
ValuePtr PickElements(Context& context, ValuePtr list, const std::vector<size_t>& places);
// Charges the cost of a copy of `value` and refuses values that are nested too deeply.
void SpendCopy(Context& context, const Value& value, int depth = 0);
// Charges the cost of unfolding, see common/value/folded_value.h. Null when it is too much.
Value SpendUnfold(Context& context, const Value& folded);
// `value` with all folded values in it, at any depth, unfolded; incomplete when it is too much.
Value SpendUnfoldAll(Context& context, Value value);
// `value` with each string, at any depth, made a secret (and numbers by their text).
Value Seal(Context& context, const Value& value);

// The value of the attribute or key, null when there is none.
ValuePtr FindKey(Context& context, const ValuePtr& object, absl::string_view key);
// value[index] with Python's negative indices; null when there is none.
ValuePtr FindItem(Context& context, const ValuePtr& object, const Value& index);
absl::StatusOr<ValuePtr> Slice(Context& context, const ValuePtr& object, const Value* start,
                               const Value* stop, const Value* step);

// The UTF-8 characters of a text; an invalid byte counts as one.
std::vector<absl::string_view> Characters(absl::string_view text);

}  // namespace muster::tmpl
