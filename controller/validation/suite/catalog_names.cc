#include "controller/validation/suite/catalog_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller::validation {

const checks::CheckSpec* FindSpecIn(Catalog catalog, absl::string_view name) {
  for (const checks::CheckSpec* spec : catalog) {
    if (spec->name == name) return spec;
  }
  return nullptr;
}

const checks::MetricSpec* FindMetric(const checks::CheckSpec& check, absl::string_view name) {
  for (const checks::MetricSpec& metric : check.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::vector<std::string> NamesOf(Catalog catalog) {
  std::vector<std::string> names;
  for (const checks::CheckSpec* spec : catalog) names.emplace_back(spec->name);
  return names;
}

std::vector<std::string> MetricNamesOf(const checks::CheckSpec& check) {
  std::vector<std::string> names;
  for (const checks::MetricSpec& metric : check.metrics) names.emplace_back(metric.name);
  return names;
}

std::string NearestOrKnown(absl::string_view word, const std::vector<std::string>& known) {
  std::string hint = DidYouMean(word, known);
  if (!hint.empty() || known.empty()) return hint;
  return absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
}

}  // namespace muster::controller::validation
