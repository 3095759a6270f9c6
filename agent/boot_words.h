// What the boot server has told this machine about its boot.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// Where the initramfs of a signed kernel image leaves what it was told, a file for each word: on a
// command line that was signed for all machines no word can be one machine's.
inline constexpr char kBootWordsFolder[] = "/run/muster/words";

// The value of a word such as "muster.discovery": that of the kernel's command line, or else that
// of the folder. nullopt: neither has it.
absl::StatusOr<std::optional<std::string>> ReadBootWord(sys::FileSystem& files,
                                                        absl::string_view name);

}  // namespace muster::agent
