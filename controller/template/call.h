// Calls of filters, tests, methods and built-in functions: the rows of their tables, and the
// binding of arguments to parameters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/template/values.h"

namespace muster::tmpl {

struct GivenArguments {
  std::vector<ValuePtr> positional;
  std::vector<std::pair<std::string, ValuePtr>> named;
};

// One call in progress. Handlers return values that may be parts of their inputs, and null for
// undefined (the first of an empty list).
struct Call {
  Context& context;
  ValuePtr input;
  std::vector<ValuePtr> args = {};  // one per parameter of the row; null where not given
  GivenArguments rest = {};         // for a variadic row: all arguments

  const Value* Arg(size_t index) const { return args[index].get(); }
  // The argument as its type, or `otherwise` when not given; an error for another type.
  absl::StatusOr<bool> BoolArg(size_t index, bool otherwise) const;
  absl::StatusOr<int64_t> IntArg(size_t index, int64_t otherwise) const;
  absl::StatusOr<std::string> TextArg(size_t index, absl::string_view otherwise) const;
  // The input as text; anything other than a string is printed first.
  std::string Input() const { return ToText(context, *input); }
};

struct Parameters {
  const char* names[8] = {};
  int required = 0;
  bool variadic = false;  // the handler interprets the arguments itself
};

// name: as in `x | name(…)`.
struct FilterRow {
  const char* name;
  absl::StatusOr<ValuePtr> (*run)(Call&);
  Parameters parameters = {};
};

// name: as in `x is name(…)`.
struct TestRow {
  const char* name;
  absl::StatusOr<bool> (*run)(Call&);
  Parameters parameters = {};
};

// Sets call.args from `given`, and spends for going through the call's texts once. `what` names the
// callee in errors: "filter 'join'".
absl::Status Bind(absl::string_view what, const Parameters& parameters, GivenArguments given,
                  Call* call);

// null: unknown.
const FilterRow* FindFilter(absl::string_view name);
const TestRow* FindTest(absl::string_view name);
std::vector<std::string> FilterNames();
std::vector<std::string> TestNames();

absl::StatusOr<ValuePtr> RunFilter(const FilterRow& row, Context& context, ValuePtr input,
                                   GivenArguments given);
absl::StatusOr<bool> RunTest(const TestRow& row, Context& context, ValuePtr input,
                             GivenArguments given);

// `object.name(…)` on dictionaries and strings.
absl::StatusOr<ValuePtr> RunMethod(absl::string_view name, Context& context, ValuePtr object,
                                   GivenArguments given);

// Built-in functions: range.
using BuiltIn = absl::StatusOr<ValuePtr> (*)(Context&, const GivenArguments&);
BuiltIn FindBuiltIn(absl::string_view name);
std::vector<std::string> BuiltInNames();

}  // namespace muster::tmpl
