// What a command on nodes (`muster exec`) may be; muster/v1/command.proto has it in words.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace muster {

// The arguments, with the program, and their bytes together: the audit log keeps them for ever.
inline constexpr int kMaxCommandArguments = 256;
inline constexpr size_t kMaxCommandBytes = size_t{16} << 10;
inline constexpr absl::Duration kCommandTime = absl::Seconds(60);  // where none was given
inline constexpr absl::Duration kLongestCommand = absl::Hours(1);
// Nodes that run it at the same time.
inline constexpr unsigned kCommandsAtOnce = 64;  // where none was given
inline constexpr unsigned kMaxCommandsAtOnce = 256;

}  // namespace muster
