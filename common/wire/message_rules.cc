#include "common/wire/message_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/plain_text.h"

namespace muster::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

struct Alphabet {
  Letters letters;
  absl::string_view marks;  // besides letters and digits
};
constexpr Alphabet kAlphabets[] = {
    {Letters::kId, "._-/"},  {Letters::kWord, "._-+:~"}, {Letters::kName, "._-+:@!"},
    {Letters::kHost, "._-"}, {Letters::kAddress, ".:/"}, {Letters::kColons, ".:"},
    {Letters::kType, "_.-"}, {Letters::kDevice, "/._-"}, {Letters::kBase64, "+/="},
};

const Alphabet* AlphabetOf(Letters letters) {
  for (const Alphabet& alphabet : kAlphabets) {
    if (alphabet.letters == letters) return &alphabet;
  }
  return nullptr;
}

bool IsFree(Letters letters) { return letters == Letters::kText || letters == Letters::kLine; }

Lines LinesOf(Letters letters) { return letters == Letters::kText ? Lines::kMany : Lines::kOne; }

// The breach of the rule by the text; "": none.
std::string TextBreach(const FieldRule& rule, absl::string_view text) {
  if (text.size() > rule.max_bytes) {
    return absl::StrCat(text.size(), " bytes; at most ", rule.max_bytes);
  }
  if (IsFree(rule.letters)) {
    return IsPlain(text, LinesOf(rule.letters)) ? "" : "contains control characters";
  }
  if (const Alphabet* alphabet = AlphabetOf(rule.letters)) {
    const bool fits = std::all_of(text.begin(), text.end(), [&](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
             alphabet->marks.find(c) != absl::string_view::npos;
    });
    if (!fits) return absl::StrCat("not only letters, digits and '", alphabet->marks, "'");
  }
  if (rule.letters == Letters::kDevice && !text.empty() &&
      (!absl::StartsWith(text, "/dev/") || absl::EndsWith(text, "/") ||
       absl::StrContains(text, ".."))) {
    return "not a path below /dev";
  }
  return "";
}

std::string NumberBreach(const FieldRule* rule, double value) {
  if (!std::isfinite(value)) return "not a number";
  if (rule == nullptr || (value >= rule->least && value <= rule->most)) return "";
  return absl::StrCat(value, "; from ", rule->least, " to ", rule->most);
}

// Whether the message is a Timestamp or a Duration; both have the same two fields.
bool IsTime(const Descriptor& message) {
  return &message == google::protobuf::Timestamp::descriptor() ||
         &message == google::protobuf::Duration::descriptor();
}

bool IsGoodTime(const Message& time) {
  const Descriptor& message = *time.GetDescriptor();
  const int64_t seconds = time.GetReflection()->GetInt64(time, message.field(0));
  const int32_t nanos = time.GetReflection()->GetInt32(time, message.field(1));
  constexpr int64_t kYear1 = -62135596800, kYear9999 = 253402300799,
                    kTenThousandYears = 315576000000;
  if (&message == google::protobuf::Timestamp::descriptor()) {
    return seconds >= kYear1 && seconds <= kYear9999 && nanos >= 0 && nanos < 1'000'000'000;
  }
  return std::abs(seconds) <= kTenThousandYears && std::abs(nanos) < 1'000'000'000 &&
         (seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0));
}

double NumberIn(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return static_cast<double>(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    default:
      return 0;
  }
}

// The breach by a field that is neither a list nor one of our messages; "": none.
std::string ValueBreach(const Message& message, const FieldDescriptor& field,
                        const FieldRule* rule) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      if (rule == nullptr) return "";
      std::string scratch;
      const std::string& text = reflection.GetStringReference(message, &field, &scratch);
      if (text.empty()) return rule->is_required ? "missing" : "";
      return TextBreach(*rule, text);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int word = reflection.GetEnumValue(message, &field);
      if (field.enum_type()->FindValueByNumber(word) == nullptr) return "an unknown word";
      return word == 0 && rule != nullptr && rule->is_required ? "missing" : "";
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return "";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return IsGoodTime(reflection.GetMessage(message, &field)) ? "" : "not a time";
    default:
      return NumberBreach(rule, NumberIn(message, field));
  }
}

bool IsPart(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsTime(*field.message_type());
}

std::string ElementBreach(const FieldRule& rule, const std::string& text) {
  return text.empty() ? "an empty text" : TextBreach(rule, text);
}

struct Breach {
  std::string where;
  std::string what;
  explicit operator bool() const { return !what.empty(); }
};

Breach Below(absl::string_view field, Breach breach) {
  breach.where = absl::StrCat(field, breach.where.empty() ? "" : ".", breach.where);
  return breach;
}

Breach FirstBreach(const Message& message);

Breach FirstBreachOfList(const Message& message, const FieldDescriptor& field,
                         const FieldRule* rule) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  if (rule != nullptr && static_cast<size_t>(size) > rule->max_elements) {
    return {field.name(), absl::StrCat(size, " elements; at most ", rule->max_elements)};
  }
  for (int i = 0; i < size; ++i) {
    Breach breach;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      breach = FirstBreach(reflection.GetRepeatedMessage(message, &field, i));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && rule != nullptr) {
      std::string scratch;
      breach.what =
          ElementBreach(*rule, reflection.GetRepeatedStringReference(message, &field, i, &scratch));
    }
    if (breach) return Below(absl::StrCat(field.name(), "[", i, "]"), std::move(breach));
  }
  return {};
}

Breach FirstBreach(const Message& message) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const FieldRule* rule = RuleOf(field);
    Breach breach;
    if (field.is_repeated()) {
      breach = FirstBreachOfList(message, field, rule);
    } else if (!IsPart(field)) {
      breach = {field.name(), ValueBreach(message, field, rule)};
    } else if (reflection.HasField(message, &field)) {
      breach = Below(field.name(), FirstBreach(reflection.GetMessage(message, &field)));
    }
    if (breach) return breach;
  }
  return {};
}

// Removes the elements of the list for which `is_bad` holds; the order of the others stays.
template <typename IsBad>
void RemoveElements(Message& message, const FieldDescriptor& field, const IsBad& is_bad) {
  const Reflection& reflection = *message.GetReflection();
  int kept = 0;
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    if (is_bad(i)) continue;
    if (kept != i) reflection.SwapElements(&message, &field, kept, i);
    ++kept;
  }
  for (int i = size; i > kept; --i) reflection.RemoveLast(&message, &field);
}

bool HoldsNoNumber(const Message& message) {
  const Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!field.is_repeated() && !std::isfinite(NumberIn(message, field))) return true;
  }
  return false;
}

void CleanText(Message& message, const FieldDescriptor& field, const FieldRule* rule) {
  if (rule == nullptr || !IsFree(rule->letters)) return;
  const Reflection& reflection = *message.GetReflection();
  const auto clean = [&](const std::string& text, const auto& set) {
    if (text.size() > rule->max_bytes || !IsPlain(text, LinesOf(rule->letters)))
      set(PlainText(text, LinesOf(rule->letters), rule->max_bytes));
  };
  std::string scratch;
  if (!field.is_repeated()) {
    return clean(reflection.GetStringReference(message, &field, &scratch), [&](std::string text) {
      reflection.SetString(&message, &field, std::move(text));
    });
  }
  const auto element = [&](int i) -> const std::string& {
    return reflection.GetRepeatedStringReference(message, &field, i, &scratch);
  };
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    clean(element(i), [&](std::string text) {
      reflection.SetRepeatedString(&message, &field, i, std::move(text));
    });
  }
  RemoveElements(message, field, [&](int i) { return element(i).empty(); });
}

void CleanFields(Message& message) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      CleanText(message, field, RuleOf(field));
    } else if (field.is_repeated()) {
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k)
        CleanFields(*reflection.MutableRepeatedMessage(&message, &field, k));
    } else if (!IsPart(field)) {
      if (!ValueBreach(message, field, nullptr).empty()) reflection.ClearField(&message, &field);
    } else if (reflection.HasField(message, &field)) {
      CleanFields(*reflection.MutableMessage(&message, &field));
    }
  }
}

// Before CleanFields(), which replaces a value that is not a number by 0: an element is useless
// without it.
void RemoveElementsWithoutNumber(Message& message) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!IsPart(field)) continue;
    if (!field.is_repeated()) {
      if (reflection.HasField(message, &field))
        RemoveElementsWithoutNumber(*reflection.MutableMessage(&message, &field));
      continue;
    }
    const auto is_bad = [&](int k) {
      return HoldsNoNumber(reflection.GetRepeatedMessage(message, &field, k));
    };
    RemoveElements(message, field, is_bad);
  }
}

using Told = std::function<void(absl::string_view, absl::string_view)>;

// False: the message is useless without the removed part.
bool FitFields(Message& message, const Told& told) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  bool is_whole = true;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const FieldRule* rule = RuleOf(field);
    const Told below = [&](absl::string_view, absl::string_view what) { told(field.name(), what); };
    if (!field.is_repeated() && !IsPart(field)) {
      const std::string what = ValueBreach(message, field, rule);
      if (what.empty()) continue;
      told(field.name(), absl::StrCat(field.name(), ": ", what));
      reflection.ClearField(&message, &field);
      is_whole = is_whole && ValueBreach(message, field, rule).empty();
    } else if (!field.is_repeated()) {
      if (reflection.HasField(message, &field) &&
          !FitFields(*reflection.MutableMessage(&message, &field), below)) {
        reflection.ClearField(&message, &field);
      }
    } else {
      const int size = reflection.FieldSize(message, &field);
      if (rule != nullptr && static_cast<size_t>(size) > rule->max_elements) {
        told(field.name(), absl::StrCat(size, " of ", field.name(), ", of which the first ",
                                        rule->max_elements, " are shown"));
        for (size_t k = static_cast<size_t>(size); k > rule->max_elements; --k)
          reflection.RemoveLast(&message, &field);
      }
      RemoveElements(message, field, [&](int k) {
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          return !FitFields(*reflection.MutableRepeatedMessage(&message, &field, k), below);
        if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING || rule == nullptr) return false;
        std::string scratch;
        const std::string what = ElementBreach(
            *rule, reflection.GetRepeatedStringReference(message, &field, k, &scratch));
        if (!what.empty()) told(field.name(), absl::StrCat(field.name(), ": ", what));
        return !what.empty();
      });
    }
  }
  return is_whole;
}

}  // namespace

const FieldRule* RuleOf(const FieldDescriptor& field) {
  static const auto& rules = *[] {
    auto* all = new absl::flat_hash_map<const FieldDescriptor*, const FieldRule*>;
    const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
    for (const absl::Span<const FieldRule> table : {FactsRules(), NodeRules()}) {
      for (const FieldRule& rule : table)
        all->emplace(pool.FindFieldByName(absl::StrCat("muster.v1.", rule.field)), &rule);
    }
    all->erase(nullptr);  // of messages that this program has no use for
    return all;
  }();
  const auto found = rules.find(&field);
  return found == rules.end() ? nullptr : found->second;
}

absl::Status Check(const Message& message) {
  const Breach breach = FirstBreach(message);
  if (!breach) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(breach.where, ": ", breach.what));
}

void Clean(Message& message) {
  message.DiscardUnknownFields();
  RemoveElementsWithoutNumber(message);
  CleanFields(message);
}

void Fit(Message& message, const Told& told) {
  Clean(message);
  FitFields(message, told);
}

}  // namespace muster::wire
