// The hash chain of the audit log.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "controller/store/tables.h"

namespace muster::controller {

// SHA-256 (hex) over the previous entry's hash and every field of `event` except its own hash, each
// preceded by its length, so that no two entries have the same hash. The first entry follows "".
std::string ChainHash(absl::string_view previous_hash, const EventRecord& event);

}  // namespace muster::controller
