// What a command line says of itself in the metadata of its calls.
#pragma once

namespace muster {

// The verb that a call is made for, "node remove". For messages alone: anybody can say anything.
inline constexpr char kVerbMetadata[] = "muster-verb";

}  // namespace muster
