// Several errors in one status, which can be taken apart again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster {

struct ErrorTexts {
  std::vector<std::string> texts;
  size_t more = 0;  // not among them
};

// The most errors that a status keeps. Further errors are only counted.
inline constexpr size_t kMaxJoinedErrors = 1000;
inline constexpr size_t kMaxJoinedBytes = size_t{1} << 20;

// OK if there are no errors. The message has the first 20, separated by `separator`, and how many
// more there are; ErrorsOf() has them all.
absl::Status JoinErrors(absl::StatusCode code, ErrorTexts errors, absl::string_view separator);

// The errors that were joined; for any other status, its message alone.
ErrorTexts ErrorsOf(const absl::Status& status);

// Whether the status was made by JoinErrors().
bool HasErrors(const absl::Status& status);

}  // namespace muster
