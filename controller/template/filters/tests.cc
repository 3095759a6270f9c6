// The table of tests: `x is name(…)`. A null input is undefined.
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/call.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

using TestResult = absl::StatusOr<bool>;

absl::StatusOr<int64_t> Integer(const Value& value) {
  int64_t integer = 0;
  if (ToInteger(value, &integer)) return integer;
  return absl::InvalidArgumentError(absl::StrCat("needs an integer, not ", TypeName(value)));
}

template <int kFrom, int kTo>
TestResult Ordered(Call& call) {
  ASSIGN_OR_RETURN(const int order, Compare(call.context, *call.input, *call.Arg(0)));
  return order >= kFrom && order <= kTo;
}

TestResult IsDefined(Call& call) { return call.input != nullptr; }
TestResult IsUndefined(Call& call) { return call.input == nullptr; }
TestResult IsNone(Call& call) { return call.input->is_null(); }
TestResult IsString(Call& call) { return IsText(*call.input); }
TestResult IsNumberTest(Call& call) { return IsNumber(*call.input); }
TestResult IsInteger(Call& call) { return call.input->is_number_integer(); }
TestResult IsFloat(Call& call) { return call.input->is_number_float(); }
TestResult IsBoolean(Call& call) { return call.input->is_boolean(); }
TestResult IsTrue(Call& call) { return call.input->is_boolean() && call.input->get<bool>(); }
TestResult IsFalse(Call& call) { return call.input->is_boolean() && !call.input->get<bool>(); }
TestResult IsMapping(Call& call) { return call.input->is_object(); }
TestResult IsSequence(Call& call) { return call.input->is_structured() || IsText(*call.input); }
TestResult IsIn(Call& call) { return Contains(call.context, *call.Arg(0), *call.input); }
TestResult IsEqual(Call& call) { return Equal(call.context, *call.input, *call.Arg(0)); }
TestResult IsNotEqual(Call& call) { return !Equal(call.context, *call.input, *call.Arg(0)); }

TestResult IsEven(Call& call) {
  ASSIGN_OR_RETURN(const int64_t integer, Integer(*call.input));
  return integer % 2 == 0;
}
TestResult IsOdd(Call& call) {
  ASSIGN_OR_RETURN(const int64_t integer, Integer(*call.input));
  return integer % 2 != 0;
}
TestResult IsDivisibleBy(Call& call) {
  ASSIGN_OR_RETURN(const int64_t integer, Integer(*call.input));
  ASSIGN_OR_RETURN(const int64_t divisor, Integer(*call.Arg(0)));
  if (divisor == 0) return absl::InvalidArgumentError("division by zero");
  return divisor == -1 || integer % divisor == 0;
}

TestResult IsMatch(Call& call) {
  if (!IsText(*call.input)) {
    return absl::InvalidArgumentError(absl::StrCat("needs a string, not ", TypeName(*call.input)));
  }
  ASSIGN_OR_RETURN(const std::string pattern, call.TextArg(0, ""));
  return MatchesAt(call, pattern, /*anchored=*/true);
}
TestResult IsSearch(Call& call) {
  if (!IsText(*call.input)) {
    return absl::InvalidArgumentError(absl::StrCat("needs a string, not ", TypeName(*call.input)));
  }
  ASSIGN_OR_RETURN(const std::string pattern, call.TextArg(0, ""));
  return MatchesAt(call, pattern, /*anchored=*/false);
}

constexpr Parameters kOne = {{"other"}, 1};

constexpr TestRow kTests[] = {
    {"defined", IsDefined},
    {"undefined", IsUndefined},
    {"none", IsNone},
    {"string", IsString},
    {"number", IsNumberTest},
    {"integer", IsInteger},
    {"float", IsFloat},
    {"boolean", IsBoolean},
    {"true", IsTrue},
    {"false", IsFalse},
    {"mapping", IsMapping},
    {"sequence", IsSequence},
    {"iterable", IsSequence},
    {"in", IsIn, {{"seq"}, 1}},
    {"even", IsEven},
    {"odd", IsOdd},
    {"divisibleby", IsDivisibleBy, {{"num"}, 1}},
    {"equalto", IsEqual, kOne},
    {"eq", IsEqual, kOne},
    {"==", IsEqual, kOne},
    {"ne", IsNotEqual, kOne},
    {"!=", IsNotEqual, kOne},
    {"lt", Ordered<-1, -1>, kOne},
    {"<", Ordered<-1, -1>, kOne},
    {"lessthan", Ordered<-1, -1>, kOne},
    {"le", Ordered<-1, 0>, kOne},
    {"<=", Ordered<-1, 0>, kOne},
    {"gt", Ordered<1, 1>, kOne},
    {">", Ordered<1, 1>, kOne},
    {"greaterthan", Ordered<1, 1>, kOne},
    {"ge", Ordered<0, 1>, kOne},
    {">=", Ordered<0, 1>, kOne},
    {"match", IsMatch, {{"pattern"}, 1}},
    {"search", IsSearch, {{"pattern"}, 1}},
};

}  // namespace

const TestRow* FindTest(absl::string_view name) {
  for (const TestRow& row : kTests) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> TestNames() {
  std::vector<std::string> names;
  for (const TestRow& row : kTests) names.push_back(row.name);
  return names;
}

}  // namespace muster::tmpl
