// One value of a parameter, from the text that a person wrote.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checks/catalog.h"

namespace muster::checks {

// "16", "64KiB", "1.5GiB", "2GB": bytes.
absl::StatusOr<double> ParseSize(absl::string_view text);

// The value of a number, duration (seconds) or size (bytes). InvalidArgument says what is wanted.
absl::StatusOr<double> ParseNumber(const ParameterSpec& spec, absl::string_view text);

// The same value in words that cannot be mistaken: a duration without a unit is in seconds and gets
// the unit. Any other text stays as it is.
std::string WithUnit(const ParameterSpec& spec, absl::string_view text);

// Checks that `text` is a value of `spec`; "" is not.
absl::Status CheckValue(const ParameterSpec& spec, absl::string_view text);

// "a,b, c" → {a, b, c}; "" → {}.
std::vector<std::string> SplitWords(absl::string_view text);

// Whether ParseNumber() accepts this type.
bool IsNumeric(ParameterType type);

// "number", "duration" …, for help texts.
absl::string_view TypeName(ParameterType type);

}  // namespace muster::checks
