#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/checks/catalog.h"
#include "common/checks/parameter_value.h"

namespace muster::checks {
namespace {

absl::Status CheckNames(const CheckSpec& check, const std::map<std::string, std::string>& given) {
  std::vector<std::string> known;
  for (const ParameterSpec& spec : check.parameters) known.emplace_back(spec.name);
  for (const auto& [name, text] : given)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return absl::InvalidArgumentError(absl::StrCat("check ", check.name, " has no parameter '",
                                                     name, "'", DidYouMean(name, known)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Parameters> Parameters::Parse(const CheckSpec& check,
                                             const std::map<std::string, std::string>& given) {
  RETURN_IF_ERROR(CheckNames(check, given));
  Parameters parameters;
  for (const ParameterSpec& spec : check.parameters) {
    const std::string name(spec.name);
    const auto found = given.find(name);
    std::string text = found != given.end() ? found->second : std::string(spec.default_text);
    if (!text.empty()) RETURN_IF_ERROR(CheckValue(spec, text));
    if (!text.empty() && IsNumeric(spec.type)) {
      ASSIGN_OR_RETURN(parameters.numbers_[name], ParseNumber(spec, text));
      text = WithUnit(spec, text);
    }
    parameters.texts_[name] = std::move(text);
  }
  return parameters;
}

double Parameters::Number(absl::string_view name) const { return OptionalNumber(name).value_or(0); }

std::optional<double> Parameters::OptionalNumber(absl::string_view name) const {
  const auto found = numbers_.find(std::string(name));
  return found != numbers_.end() ? std::optional<double>(found->second) : std::nullopt;
}

const std::string& Parameters::Word(absl::string_view name) const {
  return texts_.at(std::string(name));
}

std::vector<std::string> Parameters::Words(absl::string_view name) const {
  return SplitWords(Word(name));
}

bool Parameters::Flag(absl::string_view name) const { return Word(name) == "true"; }

}  // namespace muster::checks
