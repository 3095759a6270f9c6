// Macros that propagate errors, which Abseil 20220623 lacks, and context for errors.
//
//   ASSIGN_OR_RETURN(std::string text, files.Read(path));
//   RETURN_IF_ERROR(Annotate(Parse(text), absl::StrCat("reading ", path)));
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// The same code with "context: " before the message; OK stays OK. Add context once per layer.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// A Status for the errno value `error` (positive), e.g. "opening /etc/x: No such file or
// directory".
absl::Status ErrnoStatus(int error, absl::string_view context);

}  // namespace muster

#define RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                        \
    if (absl::Status muster_status = (expression); !muster_status.ok()) return muster_status; \
  } while (false)

#define MUSTER_CONCAT_INNER(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_INNER(a, b)
#define MUSTER_ASSIGN_OR_RETURN(temporary, target, expression) \
  auto temporary = (expression);                               \
  if (!temporary.ok()) return std::move(temporary).status();   \
  target = *std::move(temporary)
#define ASSIGN_OR_RETURN(target, expression) \
  MUSTER_ASSIGN_OR_RETURN(MUSTER_CONCAT(muster_or_, __LINE__), target, expression)
