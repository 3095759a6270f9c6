// The boundary of SOCI's exceptions: every call into SOCI is made inside Guard().
#pragma once

#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

// The Status for the exception being handled: AlreadyExists (a row with that key), NotFound,
// ResourceExhausted (disk full), Unavailable (locked by another process), DataLoss (corrupt file),
// Internal. `path` is the store's file, `what` the call: "nodes.Put". REQUIRES: called inside a
// catch block.
absl::Status StatusOfCurrentException(absl::string_view path, absl::string_view what);

// Runs `fn`, which returns a Status or a StatusOr, and converts exceptions into its return type.
template <typename F>
std::invoke_result_t<F> Guard(absl::string_view path, absl::string_view what, F&& fn) {
  try {
    return fn();
  } catch (...) {
    return StatusOfCurrentException(path, what);
  }
}

}  // namespace muster::controller
