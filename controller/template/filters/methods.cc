// Methods of dictionaries and strings, and the built-in functions.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

constexpr int64_t kMaxRange = 1'000'000;

FilterResult DictKeys(Call& call) {
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> keys, Elements(call.context, call.input));
  return NewValue(MakeList(call.context, keys));
}

FilterResult DictValues(Call& call) {
  std::vector<ValuePtr> values;
  for (const Value& value : *call.input) {
    values.push_back(EntryOf(call.context, call.input, value));
  }
  return NewValue(MakeList(call.context, values));
}

FilterResult DictGet(Call& call) {
  ValuePtr found =
      IsText(*call.Arg(0)) ? FindKey(call.context, call.input, PeekText(*call.Arg(0))) : nullptr;
  if (found == nullptr) found = call.args[1];
  return found != nullptr ? found : NewValue(nullptr);
}

FilterResult StripSides(Call& call, bool left, bool right) {
  ASSIGN_OR_RETURN(const std::string characters, call.TextArg(0, ""));
  return NewValue(std::string(Strip(Text(call.context, *call.input), characters, left, right)));
}
FilterResult StripBoth(Call& call) { return StripSides(call, true, true); }
FilterResult StripLeft(Call& call) { return StripSides(call, true, false); }
FilterResult StripRight(Call& call) { return StripSides(call, false, true); }

FilterResult Split(Call& call) {
  ASSIGN_OR_RETURN(const int64_t limit, call.IntArg(1, -1));
  absl::string_view rest = Text(call.context, *call.input);
  if (!call.context.budget.Spend(rest.size() / 16)) return call.context.budget.status();
  Value out = Value::array();
  const bool by_space = call.Arg(0) == nullptr || call.Arg(0)->is_null();
  std::string separator;
  if (!by_space) {
    ASSIGN_OR_RETURN(separator, call.TextArg(0, ""));
    if (separator.empty()) return absl::InvalidArgumentError("split() by an empty string");
  }
  while (true) {
    if (by_space) rest = Strip(rest, "", true, false);
    if (by_space && rest.empty()) break;
    const bool last = limit >= 0 && static_cast<int64_t>(out.size()) >= limit;
    const size_t end = last       ? absl::string_view::npos
                       : by_space ? rest.find_first_of(" \t\n\r\f\v")
                                  : FindText(rest, separator);
    if (!call.context.budget.Spend(1)) return call.context.budget.status();
    const absl::string_view piece = rest.substr(0, end);
    out.push_back(std::string(piece));
    if (end == absl::string_view::npos) break;
    rest.remove_prefix(end + (by_space ? 1 : separator.size()));
  }
  return NewValue(std::move(out));
}

FilterResult JoinMethod(Call& call) {
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.args[0]));
  for (const ValuePtr& element : elements) {
    if (!IsText(*element)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "join() needs strings, found ", TypeName(*element), "; the filter join takes any"));
    }
  }
  ASSIGN_OR_RETURN(Value text, JoinTexts(call.context, elements, Text(call.context, *call.input)));
  return NewValue(std::move(text));
}

// startswith and endswith take one string or a list of them.
template <bool (*kMatches)(absl::string_view, absl::string_view)>
FilterResult MatchesAffix(Call& call) {
  const Value& affixes = *call.Arg(0);
  const auto one = [&](const Value& affix) {
    return IsText(affix) && kMatches(PeekText(*call.input), PeekText(affix));
  };
  if (affixes.is_array()) {
    for (const Value& affix : affixes) {
      if (one(affix)) return NewValue(true);
    }
    return NewValue(false);
  }
  if (!IsText(affixes))
    return absl::InvalidArgumentError(absl::StrCat("needs a string, not ", TypeName(affixes)));
  return NewValue(one(affixes));
}

bool HasPrefix(absl::string_view text, absl::string_view affix) {
  return absl::StartsWith(text, affix);
}
bool HasSuffix(absl::string_view text, absl::string_view affix) {
  return absl::EndsWith(text, affix);
}

FilterResult ReplaceMethod(Call& call) {
  for (size_t i : {0, 1}) {
    if (!IsText(*call.Arg(i))) {
      return absl::InvalidArgumentError(
          absl::StrCat("replace() needs strings, not ", TypeName(*call.Arg(i))));
    }
  }
  return Replace(call);
}

constexpr FilterRow kDictMethods[] = {
    {"items", Items},
    {"keys", DictKeys},
    {"values", DictValues},
    {"get", DictGet, {{"key", "default"}, 1}},
};

constexpr FilterRow kTextMethods[] = {
    {"split", Split, {{"sep", "maxsplit"}}},
    {"join", JoinMethod, {{"iterable"}, 1}},
    {"upper", Upper},
    {"lower", Lower},
    {"strip", StripBoth, {{"chars"}}},
    {"lstrip", StripLeft, {{"chars"}}},
    {"rstrip", StripRight, {{"chars"}}},
    {"startswith", MatchesAffix<HasPrefix>, {{"prefix"}, 1}},
    {"endswith", MatchesAffix<HasSuffix>, {{"suffix"}, 1}},
    {"replace", ReplaceMethod, {{"old", "new", "count"}, 2}},
};

template <size_t kCount>
absl::StatusOr<ValuePtr> RunNamed(const FilterRow (&rows)[kCount], absl::string_view name,
                                  Context& context, ValuePtr object, GivenArguments given) {
  std::vector<std::string> names;
  for (const FilterRow& row : rows) {
    if (row.name != name) {
      names.push_back(row.name);
      continue;
    }
    Call call{context, std::move(object)};
    RETURN_IF_ERROR(Bind(absl::StrCat(name, "()"), row.parameters, std::move(given), &call));
    return row.run(call);
  }
  return absl::InvalidArgumentError(absl::StrCat(TypeName(*object), " has no method '", name,
                                                 "' in Muster's subset of Jinja2",
                                                 DidYouMean(name, names)));
}

absl::StatusOr<ValuePtr> Range(Context& context, const GivenArguments& given) {
  const size_t count = given.positional.size();
  if (!given.named.empty() || count < 1 || count > 3) {
    return absl::InvalidArgumentError("range() takes one to three integers");
  }
  int64_t bounds[3] = {};
  for (size_t i = 0; i < count; ++i) {
    if (!ToInteger(*given.positional[i], &bounds[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("range() takes integers, not ", TypeName(*given.positional[i])));
    }
  }
  const int64_t start = count == 1 ? 0 : bounds[0];
  const int64_t stop = count == 1 ? bounds[0] : bounds[1];
  const int64_t step = count == 3 ? bounds[2] : 1;
  if (step == 0) return absl::InvalidArgumentError("range() with a step of 0");
  Value out = Value::array();
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (static_cast<int64_t>(out.size()) == kMaxRange) {
      return absl::InvalidArgumentError(
          absl::StrCat("range() of more than ", kMaxRange, " numbers"));
    }
    if (!context.budget.Spend(1)) return context.budget.status();
    out.push_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return NewValue(std::move(out));
}

}  // namespace

absl::StatusOr<ValuePtr> RunMethod(absl::string_view name, Context& context, ValuePtr object,
                                   GivenArguments given) {
  if (object->is_object())
    return RunNamed(kDictMethods, name, context, std::move(object), std::move(given));
  if (IsText(*object))
    return RunNamed(kTextMethods, name, context, std::move(object), std::move(given));
  return absl::InvalidArgumentError(absl::StrCat(TypeName(*object), " has no method '", name, "'"));
}

BuiltIn FindBuiltIn(absl::string_view name) { return name == "range" ? &Range : nullptr; }
std::vector<std::string> BuiltInNames() { return {"range"}; }

}  // namespace muster::tmpl
