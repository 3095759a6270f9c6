#include "controller/template/values.h"

#include <string.h>
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/folded_value.h"

namespace muster::tmpl {
namespace {

size_t CharacterLength(absl::string_view text) {
  const unsigned char lead = static_cast<unsigned char>(text[0]);
  const size_t want = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  size_t length = 1;
  while (length < want && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    ++length;
  }
  return length;
}

absl::Status NotOrderable(const Value& a, const Value& b) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot order ", TypeName(a), " and ", TypeName(b)));
}

template <typename T>
int ThreeWay(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

std::string TypeName(const Value& value) {
  if (IsSecret(value)) return "secret";
  switch (value.type()) {
    case Value::value_t::null:
      return "none";
    case Value::value_t::boolean:
      return "boolean";
    case Value::value_t::string:
      return "string";
    case Value::value_t::array:
      return "list";
    case Value::value_t::object:
      return "dictionary";
    case Value::value_t::number_float:
      return "float";
    case Value::value_t::binary:
      return "binary";
    default:
      return "integer";
  }
}

bool IsText(const Value& value) { return value.is_string() || IsSecret(value); }

bool IsNumber(const Value& value) { return value.is_number() || value.is_boolean(); }

bool ToInteger(const Value& value, int64_t* out) {
  if (value.is_boolean()) {
    *out = value.get<bool>() ? 1 : 0;
    return true;
  }
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return false;
  if (!value.is_number_integer()) return false;
  *out = value.get<int64_t>();
  return true;
}

double ToDouble(const Value& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.get<double>();
}

absl::string_view PeekText(const Value& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  const Value::binary_t& bytes = value.get_binary();
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::string_view Text(Context& context, const Value& value) {
  if (IsSecret(value)) context.tainted = true;
  return PeekText(value);
}

size_t FindText(absl::string_view text, absl::string_view wanted, size_t from) {
  const absl::string_view rest = text.substr(from);
  const void* const found = ::memmem(rest.data(), rest.size(), wanted.data(), wanted.size());
  if (found == nullptr) return absl::string_view::npos;
  return from + static_cast<size_t>(static_cast<const char*>(found) - rest.data());
}

bool Truth(const Value& value) {
  if (IsText(value)) return !PeekText(value).empty();
  if (IsNumber(value)) return ToDouble(value) != 0;
  return !value.is_null() && !value.empty();
}

bool Equal(Context& context, const Value& a, const Value& b, int depth) {
  if (!context.budget.Enter(depth) || !context.budget.Spend(1)) return false;
  if (IsFolded(a)) return Equal(context, SpendUnfold(context, a), b, depth);
  if (IsFolded(b)) return Equal(context, a, SpendUnfold(context, b), depth);
  if (IsText(a) && IsText(b))
    return PeekText(a).size() == PeekText(b).size() &&
           context.budget.SpendScan(PeekText(a).size()) && PeekText(a) == PeekText(b);
  if (IsNumber(a) && IsNumber(b)) {
    int64_t x = 0, y = 0;
    if (ToInteger(a, &x) && ToInteger(b, &y)) return x == y;
    return ToDouble(a) == ToDouble(b);
  }
  if (a.is_array() && b.is_array()) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](const Value& x, const Value& y) {
             return Equal(context, x, y, depth + 1);
           });
  }
  if (a.is_object() && b.is_object()) {
    if (a.size() != b.size()) return false;
    for (auto entry = a.begin(); entry != a.end(); ++entry) {
      if (!context.budget.Spend(b.size())) return false;
      const auto other = b.find(entry.key());
      if (other == b.end() || !Equal(context, *entry, *other, depth + 1)) return false;
    }
    return true;
  }
  return a.is_null() && b.is_null();
}

absl::StatusOr<int> Compare(Context& context, const Value& a, const Value& b, int depth) {
  if (!context.budget.Enter(depth) || !context.budget.Spend(1)) return context.budget.status();
  if (IsText(a) && IsText(b)) {
    context.budget.SpendScan(std::min(PeekText(a).size(), PeekText(b).size()));
    return ThreeWay(PeekText(a), PeekText(b));
  }
  if (IsNumber(a) && IsNumber(b)) {
    int64_t x = 0, y = 0;
    if (ToInteger(a, &x) && ToInteger(b, &y)) return ThreeWay(x, y);
    return ThreeWay(ToDouble(a), ToDouble(b));
  }
  if (!a.is_array() || !b.is_array()) return NotOrderable(a, b);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (Equal(context, a[i], b[i], depth + 1)) continue;
    return Compare(context, a[i], b[i], depth + 1);
  }
  return ThreeWay(a.size(), b.size());
}

absl::StatusOr<bool> Contains(Context& context, const Value& container, const Value& item) {
  if (IsText(container)) {
    if (!IsText(item)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'in' a string needs a string on its left, not ", TypeName(item)));
    }
    context.budget.SpendScan(PeekText(container).size() + PeekText(item).size());
    return FindText(PeekText(container), PeekText(item)) != absl::string_view::npos;
  }
  if (container.is_object()) {
    context.budget.Spend(container.size() / 8);
    return IsText(item) && container.contains(std::string(PeekText(item)));
  }
  if (container.is_array()) {
    return std::any_of(container.begin(), container.end(),
                       [&](const Value& element) { return Equal(context, element, item); });
  }
  return absl::InvalidArgumentError(absl::StrCat("nothing is 'in' ", TypeName(container)));
}

absl::StatusOr<int64_t> Length(const Value& value) {
  if (IsText(value)) {
    const absl::string_view text = PeekText(value);
    int64_t count = 0;
    for (size_t at = 0; at < text.size(); at += CharacterLength(text.substr(at))) ++count;
    return count;
  }
  if (value.is_structured()) return static_cast<int64_t>(value.size());
  return absl::InvalidArgumentError(absl::StrCat(TypeName(value), " has no length"));
}

std::vector<absl::string_view> Characters(absl::string_view text) {
  std::vector<absl::string_view> out;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

absl::StatusOr<std::vector<ValuePtr>> Elements(Context& context, const ValuePtr& value) {
  std::vector<ValuePtr> out;
  if (value->is_array()) {
    if (!context.budget.Spend(value->size())) return context.budget.status();
    out.reserve(value->size());
    for (const Value& element : *value) out.push_back(PartOf(value, element));
    return out;
  }
  if (value->is_object()) {
    if (!context.budget.Spend(value->size())) return context.budget.status();
    for (auto entry = value->begin(); entry != value->end(); ++entry) {
      out.push_back(NewValue(entry.key()));
    }
    return out;
  }
  if (!IsText(*value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(TypeName(*value), " cannot be iterated; a list, dictionary or string can"));
  }
  if (!context.budget.Spend(PeekText(*value).size())) return context.budget.status();
  for (const absl::string_view character : Characters(PeekText(*value))) {
    out.push_back(
        NewValue(IsSecret(*value) ? MakeSecret(character) : Value(std::string(character))));
  }
  return out;
}

void SpendCopy(Context& context, const Value& value, int depth) {
  if (!context.budget.Enter(depth)) return;
  if (IsText(value)) {
    context.budget.Spend(1 + PeekText(value).size() / 256);
    return;
  }
  if (IsFolded(value)) {
    context.budget.Spend(1 + FoldedBytes(value) / 256);
    return;
  }
  if (!context.budget.Spend(1) || !value.is_structured()) return;
  for (const Value& element : value) {
    SpendCopy(context, element, depth + 1);
    if (!context.budget.status().ok()) return;
  }
}

Value MakeList(Context& context, const std::vector<ValuePtr>& elements) {
  Value out = Value::array();
  for (const ValuePtr& element : elements) {
    SpendCopy(context, *element, 1);
    if (!context.budget.status().ok()) return Value::array();
    out.push_back(*element);
  }
  return out;
}

ValuePtr PickElements(Context& context, ValuePtr list, const std::vector<size_t>& places) {
  if (list.use_count() == 1) {
    // No value is made const, see NewValue(); those of others are referred to by their owners, too.
    auto& elements = const_cast<Value&>(*list).get_ref<Value::array_t&>();
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] != i) elements[i] = std::move(elements[places[i]]);
    }
    elements.resize(places.size());
    return list;
  }
  std::vector<ValuePtr> picked;
  for (const size_t place : places) picked.push_back(PartOf(list, (*list)[place]));
  return NewValue(MakeList(context, picked));
}

Value Seal(Context& context, const Value& value) {
  if (IsFolded(value)) return Seal(context, SpendUnfold(context, value));
  if (value.is_string()) return MakeSecret(PeekText(value));
  if (value.is_number()) return MakeSecret(ToText(context, value));
  if (!value.is_structured()) return value;
  Value out = value;
  for (Value& element : out) element = Seal(context, element);
  return out;
}

namespace {

// Objects keep their entries in order and are searched linearly: with thousands of nodes
// `nodes[name]` needs a shortcut. Remembers, per thread, where the keys of the last large object
// were. An entry is checked before it is used, so outdated positions only cost time.
class KeyIndex {
 public:
  static constexpr size_t kWorthIt = 64;

  // The entry, or nullptr when the shortcut does not know.
  const Value* Find(const Value::object_t& entries, absl::string_view key) {
    if (entries_ != &entries || size_ != entries.size()) {
      places_.clear();
      places_.reserve(entries.size());
      for (auto entry = entries.begin(); entry != entries.end(); ++entry)
        places_.try_emplace(absl::HashOf(absl::string_view(entry->first)), entry - entries.begin());
      entries_ = &entries;
      size_ = entries.size();
    }
    const auto found = places_.find(absl::HashOf(key));
    if (found == places_.end()) return nullptr;
    const auto entry = entries.begin() + found->second;
    return entry->first == key ? &entry->second : nullptr;
  }

 private:
  const void* entries_ = nullptr;
  size_t size_ = 0;
  absl::flat_hash_map<size_t, std::ptrdiff_t> places_;
};

// What was unfolded last, per thread and by content: a template looks at a node's GPUs several
// times, and the processors of thousands of nodes are the same.
class LastUnfolded {
 public:
  ValuePtr Find(const Value& folded) {
    const Value::binary_t& binary = folded.get_binary();
    const absl::string_view bytes(reinterpret_cast<const char*>(binary.data()), binary.size());
    const auto found = values_.find(bytes);
    if (found != values_.end()) return found->second;
    if (bytes_ + bytes.size() > kMaxBytes) {
      values_.clear();
      bytes_ = 0;
    }
    ValuePtr value = NewValue(Unfold(folded));
    if (bytes.size() <= kMaxBytes) {
      values_.emplace(bytes, value);
      bytes_ += bytes.size();
    }
    return value;
  }

 private:
  static constexpr size_t kMaxBytes = 64 << 10;  // folded; some ten times as much unfolded
  absl::flat_hash_map<std::string, ValuePtr> values_;
  size_t bytes_ = 0;
};

// Making a value takes one or two steps, and it has some ten bytes when folded.
bool SpendUnfolding(Context& context, const Value& folded) {
  if (const Value* const lent = LentValue(folded)) {
    SpendCopy(context, *lent);
    return context.budget.status().ok();
  }
  return context.budget.Spend(1 + FoldedBytes(folded) / 4);
}

}  // namespace

Value SpendUnfold(Context& context, const Value& folded) {
  return SpendUnfolding(context, folded) ? Unfold(folded) : Value();
}

Value SpendUnfoldAll(Context& context, Value value) {
  if (IsFolded(value)) {
    const bool is_lent = LentValue(value) != nullptr;
    value = SpendUnfold(context, value);
    if (!is_lent) return value;  // nothing in it is folded
  }
  if (value.is_structured()) {
    for (Value& element : value) element = SpendUnfoldAll(context, std::move(element));
  }
  return value;
}

// What is remembered is charged as well: whether a template stays within its limits does not depend
// on what the thread has done before.
ValuePtr EntryOf(Context& context, const ValuePtr& object, const Value& entry) {
  if (!IsFolded(entry)) return PartOf(object, entry);
  if (const Value* const lent = LentValue(entry)) {
    return ValuePtr(std::shared_ptr<void>(), lent);  // outlives all that refer to it
  }
  if (!SpendUnfolding(context, entry)) return NewValue(Value());
  thread_local LastUnfolded last;
  return last.Find(entry);
}

ValuePtr FindKey(Context& context, const ValuePtr& object, absl::string_view key) {
  if (!object->is_object()) return nullptr;
  const auto& entries = object->get_ref<const Value::object_t&>();
  if (entries.size() >= KeyIndex::kWorthIt) {
    thread_local KeyIndex index;
    if (const Value* value = index.Find(entries, key)) return EntryOf(context, object, *value);
  }
  for (const auto& entry : entries) {
    if (entry.first == key) return EntryOf(context, object, entry.second);
  }
  return nullptr;
}

ValuePtr FindItem(Context& context, const ValuePtr& object, const Value& index) {
  if (IsText(index)) return FindKey(context, object, PeekText(index));
  int64_t at = 0;
  if (!ToInteger(index, &at)) return nullptr;
  if (object->is_array()) {
    const int64_t size = static_cast<int64_t>(object->size());
    if (at < 0) at += size;
    return at >= 0 && at < size ? PartOf(object, (*object)[static_cast<size_t>(at)]) : nullptr;
  }
  if (!IsText(*object)) return nullptr;
  const absl::string_view text = Text(context, *object);
  context.budget.Spend(text.size() / 64);
  const std::vector<absl::string_view> characters = Characters(text);
  const int64_t size = static_cast<int64_t>(characters.size());
  if (at < 0) at += size;
  if (at < 0 || at >= size) return nullptr;
  return NewValue(std::string(characters[static_cast<size_t>(at)]));
}

absl::StatusOr<ValuePtr> Slice(Context& context, const ValuePtr& object, const Value* start,
                               const Value* stop, const Value* step) {
  if (!object->is_array() && !IsText(*object)) {
    return absl::InvalidArgumentError(absl::StrCat(TypeName(*object), " cannot be sliced"));
  }
  int64_t by = 1, from = 0, to = 0;
  for (const auto& [bound, out] :
       {std::pair(start, &from), std::pair(stop, &to), std::pair(step, &by)}) {
    if (bound != nullptr && !bound->is_null() && !ToInteger(*bound, out)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a slice needs integers, not ", TypeName(*bound)));
    }
  }
  if (by == 0) return absl::InvalidArgumentError("the step of a slice cannot be 0");
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(context, object));
  const int64_t size = static_cast<int64_t>(elements.size());
  by = std::clamp(by, -size - 1, size + 1);
  const int64_t lowest = by > 0 ? 0 : -1;
  const int64_t highest = by > 0 ? size : size - 1;
  const auto place = [&](const Value* bound, int64_t at, int64_t otherwise) {
    if (bound == nullptr || bound->is_null()) return otherwise;
    return std::clamp(at < 0 ? std::max(at, -size - 1) + size : at, lowest, highest);
  };
  from = place(start, from, by > 0 ? lowest : highest);
  to = place(stop, to, by > 0 ? highest : lowest);
  std::vector<ValuePtr> picked;
  for (int64_t at = from; by > 0 ? at < to : at > to; at += by) {
    picked.push_back(elements[static_cast<size_t>(at)]);
  }
  if (object->is_array()) return NewValue(MakeList(context, picked));
  std::string text;
  for (const ValuePtr& character : picked) absl::StrAppend(&text, Text(context, *character));
  return NewValue(text);
}

}  // namespace muster::tmpl
