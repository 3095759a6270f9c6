// Looks up the names in the catalogue for files that people write.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/checks/catalog.h"

namespace muster::controller::validation {

using Catalog = absl::Span<const checks::CheckSpec* const>;

// nullptr: there is none.
const checks::CheckSpec* FindSpecIn(Catalog catalog, absl::string_view name);
const checks::MetricSpec* FindMetric(const checks::CheckSpec& check, absl::string_view name);

std::vector<std::string> NamesOf(Catalog catalog);
std::vector<std::string> MetricNamesOf(const checks::CheckSpec& check);

// " (did you mean 'x'?)", or " (known: a, b)" when nothing is near.
std::string NearestOrKnown(absl::string_view word, const std::vector<std::string>& known);

}  // namespace muster::controller::validation
