// What this machine was told and has found out about its boot.
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

// The kernel's command line, without its end of line, and behind it muster.slot where the initramfs
// has found out which root of the disk it boots. `root` is put before paths.
absl::StatusOr<std::string> ReadBootArguments(sys::FileSystem& files, const std::string& root = "");

}  // namespace muster::agent
