#include "controller/template/call.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"

namespace muster::tmpl {
namespace {

absl::Status WrongType(const Value& value, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("an argument is ", TypeName(value), " where ", wanted, " is needed"));
}

std::vector<std::string> NamesOf(const Parameters& parameters) {
  std::vector<std::string> names;
  for (const char* name : parameters.names) {
    if (name != nullptr) names.push_back(name);
  }
  return names;
}

// For going through the texts of a call once, which every filter may do.
absl::Status SpendTexts(const Call& call) {
  const auto spend = [&](const ValuePtr& value) {
    if (value != nullptr && IsText(*value)) call.context.budget.SpendScan(PeekText(*value).size());
  };
  spend(call.input);
  for (const ValuePtr& argument : call.args) spend(argument);
  return call.context.budget.status();
}

}  // namespace

absl::StatusOr<bool> Call::BoolArg(size_t index, bool otherwise) const {
  return Arg(index) == nullptr ? otherwise : Truth(*Arg(index));
}

absl::StatusOr<int64_t> Call::IntArg(size_t index, int64_t otherwise) const {
  if (Arg(index) == nullptr) return otherwise;
  int64_t value = 0;
  if (!ToInteger(*Arg(index), &value)) return WrongType(*Arg(index), "an integer");
  return value;
}

absl::StatusOr<std::string> Call::TextArg(size_t index, absl::string_view otherwise) const {
  if (Arg(index) == nullptr) return std::string(otherwise);
  if (!IsText(*Arg(index))) return WrongType(*Arg(index), "a string");
  return std::string(Text(context, *Arg(index)));
}

absl::Status Bind(absl::string_view what, const Parameters& parameters, GivenArguments given,
                  Call* call) {
  if (parameters.variadic) {
    call->rest = std::move(given);
    return SpendTexts(*call);
  }
  const std::vector<std::string> names = NamesOf(parameters);
  call->args.assign(names.size(), nullptr);
  if (given.positional.size() > names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " takes ", names.empty() ? "no" : absl::StrCat("at most ", names.size()),
                     names.size() == 1 ? " argument" : " arguments"));
  }
  for (size_t i = 0; i < given.positional.size(); ++i)
    call->args[i] = std::move(given.positional[i]);
  for (auto& [name, value] : given.named) {
    size_t index = 0;
    while (index < names.size() && names[index] != name) ++index;
    if (index == names.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has no argument '", name, "'", DidYouMean(name, names)));
    }
    if (call->args[index] != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(what, " got its argument '", name, "' twice"));
    }
    call->args[index] = std::move(value);
  }
  for (int i = 0; i < parameters.required; ++i) {
    if (call->args[static_cast<size_t>(i)] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " needs its argument '", names[static_cast<size_t>(i)], "'"));
    }
  }
  return SpendTexts(*call);
}

absl::StatusOr<ValuePtr> RunFilter(const FilterRow& row, Context& context, ValuePtr input,
                                   GivenArguments given) {
  Call call{context, std::move(input)};
  RETURN_IF_ERROR(
      Bind(absl::StrCat("filter '", row.name, "'"), row.parameters, std::move(given), &call));
  return row.run(call);
}

absl::StatusOr<bool> RunTest(const TestRow& row, Context& context, ValuePtr input,
                             GivenArguments given) {
  Call call{context, std::move(input)};
  RETURN_IF_ERROR(
      Bind(absl::StrCat("test '", row.name, "'"), row.parameters, std::move(given), &call));
  return row.run(call);
}

}  // namespace muster::tmpl
