// Describes a damaged journal for a person, without its contents.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "agent/state/journal_codec.h"

namespace muster::agent {

// The records before the damage by kind and size, and the damage itself: enough to tell a flipped
// bit from a block that was never written. Nothing of the contents: plans hold secrets, and the
// description stays on the disk. Pure; at most some kilobytes.
std::string DescribeDamage(absl::string_view bytes, const DecodedJournal& decoded);

}  // namespace muster::agent
