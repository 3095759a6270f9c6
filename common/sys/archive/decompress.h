// A compressed file in memory.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

// The content of a .gz or .xz file that comes from an untrusted source. InvalidArgument: neither of
// the two, or damaged. ResourceExhausted: more than `max_bytes`.
absl::StatusOr<std::string> Decompress(absl::string_view data, size_t max_bytes);

// `data` as a .gz file without a time in it: the same data give the same bytes.
absl::StatusOr<std::string> CompressGz(absl::string_view data);

}  // namespace muster::sys
